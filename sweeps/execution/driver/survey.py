"""What a look at a sweep before a launch finds: cells, records, and what is left to do."""

from dataclasses import dataclass, field

from sweeps.execution.engine.capacity import Capacity
from sweeps.execution.plan.before_looking import refuse_other_margin
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.disk_estimate import DiskEstimate
from sweeps.execution.plan.evaluations import EvaluationState, SurveyedEvaluation, count
from sweeps.execution.plan.planner import SurveyedCell, refuse_to_drop
from sweeps.records.errors import BadInput
from sweeps.records.expected_cells import expected_cells, expected_words
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class Survey:
    """What a launch would do.

    Attributes:
        current: The manifest that is there, None for a new sweep.
        known: The definition with all that earlier launches of a search proposed; what a launch
            starts from, unless it trains all anew.
        adopted: Whose proposals stand: the manifest that is there, or the one that the last
            launch has kept where the tracking store has lost it.
        lost: Trial keys of its filled cells that the launch would drop.
        cells: Every cell and where it stands.
        capacity: What each trial would get, and how many run at once.
        estimate_seconds: Of the empty cells, None where nothing like them was trained.
        evaluations: Every one of the finished trials and where it stands.
        share_to_come: Of a full training, that a cell which is still to come takes on average.
        disk: What the launch takes on the disk of the storage folder, and what is free there.
    """

    definition: Definition
    current: Manifest | None
    known: Definition
    lost: frozenset[str]
    cells: tuple[SurveyedCell, ...]
    capacity: Capacity
    estimate_seconds: float | None
    storage: Storage
    tracking_uri: str
    evaluations: tuple[SurveyedEvaluation, ...] = ()
    adopted: Manifest | None = None
    share_to_come: float = 1.0
    disk: DiskEstimate = field(default_factory=DiskEstimate)

    @property
    def name(self) -> str:
        """The sweep's name."""
        return self.definition.manifest.sweep

    @property
    def store(self) -> RecordStore:
        """The tracking store, not opened yet."""
        return open_store(self.tracking_uri, self.storage.root)

    def refuse_losses(self) -> None:
        """Refuse a launch that would drop cells, or change what was settled before the results.

        Raises:
            BadInput: In one sentence.
        """
        refuse_to_drop(self.current, self.known.manifest, self.lost)
        if self.current:
            refuse_other_margin(self.current, self.known.manifest)

    @property
    def kinds_of_cells(self) -> str:
        """How many cells of each kind there will be, "" where all are of one kind."""
        manifest = self.definition.manifest
        return expected_words(manifest) if len(expected_cells(manifest)) > 1 else ""

    @property
    def refusal(self) -> str | None:
        """Why a launch would be refused for that, None where it would not."""
        try:
            self.refuse_losses()
        except BadInput as refusal:
            return str(refusal)
        return None

    @property
    def has_work(self) -> bool:
        """Whether anything is left to train: empty cells, or what a search has not proposed yet."""
        return self.definition.manifest.is_growing or not all(cell.is_filled for cell in self.cells)

    @property
    def has_cells_to_fill(self) -> bool:
        """Whether anything is left to train, or to be carried to the tracking store."""
        return self.has_work or not all(cell.is_recorded for cell in self.cells)

    @property
    def has_evaluations_to_make(self) -> bool:
        """Whether finished trials lack evaluations that can be made."""
        return count(self.evaluations, EvaluationState.TO_MAKE) > 0


Plan = Survey  # as `sweeps.Plan` is promised to users
