"""A sweep's manifest: its definition and its cells, all that aggregation needs to know of it.

It is a fold of the sweep's log. That of a search grows with its proposals and its scheduler's
verdicts. Like everything read from the tracking store it is untrusted, and validated before use.
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
from capsmodel.settings.parts import later
from capsmodel.spelling import unknown
from search_spaces.tables import AblationTable, PartOfAcross, RecordedTable
from sweeps.records.bounds import (
    MOST_ARMS,
    MOST_CELLS,
    Bounded,
    Count,
    Json,
    Whole,
)
from sweeps.records.errors import BadInput
from sweeps.records.labels import RecordedNote, RecordedTags
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.manifest_plan import (
    Line,
    ManifestDesign,
    ManifestPlan,
    ManifestSearch,
    Proposal,
    RandomReference,
    Seeds,
)
from sweeps.records.trial_record import SCHEMA_VERSION, Slug, Text, TrialKey


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestArm(_Frozen):
    """One arm of a sweep.

    Attributes:
        config: The full resolved training config, as plain JSON.
        changes: What sets it apart from the sweep's base: path -> value.
        num_multiply_adds: Of a forward pass of one image, counted where evaluations compare arms;
            None where it is not known.
        matched_to: The arm to whose number of parameters its width was matched, "" for none.
        shifted_test: Whether its test images are by design of another kind than its validation
            images; None where its data set does not declare it.
    """

    name: Text
    config: Json
    changes: Json = {}
    num_parameters: Count
    num_multiply_adds: Count | None = later(None)
    matched_to: str = later("")
    shifted_test: bool | None = later(None)


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
        arm: Its arm.
        seed: Its seed.
        trial_key: Key of the trial that fills it.
        stopped: None where no scheduler stopped it.
    """

    arm: Text
    seed: Whole
    trial_key: TrialKey
    stopped: Stopped | None = None


def on_split(config: Json, split: int | None) -> Json:
    """Return a config with another split of its data, the same where none is given."""
    if split is None:
        return config
    return {**config, "data": {**config.get("data", {}), "split_seed": split}}


VerdictRule = Literal["own seeds", "shared seeds", "shared seeds, apart from 1.8"]
VERDICT_RULE: VerdictRule = "shared seeds, apart from 1.8"
"""That in force. Tables are made by it whatever rule their sweep was launched under."""


class Manifest(_Frozen):
    """A sweep's definition and its cells.

    Attributes:
        baseline: The arm that the others are compared with; "" in a search.
        seeds: Seeds of every arm of a design, or of every proposal of a search.
        departures: What a launch changed of the sweep as declared: path -> [declared, given].
        search: None in a design.
        metrics: Those of the sweep's own parts; the others are built in.
        evaluations: Evaluations of each finished trial's network.
        design: Its factors; None where its arms are listed, or proposed by a search.
        plan: One that decides while the sweep runs, other than a search; None where there is none.
        margin_points: Differences of test errors within it do not matter; None where not declared.
        planned_seeds: Those before a later launch added others; empty where none were added.
        splits: Seed -> the split seed of its data, in place of that in an arm's config; empty where
            all are trained on that one.
        verdict_rule: How the tables of the release that launched it judged differences: by each
            arm's own seeds alone, or by variances over seeds that arms share; an arm that varies
            more by its own as well: one of more than 2 times the others' variance, now 1.8 times.
        not_covered: Lines of the user's code that may change a result without changing a trial key,
            each with the reason.
        tags: What the last launch that gave any calls it by.
        note: What the last launch that gave one says of it.
        part_of: The sweep across data sets that it is one data set of; None for any other sweep.
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
    splits: Annotated[dict[Whole, Count], Field(max_length=100_000)] = later({})
    verdict_rule: VerdictRule = later("own seeds")
    not_covered: Annotated[tuple[Line, ...], Field(max_length=10_000)] = later(())
    tags: RecordedTags = later(())
    note: RecordedNote = later("")
    part_of: PartOfAcross | None = later(None)

    @model_validator(mode="after")
    def _arms_are_told_apart(self) -> Self:
        names = [arm.name for arm in self.arms]
        if len(set(names)) != len(names):
            raise ValueError("two arms have the same name")
        is_to_come = self.plan is not None and self.baseline in self.plan.tuned
        if self.search is None and self.baseline not in names and not is_to_come:
            raise ValueError(f"the baseline {self.baseline!r} is not one of the arms")
        return self

    @model_validator(mode="after")
    def _cells_are_those_of_the_plan(self) -> Self:
        # even a small file names more arms and seeds than could be held each with each
        arms, seeds = {arm.name for arm in self.arms}, {*self.seeds, *self.choosing_seeds}
        chosen, fresh = set[str](), set[int]()
        if self.search and (again := self.search.confirmation):
            chosen = {*again.confirmed}
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
    def _each_seed_has_a_split(self) -> Self:
        if self.splits and not {cell.seed for cell in self.cells} <= {*self.splits}:
            raise ValueError("a cell's seed has no split")
        return self

    @model_validator(mode="after")
    def _proposals_are_the_arms(self) -> Self:
        if self.search is None:
            return self
        proposals, names = self.search.proposals, [arm.name for arm in self.arms]
        before = [self.search.base] if self.search.base else []
        drawn = self.drawn
        if [*before, *(proposal.arm for proposal in (*proposals, *drawn))] != names:
            raise ValueError("the proposals of the search are not its arms")
        for numbered in (proposals, drawn):
            if [proposal.number for proposal in numbered] != list(range(len(numbered))):
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
            compared = [arm.name for arm in self.arms if arm.name != self.baseline]
            return self.plan is not None and not self.plan.ends_with(compared)
        again = self.search.confirmation
        is_unconfirmed = again is not None and again.arms is None
        return len(self.search.proposals) < self.search.num_asked or is_unconfirmed

    @property
    def decided_by(self) -> str | None:
        """Hash of all that determines the cells that follow, None if none follow."""
        if self.search:
            return self.search.definition
        return self.plan.definition if self.plan and not self.plan.is_over else None

    @property
    def num_expected(self) -> int:
        """How many cells there will be in the end, at most, as far as it is known."""
        if not self.is_growing:
            return len(self.cells)
        if self.search is None:
            return max(len(self.cells), self.plan.num_cells if self.plan else 0)
        again, num_points = self.search.confirmation, self.search.num_asked + bool(self.search.base)
        num_seeds = len(self.seeds)
        confirmed = again.num_cells(num_points, num_seeds) if again else 0
        return max(len(self.cells), num_points * num_seeds + confirmed)

    @property
    def random_reference(self) -> RandomReference | None:
        """The random points that a search is held against, None where that is not asked for."""
        again = self.search.confirmation if self.search else None
        return again.random if again else None

    @property
    def drawn(self) -> tuple[Proposal, ...]:
        """Random points that a search is held against, none of which it proposed."""
        return self.random_reference.draws if self.random_reference else ()

    def proposed_cells(self) -> tuple[ManifestCell, ...]:
        """Return the cells but those in which a search's best are confirmed or held to random."""
        if not self.search:
            return self.cells
        seeds, drawn = {*self.seeds}, {proposal.arm for proposal in self.drawn}
        return tuple(cell for cell in self.cells if cell.seed in seeds and cell.arm not in drawn)

    @property
    def choosing_seeds(self) -> tuple[int, ...]:
        """Those of the trials that a plan has only to choose by; none of a search's."""
        return self.plan.choosing_seeds if self.plan else ()

    @property
    def seeds_that_choose(self) -> frozenset[int]:
        """Those whose trials choose arms: a search's own, and those that a plan only chooses by."""
        return frozenset(self.seeds if self.search else self.choosing_seeds)

    def compared(self) -> Self:
        """Return it without the trials that a plan has only to choose by, and arms of no others.

        All of it where nothing is chosen so. The baseline is there once it is chosen.
        """
        if not self.choosing_seeds:
            return self
        cells = tuple(cell for cell in self.cells if cell.seed not in {*self.choosing_seeds})
        names = {cell.arm for cell in cells}
        arms = tuple(arm for arm in self.arms if arm.name in names)
        return self.model_copy(update={"arms": arms, "cells": cells})

    @property
    def is_choosing(self) -> bool:
        """Whether there is nothing to compare yet, as the plan has still to choose it."""
        return bool(self.choosing_seeds) and not self.compared().arms

    @property
    def num_splits(self) -> int:
        """How many splits the seeds are dealt to, 0 where all have that of the arms' configs."""
        return len({*self.splits.values()})

    def config_of(self, arm: ManifestArm, seed: int) -> Json:
        """Return the config that an arm is trained with on a seed."""
        return on_split(arm.config, self.splits.get(seed))

    def cell_keys(self) -> dict[tuple[str, int], str]:
        """Return the trial key of each place, (arm, seed) -> key."""
        return {(cell.arm, cell.seed): cell.trial_key for cell in self.cells}
