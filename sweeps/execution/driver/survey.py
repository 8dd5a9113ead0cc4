"""What a look at a sweep before a launch finds: cells, records, and what is left to do."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sweeps.aggregation.rendering.notebook_pieces import Grid, Shown, block, facts, summary
from sweeps.execution.engine.capacity import Capacity
from sweeps.execution.plan.definition import Definition
from sweeps.execution.plan.disk_estimate import DiskEstimate
from sweeps.execution.plan.evaluations import EvaluationState, SurveyedEvaluation, count
from sweeps.execution.plan.planner import SurveyedCell, refuse_to_drop
from sweeps.execution.plan.preregistration import refuse_other_margin
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True, repr=False)
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
        told = [
            ("cells", ", ".join(self._counts)),
            ("estimate", "" if seconds is None else f"{seconds:,.0f} seconds"),
            ("would be refused", self.refusal or ""),
        ]
        return block(f"plan of {self.name}", facts(told), arms.html * bool(manifest.arms))

    @property
    def told_by_settings(self) -> dict[str, dict[str, Any]]:
        """What sets the arms of a search apart: path -> value by arm. Others' names say it."""
        manifest = self.definition.manifest
        return {arm.name: arm.changes for arm in manifest.arms} if manifest.search else {}

    @property
    def _counts(self) -> tuple[str, ...]:
        manifest = self.definition.manifest
        empty = sum(not cell.is_filled for cell in self.cells)
        to_come = manifest.num_expected - len(self.cells)
        told = (f"{len(self.cells)} cells", f"{empty} to train")
        return (*told, f"up to {to_come} more to come") if to_come > 0 else told

    def _rows(self) -> Iterator[tuple[str, ...]]:
        seeds: dict[tuple[str, bool], list[str]] = {}
        for cell in self.cells:
            seeds.setdefault((cell.cell.arm, cell.is_filled), []).append(str(cell.cell.seed))
        for arm in self.definition.manifest.arms:
            there, to_train = (", ".join(seeds.get((arm.name, is_), [])) for is_ in (True, False))
            epochs = str(self.definition.epochs[arm.name])
            yield arm.name, f"{arm.num_parameters:,}", epochs, there, to_train

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
