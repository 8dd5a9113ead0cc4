"""A sweep's manifest: its definition and its cells, all that aggregation needs to know of it.

It is an artifact of the sweep's own record. A design's is written once a launch; a search's
grows with its proposals and its scheduler's verdicts. Like everything read from the tracking store
it is untrusted, and validated here before use.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from capsmodel.metrics import VALIDATION_ERROR, Metric, Objective, find_metric, metric_names
from capsmodel.settings.later_field import later
from capsmodel.spelling import unknown
from search_spaces.tables import AblationTable, RecordedTable
from sweeps.records.bounds import (
    MOST_ARMS,
    MOST_CELLS,
    Bounded,
    Count,
    Json,
    Whole,
)
from sweeps.records.errors import BadInput
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.manifest_plan import Line, ManifestDesign, ManifestPlan, ManifestSearch, Seeds
from sweeps.records.trial_record import SCHEMA_VERSION, Slug, Text, TrialKey


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestArm(_Frozen):
    """One arm of a sweep.

    Attributes:
        config: The full resolved training config, as plain JSON.
        changes: What sets it apart from the sweep's base: path -> value.
    """

    name: Text
    config: Json
    changes: Json = {}
    num_parameters: Count


class Stopped(_Frozen):
    """Where a search's scheduler stopped a trial, whatever became of it in another sweep.

    Attributes:
        epoch: The last one that this sweep saw.
        value: The objective there.
    """

    epoch: Annotated[Count, Field(ge=1)]
    value: float


class ManifestCell(_Frozen):
    """A place that a trial fills.

    Attributes:
        stopped: None where no scheduler stopped it.
    """

    arm: Text
    seed: Whole
    trial_key: TrialKey
    stopped: Stopped | None = None


class Manifest(_Frozen):
    """A sweep's definition and its cells.

    Attributes:
        baseline: The arm that the others are compared with; "" in a search.
        seeds: Of every arm of a design, of every proposal of a search.
        departures: What a launch changed of the sweep as declared: path -> [declared, given].
        search: None in a design.
        metrics: Those of the sweep's own parts; the others are built in.
        evaluations: Of each finished trial's network.
        design: Its factors; None where its arms are listed, or proposed by a search.
        plan: Of a user's own; None where the plan is one of the package.
        margin_points: Differences of test errors within it do not matter; None where not declared.
        planned_seeds: Those before a later launch added others; empty where none were added.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    sweep: Slug
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    baseline: Line = ""
    arms: Annotated[tuple[ManifestArm, ...], Field(max_length=MOST_ARMS)]
    seeds: Seeds
    cells: Annotated[tuple[ManifestCell, ...], Field(max_length=MOST_CELLS)]
    tables: Annotated[tuple[RecordedTable, ...], Field(min_length=1, max_length=100)] = (
        AblationTable(),
    )
    departures: Annotated[dict[Line, tuple[Bounded, Bounded]], Field(max_length=1000)] = {}
    search: ManifestSearch | None = None
    metrics: Annotated[tuple[Metric, ...], Field(max_length=1000)] = later(())
    evaluations: Annotated[tuple[ManifestEvaluation, ...], Field(max_length=100)] = later(())
    plan: ManifestPlan | None = later(None)
    margin_points: Annotated[float, Field(gt=0, le=100)] | None = later(None)
    design: ManifestDesign | None = later(None)
    planned_seeds: Annotated[tuple[Whole, ...], Field(max_length=100_000)] = later(())

    @model_validator(mode="after")
    def _arms_are_told_apart(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        if self.search is None and self.baseline not in names:
            raise ValueError(f"the baseline {self.baseline!r} is none of the arms")
        return self

    @model_validator(mode="after")
    def _cells_are_those_of_the_plan(self) -> Self:
        # even a small file names more arms and seeds than could be held each with each
        arms, seeds = {arm.name for arm in self.arms}, set(self.seeds)
        chosen, fresh = set[str](), set[int]()
        if self.search and (again := self.search.confirmation):
            chosen = {*(again.arms or ()), *([again.reference] if again.reference else [])}
            fresh = set(again.seeds)
        places = {(cell.arm, cell.seed) for cell in self.cells}
        planned = {(arm, seed) for arm, seed in places if arm in arms and seed in seeds}
        confirming = {(arm, seed) for arm, seed in places if arm in chosen and seed in fresh}
        is_each = len(confirming) == len(chosen) * len(fresh)
        is_each &= bool(self.plan) or len(planned) == len(arms) * len(seeds)
        if not is_each or len(self.cells) != len(planned | confirming):
            raise ValueError("the cells are not each arm with each seed, once")
        return self

    @model_validator(mode="after")
    def _proposals_are_the_arms(self) -> Self:
        if self.search is None:
            return self
        if [proposal.arm for proposal in self.search.proposals] != [arm.name for arm in self.arms]:
            raise ValueError("the proposals of the search are not its arms")
        if [proposal.number for proposal in self.search.proposals] != list(range(len(self.arms))):
            raise ValueError("the proposals of the search are not numbered from 0")
        return self

    @model_validator(mode="after")
    def _it_is_chosen_by_what_selection_may_see(self) -> Self:
        assert self.objective
        return self

    def metric(self, name: str) -> Metric:
        """Return what a metric of the sweep is.

        Raises:
            BadInput: If there is none of that name.
        """
        metric = find_metric(name, self.metrics)
        if metric is None:
            raise BadInput(unknown("metric", name, metric_names(own.name for own in self.metrics)))
        return metric

    @property
    def objective(self) -> Objective:
        """What its arms are ranked by: a search's own objective, else the validation error."""
        return Objective(self.metric(self.search.objective) if self.search else VALIDATION_ERROR)

    @property
    def is_growing(self) -> bool:
        """Whether cells may follow: proposals to make, arms to confirm, a plan that is not over."""
        if self.search is None:
            return self.plan is not None and not self.plan.is_over
        again = self.search.confirmation
        is_unconfirmed = again is not None and again.arms is None
        return len(self.search.proposals) < self.search.num_trials or is_unconfirmed

    @property
    def num_expected(self) -> int:
        """How many cells there will be in the end, at most, as far as it is known."""
        if self.search is None or not self.is_growing:
            return len(self.cells)
        again = self.search.confirmation
        confirmed = (again.best + 1) * len(again.seeds) if again else 0
        return self.search.num_trials * len(self.seeds) + confirmed

    def proposed_cells(self) -> tuple[ManifestCell, ...]:
        """Return the cells but those in which a search's best are confirmed."""
        return tuple(cell for cell in self.cells if not self.search or cell.seed in {*self.seeds})

    def cell_keys(self) -> dict[tuple[str, int], str]:
        """Return the trial key of each place, (arm, seed) -> key."""
        return {(cell.arm, cell.seed): cell.trial_key for cell in self.cells}
