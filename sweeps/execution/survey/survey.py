"""The survey of a sweep before a launch: what exists, what is missing, and what that takes."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from search_spaces.sweep import Sweep
from sweeps.aggregation.rendering.notebook_pieces import Grid, Shown, block, facts, summary
from sweeps.execution.engine.capacity import ONE_AT_A_TIME, Capacity
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.launch_lock import check_places, readable_places
from sweeps.execution.plan.definition import (
    DeclaredSweep,
    Launchable,
    SweepDefinition,
    counts_of,
    declared_sweep,
    define,
)
from sweeps.execution.plan.growing_definition import resumed
from sweeps.execution.plan.labels import with_labels
from sweeps.execution.plan.preregistration import (
    added_before,
    check_looks_kept,
    check_margin,
    keeps_looks,
    with_first_rule,
    with_planned_seeds,
)
from sweeps.execution.search.beyond_log import with_lost_decisions
from sweeps.execution.search.warm_points import warm_started
from sweeps.execution.survey.checked_speeds import checked_timings
from sweeps.execution.survey.disk_estimate import DiskDemand, DiskEstimate, estimate_disk
from sweeps.execution.survey.estimate import (
    Estimate,
    Timing,
    Timings,
    empty_cells,
    estimate,
    timings_of_cells,
)
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.other_lengths import timings_at_other_lengths
from sweeps.execution.survey.shorter_trainings import with_shorter
from sweeps.execution.survey.surveyed_cells import (
    CellState,
    FolderState,
    SurveyedCell,
    check_dropped_cells,
    dropped_cells,
    surveyed,
)
from sweeps.execution.survey.surveyed_evaluations import (
    EvaluationState,
    SurveyedEvaluation,
    count,
    survey_evaluations,
)
from sweeps.execution.sweep_log import EarlierLog, stored_entries
from sweeps.execution.worker.provenance import hardware
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.plain_text import duration_text, in_ranges
from sweeps.storage.disk_room import free_bytes
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore

_LOG = logging.getLogger(__name__)


class EarlierSeeds(NamedTuple):
    """Seeds that are in a sweep before a launch and that need not be added.

    Attributes:
        repeated: Those that the launch adds nevertheless.
        resumed: Those that options of earlier launches added, with which it resumes.
    """

    repeated: tuple[int, ...] = ()
    resumed: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
class Survey:
    """What a launch would do.

    Attributes:
        earlier: What earlier launches have left.
        current: The manifest of the last launch, None for a new sweep.
        known: The manifest with all decisions in force; the launch starts from it, unless it trains
            all from the start.
        lost: Trial keys of filled cells that the launch would drop.
        cells: Every cell and its state.
        capacity: The resources of each trial, and how many run at once.
        estimate: How long the empty cells take.
        timings: Arm -> how long trainings of its network took.
        evaluations: Every evaluation of the finished trials and its state.
        share_to_come: Share of a full training that a cell still to come takes on average.
        disk: Space that the launch takes on the disk of the storage folder, and free space.
        earlier_seeds: Seeds that need not be added.
    """

    definition: SweepDefinition
    earlier: EarlierLog
    current: Manifest | None
    known: Manifest
    lost: frozenset[str]
    cells: tuple[SurveyedCell, ...]
    capacity: Capacity
    storage: Storage
    tracking_uri: str
    evaluations: tuple[SurveyedEvaluation, ...] = ()
    estimate: Estimate = field(default_factory=Estimate)
    timings: Timings = field(default_factory=dict[str, list[Timing]])
    mean_share: float = 1.0
    disk: DiskEstimate = field(default_factory=DiskEstimate)
    earlier_seeds: EarlierSeeds = field(default_factory=EarlierSeeds)

    def __repr__(self) -> str:
        return summary("Plan", self.name, *self._counts, "refused" * bool(self.refusal))

    def _repr_html_(self) -> str:
        """Return it for a notebook: its arms with what there is to train, small and escaped."""
        manifest, seconds = self.definition.manifest, self.estimate_seconds
        arms = Grid(
            ("arm", "parameters", "epochs", "seeds there", "seeds to train"),
            [[Shown(text) for text in row] for row in self._rows()],
            range(1, 5),
        )
        rows = [
            ("cells", ", ".join(self._counts)),
            ("estimate", "" if seconds is None else duration_text(seconds)),
            ("would be refused", self.refusal or ""),
        ]
        return block(f"plan of {self.name}", facts(rows), arms.html * bool(manifest.arms))

    @property
    def estimate_seconds(self) -> float | None:
        """Estimated seconds of the empty cells, None if nothing like them was trained yet."""
        return self.estimate.seconds

    @property
    def estimate_source(self) -> str:
        """What the estimate follows from, "" if there is none."""
        return self.estimate.source

    @property
    def changes_by_arm(self) -> dict[str, dict[str, Any]]:
        """Arm -> its settings (path -> value). Empty for a design, whose arms are named by them."""
        manifest = self.definition.manifest
        return {arm.name: arm.changes for arm in manifest.arms} if manifest.search else {}

    @property
    def fresh_seeds(self) -> frozenset[int]:
        """The seeds that have no part in choosing arms; empty where nothing is chosen."""
        manifest = self.definition.manifest
        if manifest.choosing_seeds:
            return frozenset(manifest.seeds)
        confirmation = manifest.search.confirmation if manifest.search else None
        return frozenset(confirmation.seeds) if confirmation else frozenset()

    @property
    def _counts(self) -> tuple[str, ...]:
        manifest = self.definition.manifest
        empty = sum(not cell.is_filled for cell in self.cells)
        to_come = manifest.num_expected - len(self.cells)
        counts = (f"{len(self.cells)} cells", f"{empty} to train")
        return (*counts, f"up to {to_come} more to come") if to_come > 0 else counts

    def _rows(self) -> Iterator[tuple[str, ...]]:
        seeds: dict[tuple[str, bool], list[str]] = {}
        for cell in self.cells:
            seeds.setdefault((cell.cell.arm, cell.is_filled), []).append(str(cell.cell.seed))
        for arm in self.definition.manifest.arms:
            filled, to_train = (", ".join(seeds.get((arm.name, is_), [])) for is_ in (True, False))
            epochs = str(self.definition.epochs[arm.name])
            yield arm.name, f"{arm.num_parameters:,}", epochs, filled, to_train

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.definition.manifest.sweep

    @property
    def seeds_sentence(self) -> str:
        """Say which seeds need not be added, and what is left to train; "" if there are none."""
        repeated, resumed = self.earlier_seeds
        if not (seeds := repeated or resumed):
            return ""
        subject = f"{'Seed' if len(seeds) == 1 else 'Seeds'} {in_ranges(seeds)}"
        if repeated:
            said = f"{subject} {'is' if len(seeds) == 1 else 'are'} already in this sweep"
        else:
            was, stays = ("was", "stays") if len(seeds) == 1 else ("were", "stay")
            said = f"{subject} {was} added by an earlier launch and {stays} in this sweep"
        return f"{said}; {self._left_text}."

    @property
    def _left_text(self) -> str:
        expected = self.definition.manifest.num_expected
        num_left = expected - sum(cell.is_filled for cell in self.cells)
        if not num_left:
            return "nothing is left to train"
        return (
            f"{num_left:,} of {expected:,} trials {'is' if num_left == 1 else 'are'} left to train"
        )

    @property
    def store(self) -> RecordStore:
        """The tracking store, not opened yet."""
        return open_store(self.tracking_uri, self.storage.root)

    def check_losses(self) -> None:
        """Check that a launch drops no cells and changes nothing that was preregistered.

        Raises:
            BadInput: In one sentence.
        """
        goes_on = any(cell.state is CellState.SHORTER for cell in self.cells)
        if self.current:
            check_looks_kept(self.current, self.known)
        check_dropped_cells(self.current, self.known, self.lost, goes_on=goes_on)
        if self.current:
            check_margin(self.current, self.known)

    @property
    def refusal(self) -> str | None:
        """Why a launch would be refused for that, None if it would not."""
        try:
            self.check_losses()
        except BadInput as refusal:
            return str(refusal)
        return None

    @property
    def why_not_here(self) -> str:
        """Why a launch needs another place, "" if it can write to the named one."""
        try:
            check_places(self.storage, self.tracking_uri)
        except BadInput as error:
            return str(error)
        return ""

    @property
    def has_work(self) -> bool:
        """Whether anything is left to train: empty cells, or proposals still to come."""
        return self.definition.manifest.is_growing or not all(cell.is_filled for cell in self.cells)

    @property
    def is_done(self) -> bool:
        """Whether a launch would only rebuild the report: all is there, under the sweep's name."""
        is_stored = bool(self.earlier.stored) and self.current == self.definition.manifest
        return is_stored and not self.has_cells_to_fill and not self.has_evaluations_to_make

    @property
    def needs_engine(self) -> bool:
        """Whether anything is left to train or to evaluate."""
        return self.has_work or self.has_evaluations_to_make

    def needs_engine_for(self, options: LaunchOptions) -> bool:
        """Return whether a launch has anything to train or to evaluate."""
        return self.has_evaluations_to_make if options.evaluations_only else self.needs_engine

    @property
    def has_cells_to_fill(self) -> bool:
        """Whether anything is left to train, or to copy to the tracking store."""
        return self.has_work or not all(cell.is_recorded for cell in self.cells)

    @property
    def has_evaluations_to_make(self) -> bool:
        """Whether finished trials lack evaluations that can be made."""
        return count(self.evaluations, EvaluationState.TO_MAKE) > 0


Plan = Survey  # as `sweeps.Plan` is promised to users


def with_disk(
    survey: Survey, folders: Mapping[str, FolderState], most_state_bytes: int | None
) -> Survey:
    """Return the survey with the disk space that its launch takes.

    Args:
        survey: The sweep's survey.
        folders: The states of its cells' folders, by trial key.
        most_state_bytes: As in `LaunchOptions`.
    """
    seen: dict[str, list[int]] = {}
    for cell in survey.cells:
        folder = folders.get(cell.cell.trial_key)
        if folder and folder.num_bytes:
            seen.setdefault(cell.cell.arm, []).append(folder.num_bytes)
    manifest = survey.definition.manifest
    demand = DiskDemand(
        empty=[
            *(cell.cell.arm for cell in survey.cells if not cell.is_filled),
            *[None] * (manifest.num_expected - len(survey.cells)),
        ],
        seen=seen,
        num_copies=2 if sqlite_path(survey.tracking_uri) else 1,  # a server has its own disk
        num_concurrent=survey.capacity.num_concurrent,
        most_state_bytes=most_state_bytes,
    )
    free = free_bytes(survey.storage.root)
    return replace(survey, disk=estimate_disk(manifest, demand, free))


def earlier_log(
    store: RecordStore, journals: Path, sweep: str, *, may_be_replaced: bool
) -> EarlierLog:
    """Return what earlier launches of a sweep have left.

    Args:
        store: The tracking store.
        journals: The folder of the logs.
        sweep: Its name.
        may_be_replaced: Whether the launch can do without it.

    Raises:
        BadInput: If the log is damaged, here or in the store while there is none here.
        StoreUnreachable: If the store does not answer.
    """
    here = stored_entries(journals, sweep)
    if not store.exists() or sweep not in store.sweeps():
        return EarlierLog(here, ())
    try:
        earlier = EarlierLog(here, store.sweep_log(sweep))
        assert earlier.manifest
    except BadInput as error:
        if not here and not may_be_replaced:
            raise BadInput(
                f"{error} The storage folder has no log of it either: launch the sweep with "
                f"--replace as it was launched before; what was trained is found again."
            ) from error
        return EarlierLog(here, ())
    return earlier


def declared_definition(
    declared: DeclaredSweep, options: LaunchOptions, current: Manifest | None
) -> SweepDefinition:
    """Return the definition of a launch without the decisions of earlier ones.

    Args:
        declared: The sweep as its file declares it.
        options: They may change it.
        current: The manifest of the last launch, None for a new sweep. Seeds that are added to it,
            and the rule of its verdicts, depend on it.

    Raises:
        BadInput: If the sweep or a change of it is not valid.
    """
    seeds, search = (current.seeds, current.search) if current else ((), None)
    defined = define(declared, options, seeds, search, counts=counts_of(current))
    definition = with_first_rule(defined, current)
    return with_labels(with_planned_seeds(definition, current), options, current)


def survey_of(
    sweep: Launchable | DeclaredSweep,
    options: LaunchOptions,
    capacity: Capacity = ONE_AT_A_TIME,
    *,
    reads_all_sweeps: bool = False,
) -> Survey:
    """Return what a launch would do. Writes nothing.

    Args:
        sweep: The sweep.
        options: The options of the launch.
        capacity: What each trial gets, and how many run at once.
        reads_all_sweeps: Whether arms that were not trained yet are looked for in all sweeps of the
            store, for the estimate.

    Raises:
        BadInput: If the sweep, a change of it or the storage folder is not valid.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, tracking_uri = readable_places(options.storage, options.tracking_uri)
    _LOG.info("cells lie in %s", storage.cells)
    store = open_store(tracking_uri, storage.root)
    declared = declared_sweep(sweep)
    name = declared.sweep.name if options.name is None else options.name
    earlier = earlier_log(store, storage.journals, name, may_be_replaced=options.replace)
    seeds = _earlier_seeds(declared.sweep, options, earlier.manifest)
    options = _with_seeds(options, declared.sweep, seeds.resumed)
    definition, known = _definitions(declared, options, earlier, storage, store=store)
    keys = [cell.trial_key for cell in definition.manifest.cells]
    folders = {} if options.retrain else folder_states(storage, keys)
    records = {} if options.retrain or not store.exists() else store.records(keys)
    cells = surveyed(definition.manifest.cells, folders, records, definition.waiting)
    cells = with_shorter(cells, definition, options, storage)
    timings: Timings = timings_of_cells(definition.manifest, folders, records)
    device = _device_here(capacity, options)
    if reads_all_sweeps:
        timings = _with_timings_elsewhere(timings, definition, cells, store, device=device)
    survey = Survey(
        definition=definition,
        earlier=earlier,
        current=earlier.manifest,
        known=known,
        lost=_lost(dropped_cells(earlier.manifest, known), storage, store),
        cells=cells,
        capacity=capacity,
        storage=storage,
        tracking_uri=tracking_uri,
        evaluations=survey_evaluations(definition.manifest, storage, folders, records, store=store),
        timings=timings,
        earlier_seeds=seeds,
    )
    return with_disk(_with_estimate(survey, device), folders, options.most_state_bytes)


def _with_estimate(survey: Survey, device: str) -> Survey:
    """Return the survey with how long its launch takes.

    Args:
        survey: The sweep's survey.
        device: The device of its trials, "" if it is not known.
    """
    definition, at_once = survey.definition, survey.capacity.num_concurrent
    num_to_come, share = _to_come(definition)
    estimated = estimate(
        survey.cells,
        definition.epochs,
        survey.timings,
        at_once,
        num_to_come=num_to_come * share,
        device=device,
    )
    return replace(survey, estimate=estimated, mean_share=share)


def _with_timings_elsewhere(
    known: Timings,
    definition: SweepDefinition,
    cells: Sequence[SurveyedCell],
    store: RecordStore,
    *,
    device: str,
) -> Timings:
    """Return timings with those from other sweeps of arms that are to be trained and have none.

    Where there are none at all, and trials are to be on this machine's CPU, they are those of a
    check.
    """
    manifest = definition.manifest
    wanted = {cell.cell.arm for cell in empty_cells(cells)}
    if manifest.is_growing and not known:
        wanted |= {arm.name for arm in manifest.arms}
    wanted -= known.keys()
    configs = {arm.name: arm.config for arm in manifest.arms if arm.name in wanted}
    timings = {**known, **timings_at_other_lengths(configs, definition.fingerprints, store)}
    if timings or device != hardware("cpu"):
        return timings
    return checked_timings(definition.configs())


def _device_here(capacity: Capacity, options: LaunchOptions) -> str:
    """Return the name of the device that trials get, "" if it is not of this machine."""
    if options.resources.address is not None:
        return ""
    if not capacity.gpus_per_trial:
        return hardware("cpu")
    return f"cuda: {capacity.cards[0].name}" if capacity.cards else ""


def _earlier_seeds(sweep: Sweep, options: LaunchOptions, current: Manifest | None) -> EarlierSeeds:
    before = current.seeds if current else sweep.arm_seeds
    repeated = tuple(seed for seed in options.add_seeds or () if seed in before)
    return EarlierSeeds(repeated, () if options.replace else added_before(sweep, options, current))


def _with_seeds(options: LaunchOptions, sweep: Sweep, added: tuple[int, ...]) -> LaunchOptions:
    seeds = (*sweep.arm_seeds, *added)
    return options.model_copy(update={"seeds": seeds}) if added else options


def _definitions(
    declared: DeclaredSweep,
    options: LaunchOptions,
    earlier: EarlierLog,
    storage: Storage,
    *,
    store: RecordStore,
) -> tuple[SweepDefinition, Manifest]:
    """Return the definition that a launch starts from, and the manifest of all decisions in force.

    They differ where the launch trains all from the start.
    """
    definition = declared_definition(declared, options, earlier.manifest)
    decisions = earlier.decisions(definition.decided_by)
    known = resumed(definition, decisions if keeps_looks(definition, earlier.manifest) else ())
    if not options.retrain:
        definition = with_lost_decisions(known, earlier, storage.cells)
    if options.warm_start is not None:
        definition = warm_started(definition, options.warm_start, store)
    return definition, known.manifest


def _lost(dropped: Sequence[ManifestCell], storage: Storage, store: RecordStore) -> frozenset[str]:
    """Return the trial keys of dropped cells that are filled."""
    if not dropped:
        return frozenset()
    keys = [cell.trial_key for cell in dropped]
    cells = surveyed(dropped, folder_states(storage, keys), store.records(keys))
    return frozenset(cell.cell.trial_key for cell in cells if cell.is_filled)


def _to_come(definition: SweepDefinition) -> tuple[int, float]:
    """Return how many cells are still to come, and the share of a full training that one takes."""
    manifest, sweep = definition.manifest, definition.sweep
    num_to_come, search = manifest.num_expected - len(manifest.cells), manifest.search
    if search is None or search.ended or not num_to_come:
        return num_to_come, 1.0
    numbers = range(len(search.proposals), search.num_trials)
    num_proposed = len(numbers) * len(manifest.seeds)
    share = sweep.plan.mean_share(sweep.base.stopping.num_epochs, numbers)
    return num_to_come, 1 - (1 - share) * num_proposed / num_to_come
