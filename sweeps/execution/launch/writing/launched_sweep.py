"""A sweep as it was launched, and the arm of it that another sweep goes on with."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Never

from pydantic import ValidationError

from capsmodel.config import TrainingConfig
from capsmodel.settings.profiles import KIND, PROFILE
from capsmodel.spelling import unknown
from search_spaces.catalogue import is_named, module_of, named_sweeps
from search_spaces.neighbours import neighbours_in, with_neighbours
from search_spaces.plans.path_changes import settings_between
from search_spaces.plans.search import BASE
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from sweeps.aggregation.results.ranking import first_choice
from sweeps.aggregation.results.search_results import search_results
from sweeps.execution.plan.definition import declared_sweep
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestSearch
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class LaunchedSweep:
    """A sweep as it was launched.

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
        """The name of the sweep."""
        return self.manifest.sweep

    @property
    def named(self) -> tuple[str, TrainingConfig] | None:
        """Module and base of a sweep of the package."""
        return (self.module, self.declared.base) if self.module and self.declared else None

    @property
    def reference(self) -> str:
        """The name of the arm that its others are compared with."""
        return self.manifest.baseline

    @property
    def used_seeds(self) -> frozenset[int]:
        """The seeds that it has used, or will use."""
        manifest = self.manifest
        cells = (cell.seed for cell in manifest.cells)
        return frozenset((*manifest.seeds, *manifest.choosing_seeds, *cells))

    def config(self, arm: ManifestArm, seed: int | None = None) -> TrainingConfig:
        """Return the configuration that an arm was trained with.

        Args:
            arm: The arm.
            seed: One that may have a split of its own; None for the split that arms share.

        Raises:
            BadInput: If it has a user's parts that are not declared, or that have changed.
        """
        parts = self.declared.parts if self.declared else ()
        json = arm.config if seed is None else self.manifest.config_of(arm, seed)
        try:
            return TrainingConfig.model_validate(json, context={"parts": parts})
        except ValidationError as error:
            why = "is not what its file declares" if self.declared else "has parts of a file's own"
            raise BadInput(
                f"'{arm.name}' of '{self.name}' {why}: give the file of the sweep, as it was "
                f"launched."
            ) from error

    def base(self) -> TrainingConfig:
        """Return the configuration that its arms are compared with.

        Raises:
            BadInput: If it has a user's parts that are not declared, or is not there yet.
        """
        arms = {arm.name: arm for arm in self.manifest.arms}
        if self.reference not in arms:
            raise BadInput(
                f"The baseline of '{self.name}', '{self.reference}', is still to be chosen: let "
                f"the sweep end first, {SuggestedCommand('status', self.name)}."
            )
        return self.config(arms[self.reference])

    def check_keys(self, arm: ManifestArm) -> None:
        """Check that an arm has the trial keys of its records.

        Raises:
            BadInput: In one sentence, if not.
        """
        cells = [cell for cell in self.manifest.cells if cell.arm == arm.name]
        if any(trial_key(self.config(arm, c.seed), c.seed) != c.trial_key for c in cells):
            self.reject("its data or the code of a part have changed since")

    def with_neighbours(self, text: str) -> str:
        """Return the text of a file with the modules of this sweep's folder that it imports."""
        neighbours = neighbours_in(self.source or "")
        return with_neighbours(text, neighbours) if neighbours.are_imported_by(text) else text

    def reject(self, why: str) -> None:
        """Raise the error for records of another definition than the present one.

        Raises:
            BadInput: In one sentence.
        """
        raise BadInput(
            f"'{self.name}' was trained by another definition than the present one ({why}): run "
            f"the present one under a name of its own, or give its file as it was."
        )


@dataclass(frozen=True)
class LaunchedSearch(LaunchedSweep):
    """A search as it was launched."""

    @property
    def search(self) -> ManifestSearch:
        """What its plan has proposed and chosen."""
        assert self.manifest.search
        return self.manifest.search

    @property
    def reference(self) -> str:
        """The name of the base, whether it was trained or not."""
        return self.search.base or BASE

    @property
    def used_seeds(self) -> frozenset[int]:
        """The seeds of its proposals, and those of its confirmation."""
        confirmation = self.search.confirmation
        return super().used_seeds | frozenset(confirmation.seeds if confirmation else ())

    def base(self) -> TrainingConfig:
        """Return the configuration that its proposals change.

        Raises:
            BadInput: If it is unknown, or differs from the declared one.
        """
        arms = {arm.name: arm for arm in self.manifest.arms}
        base_arm = arms.get(self.search.base)
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

    def check_arm(self, arm: ManifestArm, base: TrainingConfig) -> None:
        """Check that an arm is what its point of the declared space makes of the base.

        Raises:
            BadInput: In one sentence, if not, or if it has other trial keys than its records.
        """
        config = self.config(arm)
        self.check_keys(arm)
        if self.declared:
            params = {proposal.arm: proposal.params for proposal in self.search.proposals}
            sweep = self.declared.model_copy(update={"base": base})
            try:
                proposed = sweep.plan.arm(sweep, arm.name, params.get(arm.name, {})).config
            except ValueError:
                proposed = None
            if proposed != config:
                self.reject(f"{arm.name} has changed")

    def _is_departure(self, path: str) -> bool:
        """Return whether a launch changed this setting, not the declaration of the search."""
        departures = (departure.removesuffix(f".{KIND}") for departure in self.manifest.departures)
        parts = [setting.removesuffix(PROFILE).removesuffix(".") for setting in departures]
        return any(
            not part or is_at_or_below(path, part) or is_at_or_below(part, path) for part in parts
        )


def launched_sweep(sweep: str, store: RecordStore) -> LaunchedSweep:
    """Return a sweep that was launched, a search as `LaunchedSearch`.

    Args:
        sweep: Its name, or the path of the file that declares it.
        store: The store of its records.

    Raises:
        BadInput: If there is none.
        StoreUnreachable: If the tracking store does not answer.
    """
    return _launched(sweep, _declared(sweep), store)


def launched_search(search: str, store: RecordStore) -> LaunchedSearch:
    """Return a search that was launched.

    Args:
        search: Its name, or the path of the file that declares it.
        store: The store of its records.

    Raises:
        BadInput: If there is none, or the sweep is no search.
        StoreUnreachable: If the tracking store does not answer.
    """
    fields = _declared(search)
    declared = fields.get("declared")
    if declared and not declared.plan.is_search:
        _reject_design(declared.name)
    launched = _launched(search, fields, store)
    return launched if isinstance(launched, LaunchedSearch) else _reject_design(launched.name)


def _launched(sweep: str, fields: Mapping[str, Any], store: RecordStore) -> LaunchedSweep:
    declared = fields.get("declared")
    name = declared.name if declared else sweep
    launched = store.sweeps() if store.exists() else []
    if name not in launched and declared:
        raise BadInput(
            f"The sweep '{name}' was not run here yet, so it has no winner: run it first, "
            f"{SuggestedCommand('run', sweep)}."
        )
    if name not in launched:
        named = (entry.name for entry in named_sweeps())
        raise BadInput(unknown("sweep", name, dict.fromkeys((*launched, *named))))
    manifest = store.manifest(name)
    return (LaunchedSearch if manifest.search else LaunchedSweep)(manifest, **fields)


def _declared(sweep: str) -> Mapping[str, Any]:
    if sweep.endswith(".py") or "/" in sweep:
        declared, source, _ = declared_sweep(sweep)
        return {"declared": declared, "source": source}
    if is_named(sweep):
        return {"declared": declared_sweep(sweep)[0], "module": module_of(sweep)}
    return {}


def _reject_design(name: str) -> Never:
    raise BadInput(
        f"'{name}' is not a search, so it has no winner for a path to lead to: name a search, or "
        f"declare Path(changes=...) in a file of your own."
    )


def fresh_seeds(num: int, used: Collection[int]) -> tuple[int, ...]:
    """Return unused seeds, starting at the first hundred that has enough of them."""
    blocks = (tuple(range(start, start + num)) for start in count(101, 100))
    return next(block for block in blocks if not {*block} & {*used})


class Winner(NamedTuple):
    """An arm of a search.

    Attributes:
        role: Its role in the search, as the end of a sentence.
    """

    arm: ManifestArm
    role: str


def winner(launched: LaunchedSearch, store: RecordStore, name: str | None) -> Winner:
    """Return the winner of a search, or another of its finished arms.

    The winner is the first arm that the search chose to confirm. The choice was made before the
    results on fresh seeds were known, so arms may be compared on these seeds. Without confirmed
    arms the winner is the best finished proposal by the search's own rule.

    Args:
        launched: The search.
        store: The store of its records.
        name: The name of another arm; None for the winner.

    Raises:
        BadInput: If there is none, or no finished arm of that name.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest, search = launched.manifest, launched.search
    records = store.records(manifest.cell_keys().values())
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = (search.confirmation and search.confirmation.arms) or ()
    results = search_results(manifest, records)
    finished = [result.proposal.arm for result in results.counted]
    if not chosen and name is None and finished and not results.candidates:
        raise BadInput(
            f"The search '{manifest.sweep}' has no winner: none of the {len(finished)} proposals "
            f"of full length keeps its limits on what is measured. Name one of them with --arm."
        )
    if not finished and not chosen:
        raise BadInput(
            f"The search '{manifest.sweep}' has no winner yet: of {len(search.proposals)} proposals"
            f" none has finished at full length with each seed. See its progress: "
            f"{SuggestedCommand('status', manifest.sweep)}."
        )
    of_all = f"of {len(search.proposals)} proposals{' so far' * manifest.is_growing}"
    if name is not None:
        known = dict.fromkeys((*chosen, *finished))
        if name not in known:
            raise BadInput(unknown(f"finished arm of '{manifest.sweep}'", name, known))
        return Winner(arms[name], f"asked for by name, one {of_all}")
    first = arms[first_choice(manifest, records) or ""]
    if chosen:
        return Winner(first, f"the first choice of the search, {of_all}")
    return Winner(first, f"the best {of_all}, not confirmed")
