"""`ablate`: the sweep file for the path from a search's base to its winner, and its survey."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from pydantic import ValidationError

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.settings.profiles import KIND, PROFILE
from capsmodel.spelling import unknown
from search_spaces.catalogue import is_named, module_of, named_sweeps
from search_spaces.plans.path_changes import named_changes, settings_between
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from sweeps.aggregation.results.ranking import ranking
from sweeps.aggregation.results.search_results import search_results
from sweeps.execution.launch.writing.custom_code import custom_code_of
from sweeps.execution.launch.writing.new_file import write_sweep
from sweeps.execution.launch.writing.options import AblateOptions
from sweeps.execution.launch.writing.sweep_text import refusing, survey_of_text, sweep_text
from sweeps.execution.plan.definition import declared_sweep
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore

_LONGEST_NAME, _WIDTH = 64, 88
_NUM_SEEDS, _NUM_CHOOSING = 5, 2


@dataclass(frozen=True)
class LaunchedSearch:
    """A search as it was launched.

    Attributes:
        declared: Its declaration, None if only its records are known.
        source: Text of the user's file that declares it, None for a sweep of the package.
        module: The module of a sweep of the package; "" for all others.
    """

    manifest: Manifest
    declared: Sweep | None = None
    source: str | None = None
    module: str = ""

    @property
    def name(self) -> str:
        """The name of the search."""
        return self.manifest.sweep

    @property
    def named(self) -> tuple[str, TrainingConfig] | None:
        """Module and base of a sweep of the package."""
        return (self.module, self.declared.base) if self.module and self.declared else None

    def config(self, arm: ManifestArm) -> TrainingConfig:
        """Return the configuration that an arm was trained with.

        Raises:
            BadInput: If it has a user's parts that are not declared, or that have changed.
        """
        parts = self.declared.parts if self.declared else ()
        try:
            return TrainingConfig.model_validate(arm.config, context={"parts": parts})
        except ValidationError as error:
            why = "is not what its file declares" if self.declared else "has parts of a file's own"
            raise BadInput(
                f"'{arm.name}' of '{self.name}' {why}: give the file of the search, as it was "
                f"launched."
            ) from error

    def base(self) -> TrainingConfig:
        """Return the configuration that its proposals change.

        Raises:
            BadInput: If it is unknown, or differs from the declared one.
        """
        assert self.manifest.search is not None
        arms = {arm.name: arm for arm in self.manifest.arms}
        base_arm = arms.get(self.manifest.search.base)
        if base_arm is None and self.declared is None:
            raise BadInput(
                f"The records of '{self.name}' do not hold the configuration that it started from: "
                f"give the file of the search."
            )
        base = self.config(base_arm) if base_arm else None
        if self.declared and base:
            changed = settings_between(self.declared.base, base)
            if others := [path for path in changed if not self._is_departure(path)]:
                self.reject(f"{others[0]} was {changed[others[0]]}")
        return base or self.declared.base  # pyright: ignore[reportOptionalMemberAccess]

    def check_proposal(self, arm: ManifestArm, base: TrainingConfig) -> None:
        """Check that an arm is still what its point of the declared space makes of the base.

        Raises:
            BadInput: In one sentence, if not.
        """
        assert self.manifest.search is not None
        if self.declared is None:
            return
        params = {one.arm: one.params for one in self.manifest.search.proposals}
        sweep = self.declared.model_copy(update={"base": base})
        try:
            proposed = sweep.plan.arm(sweep, arm.name, params.get(arm.name, {})).config
        except ValueError:
            proposed = None
        if proposed != self.config(arm):
            self.reject(f"{arm.name} has changed")

    def reject(self, why: str) -> None:
        """Raise the error for records of another definition than the present one.

        Raises:
            BadInput: In one sentence.
        """
        raise BadInput(
            f"'{self.name}' was trained by another definition than the present one ({why}): run "
            f"the present one under a name of its own, or give its file as it was."
        )

    def _is_departure(self, path: str) -> bool:
        """Return whether a launch changed this setting, not the declaration of the search."""
        departures = (one.removesuffix(f".{KIND}") for one in self.manifest.departures)
        parts = [one.removesuffix(PROFILE).removesuffix(".") for one in departures]
        return any(
            not part or is_at_or_below(path, part) or is_at_or_below(part, path) for part in parts
        )


def launched_search(which: str, store: RecordStore) -> LaunchedSearch:
    """Return a search that was launched.

    Args:
        which: Its name, or the path of the file that declares it.
        store: The store of its records.

    Raises:
        BadInput: If there is none.
        StoreUnreachable: If the tracking store does not answer.
    """
    fields = _declared(which)
    declared = fields.get("declared")
    if declared and not declared.plan.is_search:
        _reject_design(declared.name)
    name = declared.name if declared else which
    launched = store.sweeps() if store.exists() else []
    if name not in launched and declared:
        raise BadInput(
            f"The search '{name}' was not run here yet, so there is no winner to go to: run it "
            f"first, capsweep run {which}."
        )
    if name not in launched:
        named = (entry.name for entry in named_sweeps())
        raise BadInput(unknown("sweep", name, dict.fromkeys((*launched, *named))))
    manifest = store.manifest(name)
    if manifest.search is None:
        _reject_design(name)
    return LaunchedSearch(manifest, **fields)


def _declared(which: str) -> Mapping[str, Any]:
    if which.endswith(".py") or "/" in which:
        sweep, source, _ = declared_sweep(which)
        return {"declared": sweep, "source": source}
    if is_named(which):
        return {"declared": declared_sweep(which)[0], "module": module_of(which)}
    return {}


def _reject_design(name: str) -> None:
    raise BadInput(
        f"'{name}' is not a search, so it has no winner for a path to lead to: name a search, or "
        f"declare Path(changes=...) in a file of your own."
    )


class Winner(NamedTuple):
    """An arm of a search.

    Attributes:
        role: Its role in the search, as the end of a sentence.
    """

    arm: ManifestArm
    role: str


def winner(manifest: Manifest, records: Mapping[str, TrialRecord], name: str | None) -> Winner:
    """Return the winner of a search, or another of its finished arms.

    The winner is the first arm that the search chose to confirm. The choice was made before the
    results on fresh seeds were known, so arms may be compared on these seeds. Without confirmed
    arms the winner is the best finished proposal by the search's own rule.

    Args:
        manifest: The manifest of a search.
        records: Trial key -> record of its trials.
        name: The name of another arm; None for the winner.

    Raises:
        BadInput: If there is none, or no finished arm of that name.
    """
    search = manifest.search
    assert search is not None
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = (search.confirmation and search.confirmation.arms) or ()
    finished = [one.proposal.arm for one in search_results(manifest, records).counted]
    if not finished and not chosen:
        raise BadInput(
            f"The search '{manifest.sweep}' has no winner yet: of {len(search.proposals)} proposals"
            f" none has finished at full length with each seed. See its progress: capsweep status "
            f"{manifest.sweep}."
        )
    of_all = f"of {len(search.proposals)} proposals{' so far' * manifest.is_growing}"
    if name is not None:
        known = dict.fromkeys((*chosen, *finished))
        if name not in known:
            raise BadInput(unknown(f"finished arm of '{manifest.sweep}'", name, known))
        return Winner(arms[name], f"asked for by name, one {of_all}")
    if chosen:
        return Winner(arms[chosen[0]], f"the first choice of the search, {of_all}")
    best = ranking(manifest, records)[0].arm.arm
    return Winner(best, f"the best {of_all}, not confirmed")


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


def ablate(search: str, given: Mapping[str, Any]) -> WrittenPath:
    """Write the file of a path from a search's base to its winner, and survey it.

    Args:
        search: The name of a launched search, or the path of the file that declares it.
        given: The fields of `AblateOptions`.

    Raises:
        BadInput: In one sentence, if there can be no such path or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    with refusing():
        options = AblateOptions.model_validate(given)
        store = open_store(options.tracking_uri, options.storage)
        launched = launched_search(search, store)
        records = store.records(launched.manifest.cell_keys().values())
        arm = winner(launched.manifest, records, options.arm)
        base, target = launched.base(), launched.config(arm.arm)
        launched.check_proposal(arm.arm, base)
        _check_trial_keys(launched, arm.arm, target)
        sweep, text = path_to_arm(launched, arm, options, base=base, target=target)
    survey = survey_of_text(text, sweep.name, options)
    written, settings = survey.definition.sweep, settings_between(base, target)
    keys = _keys(written.base, with_settings(written.base, settings, written.parts), sweep.seeds)
    if keys != _keys(base, target, sweep.seeds):
        raise BadInput(
            f"The code of the parts of '{search}' cannot be copied into another file so that its "
            f"trainings stay the same: put the parts into a package, and import them."
        )
    num_finished = sum(record.is_counted for record in store.records(keys).values())
    return WrittenPath(write_sweep(text, sweep.name, options), arm.arm.name, survey, num_finished)


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
        "choosing_seeds": _fresh(_NUM_CHOOSING, (*seeds, *launched.manifest.seeds)),
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
    words = (
        f"{plain[0].upper()}{plain[1:]} is {winner.role}. At each step every change that is left "
        f"is tried on validation and the best is taken; base and steps are then compared by test "
        f"errors, on seeds that chose nothing."
    )
    question = f"Which of its {num_changes} changes make {plain} of {launched.name} what it is?"
    docstring = f"{question}\n\n{fill(words, _WIDTH)}"
    named = launched.named
    text = sweep_text(sweep, "path_to", fields, docstring=docstring, named=named, code=code)
    return sweep, text


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
    launched: LaunchedSearch, arm: str, given: tuple[int, ...] | None
) -> tuple[int, ...]:
    """Return the seeds on which base and steps are compared.

    Raises:
        ValueError: If one of the given seeds is a seed of the search.
    """
    manifest = launched.manifest
    confirmation = manifest.search and manifest.search.confirmation
    confirmed = confirmation.seeds if confirmation and confirmation.arms else ()
    fresh = confirmed or _fresh(_NUM_SEEDS, manifest.seeds)
    if given is None:
        return fresh
    if both := sorted({*given} & {*manifest.seeds}):
        raise ValueError(
            f"The seed {both[0]} has found '{arm}', which flatters it there: compare on others, "
            f"such as --seeds {','.join(map(str, fresh))}."
        )
    return given


def _fresh(num: int, used: Sequence[int]) -> tuple[int, ...]:
    """Return unused seeds, starting at the first hundred that has enough of them."""
    blocks = (tuple(range(start, start + num)) for start in count(101, 100))
    return next(block for block in blocks if not {*block} & {*used})


def _keys(base: TrainingConfig, target: TrainingConfig, seeds: Sequence[int]) -> list[str]:
    """Return the trial keys of base and target on each seed."""
    return [trial_key(config, seed) for config in (base, target) for seed in seeds]


def _check_trial_keys(launched: LaunchedSearch, arm: ManifestArm, config: TrainingConfig) -> None:
    """Check that an arm still has the trial keys of its records.

    Raises:
        BadInput: In one sentence, if not.
    """
    cells = [cell for cell in launched.manifest.cells if cell.arm == arm.name]
    if any(trial_key(config, cell.seed) != cell.trial_key for cell in cells):
        launched.reject("the code of a part has changed since")
