"""`confirm`: the sweep file that trains a sweep's winner on fresh seeds, and its survey."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.spelling import unknown
from search_spaces.plans.listed import ListedArms
from search_spaces.plans.path_changes import settings_between
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from sweeps.aggregation.results.ranking import RankedArm, ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.execution.launch.writing.custom_code import custom_code_of
from sweeps.execution.launch.writing.launched_sweep import (
    LaunchedSweep,
    fresh_seeds,
    launched_sweep,
)
from sweeps.execution.launch.writing.new_file import write_sweep
from sweeps.execution.launch.writing.options import ConfirmOptions
from sweeps.execution.launch.writing.sweep_text import refusing, survey_of_text, sweep_text
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore

_LONGEST_NAME, _WIDTH = 64, 88
_FEWEST_SPLITS = 2


class Winner(NamedTuple):
    """The arm that is trained on.

    Attributes:
        name: Its name.
        role: Its place in the sweep, as the end of a sentence.
        num_open: Trainings of the sweep that have not ended, so that another arm may become best.
    """

    name: str
    role: str
    num_open: int


@dataclass(frozen=True)
class WrittenConfirmation:
    """A sweep file that was written.

    Attributes:
        winner: The arm that is trained on.
        survey: What a launch of the file would do.
    """

    path: Path
    winner: Winner
    survey: Survey


def confirm(sweep: str, fields: Mapping[str, Any]) -> WrittenConfirmation:
    """Write the file of a sweep that trains another's winner on fresh seeds, and survey it.

    The winner is the best arm by the rank that `capsweep best` shows, from validation alone. The
    baseline of the sweep is trained beside it, so that they can be compared.

    Args:
        sweep: The name of a launched sweep, or the path of the file that declares it.
        fields: The fields of `ConfirmOptions`.

    Raises:
        BadInput: In one sentence, if there can be no such sweep or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    with refusing():
        options = ConfirmOptions.model_validate(fields)
        store = open_store(options.tracking_uri, options.storage)
        launched = launched_sweep(sweep, store)
        winner = winner_of(launched, store, options.arm)
        confirming, text = confirmation_of(launched, winner, options)
    survey = survey_of_text(text, confirming.name, options)
    if _keys(survey.definition.sweep) != _keys(confirming):
        raise BadInput(
            f"The code of the parts of '{sweep}' cannot be copied into another file so that its "
            f"trainings stay the same: put the parts into a package, and import them."
        )
    return WrittenConfirmation(write_sweep(text, confirming.name, options), winner, survey)


def winner_of(launched: LaunchedSweep, store: RecordStore, name: str | None) -> Winner:
    """Return the best arm of a sweep by validation, or another of those that have a rank.

    Args:
        launched: The sweep.
        store: The store of its records.
        name: The name of another arm; None for the best.

    Raises:
        BadInput: If no trial has finished, or no arm with a rank has that name.
    """
    manifest = launched.manifest
    records = store.records(manifest.cell_keys().values())
    ranked = {arm.arm.arm.name: arm for arm in ranking(manifest, records)}
    if not ranked and manifest.search and search_results(manifest, records).beyond_limits:
        raise BadInput(
            f"No proposal of '{launched.name}' that ran to full length keeps its limits on what is "
            f"measured, so that it has no winner: see {SuggestedCommand('best', launched.name)}."
        )
    if not ranked:
        raise BadInput(
            f"No arm of '{launched.name}' has finished yet, so that it has no winner: see its "
            f"progress, {SuggestedCommand('status', launched.name)}."
        )
    chosen = next(iter(ranked)) if name is None else name
    if chosen not in ranked:
        raise BadInput(unknown(f"ranked arm of '{launched.name}'", chosen, ranked))
    ended = {key for key, record in records.items() if record.outcome.is_final}
    num_open = sum(cell.stopped is None and cell.trial_key not in ended for cell in manifest.cells)
    num_open += manifest.num_expected - len(manifest.cells)
    return Winner(chosen, _role([*ranked].index(chosen), len(ranked), ranked[chosen]), num_open)


def _role(place: int, num_arms: int, arm: RankedArm) -> str:
    metric = arm.objective.metric.text
    seeds = f"{len(arm.values)} seed{'s' * (len(arm.values) > 1)}"
    of_all = f"of {num_arms} arms by mean {metric}, over {seeds}"
    return f"the best {of_all}" if place == 0 else f"number {place + 1} {of_all}"


def confirmation_of(
    launched: LaunchedSweep, winner: Winner, options: ConfirmOptions
) -> tuple[Sweep, str]:
    """Return the sweep of a winner and its baseline, and the text of a file that defines it.

    Args:
        launched: The sweep that has the winner.
        winner: The arm.
        options: The other options.

    Raises:
        ValueError: If there can be no such sweep, or its parts cannot be written.
    """
    arms = {arm.name: arm for arm in launched.manifest.arms}
    launched.check_keys(arms[winner.name])
    parts = launched.declared.parts if launched.declared else ()
    base, best = (
        _with_length(config, options.epochs, parts)
        for config in (launched.base(), launched.config(arms[winner.name]))
    )
    code = custom_code_of(launched.source, base, best)
    changes = settings_between(base, best)
    listed = {launched.reference: {}, winner.name: changes} if changes else {winner.name: {}}
    plan = ListedArms(arms=listed, baseline=next(iter(listed)))
    seeds = fresh_seeds(options.seeds, launched.used_seeds)
    fields: dict[str, Any] = {"plan": plan, **_fields_of(launched.manifest, len(seeds))}
    name = f"{launched.name[: _LONGEST_NAME - 8]}_confirm" if options.name is None else options.name
    sweep = Sweep(
        name=name,
        description=f"The winner of {launched.name} on fresh seeds{_length(best, options)}.",
        base=base,
        seeds=seeds,
        parts=code.parts,
        **fields,
    )
    docstring = _docstring(launched, winner, _length(best, options), has_baseline=bool(changes))
    text = sweep_text(sweep, "", fields, docstring=docstring, named=launched.named, code=code)
    return sweep, launched.with_neighbours(text)


def _fields_of(manifest: Manifest, num_seeds: int) -> dict[str, Any]:
    """Return what the new sweep has of the old one: its margin, and its splits for the seeds."""
    splits = tuple(dict.fromkeys(manifest.splits.values()))[:num_seeds]
    fields = {
        "split_seeds": splits if len(splits) >= _FEWEST_SPLITS else None,
        "margin_points": manifest.margin_points,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _with_length(config: TrainingConfig, epochs: int | None, parts: Any) -> TrainingConfig:
    if epochs is None:
        return config
    return with_settings(config, {f"stopping.{config.stopping.length_setting}": epochs}, parts)


def _length(config: TrainingConfig, options: ConfirmOptions) -> str:
    """Return how long it is trained, as the end of a sentence, "" if as long as it was."""
    if options.epochs is None:
        return ""
    most = "at most " * config.stopping.has_target
    return f", for {most}{options.epochs} epoch{'s' * (options.epochs > 1)}"


def _docstring(launched: LaunchedSweep, winner: Winner, length: str, *, has_baseline: bool) -> str:
    plain = re.sub(r"[\"'\\]", "", winner.name)
    reference = re.sub(r"[\"'\\]", "", launched.reference)
    versus = f", beside {reference}" * has_baseline
    explanation = (
        f"{plain[0].upper()}{plain[1:]} is {winner.role}. The seeds are none of {launched.name}, "
        f"so that they had no part in choosing it. Each training begins anew."
    )
    question = f"How good is {plain} of {launched.name}{versus}, on fresh seeds{length}?"
    return f"{fill(question, _WIDTH)}\n\n{fill(explanation, _WIDTH)}"


def _keys(sweep: Sweep) -> list[str]:
    """Return the trial keys of each arm on each seed, on the split of the base."""
    return [trial_key(arm.config, seed) for arm in sweep.arms() for seed in sweep.arm_seeds]
