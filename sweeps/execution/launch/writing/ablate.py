"""`ablate`: the sweep file for the path from a search's base to its winner, and its survey."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces.plans.path_changes import named_changes, settings_between
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from sweeps.aggregation.tables.search_answer import NUM_CHOOSING_SEEDS, NUM_COMPARED_SEEDS
from sweeps.execution.launch.writing.custom_code import custom_code_of
from sweeps.execution.launch.writing.launched_sweep import (
    LaunchedSearch,
    Winner,
    fresh_seeds,
    launched_search,
    winner,
)
from sweeps.execution.launch.writing.new_file import write_sweep
from sweeps.execution.launch.writing.options import AblateOptions
from sweeps.execution.launch.writing.sweep_text import refusing, survey_of_text, sweep_text
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput
from sweeps.tracking.opening import open_store

_LONGEST_NAME, _WIDTH = 64, 88


@dataclass(frozen=True)
class WrittenPath:
    """A sweep file that was written.

    Attributes:
        arm: The arm of the search at which the path ends.
        survey: What a launch of it would do.
        num_finished: Trainings of base and target that are finished, in whatever sweep.
    """

    path: Path
    arm: str
    survey: Survey
    num_finished: int


def ablate(search: str, fields: Mapping[str, Any]) -> WrittenPath:
    """Write the file of a path from a search's base to its winner, and survey it.

    Args:
        search: The name of a launched search, or the path of the file that declares it.
        fields: The fields of `AblateOptions`.

    Raises:
        BadInput: In one sentence, if there can be no such path or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    with refusing():
        options = AblateOptions.model_validate(fields)
        store = open_store(options.tracking_uri, options.storage)
        launched = launched_search(search, store)
        best = winner(launched, store, options.arm)
        base, target = launched.base(), launched.config(best.arm)
        launched.check_arm(best.arm, base)
        sweep, text = path_to_arm(launched, best, options, base=base, target=target)
    survey = survey_of_text(text, sweep.name, options)
    written, settings = survey.definition.sweep, settings_between(base, target)
    keys = _keys(
        written.base, with_settings(written.base, settings, written.parts), sweep.arm_seeds
    )
    if keys != _keys(base, target, sweep.arm_seeds):
        raise BadInput(
            f"The code of the parts of '{search}' cannot be copied into another file so that its "
            f"trainings stay the same: put the parts into a package, and import them."
        )
    num_finished = sum(record.is_counted for record in store.records(keys).values())
    return WrittenPath(write_sweep(text, sweep.name, options), best.arm.name, survey, num_finished)


def path_to_arm(
    launched: LaunchedSearch,
    winner: Winner,
    options: AblateOptions,
    *,
    base: TrainingConfig,
    target: TrainingConfig,
) -> tuple[Sweep, str]:
    """Return the path to an arm of a search, and the text of a file that defines an equal sweep.

    Args:
        launched: The search.
        winner: The arm.
        options: The other options.
        base: The base of the search.
        target: The arm's configuration.

    Raises:
        ValueError: If there can be no such path, or its parts cannot be written.
    """
    arm = winner.arm.name
    code = custom_code_of(launched.source, base, target)
    num_changes = _num_changes(launched.name, arm, base, target)
    seeds = _compared_seeds(launched, arm, options.seeds)
    fields: dict[str, Any] = {
        "target": settings_between(base, target),
        "choosing_seeds": fresh_seeds(NUM_CHOOSING_SEEDS, (*seeds, *launched.manifest.seeds)),
    }
    name = f"{launched.name[: _LONGEST_NAME - 5]}_path" if options.name is None else options.name
    sweep = Sweep.path_to(
        name=name,
        description=f"From the base of {launched.name} to {arm}, a change at a time.",
        base=base,
        seeds=seeds,
        parts=code.parts,
        **fields,
    )
    plain = re.sub(r"[\"'\\]", "", arm)
    explanation = (
        f"{plain[0].upper()}{plain[1:]} is {winner.role}. At each step every change that is left "
        f"is tried on validation and the best is taken; base and steps are then compared by test "
        f"errors, on seeds that chose nothing."
    )
    question = f"Which of its {num_changes} changes make {plain} of {launched.name} what it is?"
    docstring = f"{question}\n\n{fill(explanation, _WIDTH)}"
    named = launched.named
    text = sweep_text(sweep, "path_to", fields, docstring=docstring, named=named, code=code)
    return sweep, launched.with_neighbours(text)


def _num_changes(search: str, arm: str, base: TrainingConfig, target: TrainingConfig) -> int:
    """Return the number of changes from base to target.

    Raises:
        ValueError: If there are fewer than two, so that there is no order to find.
    """
    changes = named_changes(base, target)
    if not changes:
        raise ValueError(f"'{arm}' of '{search}' changes nothing of the base.")
    if len(changes) == 1:
        raise ValueError(
            f"'{arm}' of '{search}' changes one thing of the base ({', '.join(changes)}), so that "
            f"there is no order to find: a sweep of two listed arms compares them."
        )
    return len(changes)


def _compared_seeds(
    launched: LaunchedSearch, arm: str, seeds: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Return the seeds on which base and steps are compared.

    Raises:
        ValueError: If one of the seeds is a seed of the search.
    """
    confirmation, used = launched.search.confirmation, launched.manifest.seeds
    confirmed = confirmation.seeds if confirmation and confirmation.arms else ()
    fresh = confirmed or fresh_seeds(NUM_COMPARED_SEEDS, used)
    if seeds is None:
        return fresh
    if both := sorted({*seeds} & {*used}):
        raise ValueError(
            f"The seed {both[0]} has found '{arm}', which flatters it there: compare on others, "
            f"such as --seeds {','.join(map(str, fresh))}."
        )
    return seeds


def _keys(base: TrainingConfig, target: TrainingConfig, seeds: Sequence[int]) -> list[str]:
    """Return the trial keys of base and target on each seed."""
    return [trial_key(config, seed) for config in (base, target) for seed in seeds]
