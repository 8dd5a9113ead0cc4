"""How a sweep's manifest says what its plan varies, and what it has proposed or chosen so far."""

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from capsmodel.settings.parts import later
from search_spaces.looks import Looked, next_looks
from sweeps.records.bounds import MOST_ARMS, MOST_CELLS, Bounded, Count, Finite, Json, Whole
from sweeps.records.bounds import Plain as Plain
from sweeps.records.trial_record import Text, TrialKey

Line = Annotated[str, StringConstraints(max_length=2000)]
Seeds = Annotated[tuple[Whole, ...], Field(min_length=1, max_length=100_000)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestDimension(_Frozen):
    """One setting that a search varies, over which values.

    Attributes:
        name: The setting with the chosen kinds on its path: `model.routing[dynamic].iterations`.
        path: The setting alone: `model.routing.iterations`.
        low: Lower end of a range of numbers; `high`, `step` and `log` belong to a range too.
        choices: Values of a list.
        conditions: Where it is there at all: name of another dimension -> the kind chosen there.
    """

    name: Text
    path: Text
    kind: Literal["ints", "floats", "choices"]
    low: Finite | None = None
    high: Finite | None = None
    step: Annotated[Count, Field(ge=1)] | None = None
    log: bool = False
    choices: Annotated[tuple[Plain, ...], Field(max_length=1000)] = ()
    conditions: Annotated[dict[Line, Line], Field(max_length=100)] = {}

    @model_validator(mode="after")
    def _refuse_no_values(self) -> "ManifestDimension":
        if not (self.choices if self.kind == "choices" else self._has_range()):
            raise ValueError("a dimension has choices, or a range: low to high, above 0 for log")
        return self

    def _has_range(self) -> bool:
        if self.low is None or self.high is None:
            return False
        return self.low <= self.high and not (self.log and self.low <= 0)


class Proposal(_Frozen):
    """One arm that a search proposed.

    Attributes:
        number: From 0, in the order in which they were proposed.
        params: Dimension name -> value, of those dimensions that are there.
    """

    number: Count
    arm: Text
    params: Annotated[dict[Line, Plain], Field(max_length=1000)]


class RandomReference(_Frozen):
    """Random points that a search is held against, trained to their full length on its seeds.

    Attributes:
        seed: What they are drawn by.
        draws: So far.
        best: The arm that is the best of them on validation; None before it is chosen, or where
            none ran to full length.
    """

    seed: Whole
    draws: Annotated[tuple[Proposal, ...], Field(max_length=MOST_ARMS)] = ()
    best: Text | None = None


class Confirmation(_Frozen):
    """The best arms of a search, run again on fresh seeds.

    Attributes:
        best: How many are.
        arms: Which, the best first; None before the search has ended. Empty where no proposal ran
            to full length, so that there is nothing to confirm.
        reference: The arm that they are compared with: the base; None before the search has ended.
        random: What they are held against as well; None where that is not asked for.
    """

    best: Annotated[int, Field(ge=1, le=MOST_ARMS)]
    seeds: Seeds
    arms: Annotated[tuple[Text, ...], Field(max_length=MOST_ARMS)] | None = None
    reference: Text | None = None
    random: RandomReference | None = later(None)

    @property
    def confirmed(self) -> tuple[str, ...]:
        """All arms that are run again: those chosen, and what they are held against."""
        best = self.random.best if self.random else None
        return tuple(dict.fromkeys(filter(None, (*(self.arms or ()), self.reference, best))))

    def num_cells(self, num_points: int, num_seeds: int) -> int:
        """Return how many trainings it will take, as far as it is known before anything is chosen.

        Args:
            num_points: Proposals of the search and the base; random ones are as many where none
                is stopped early.
            num_seeds: Number of seeds of each of them.
        """
        if self.random is None:
            return (self.best + 1) * len(self.seeds)
        num_drawn = max(num_points, len(self.random.draws))
        return (self.best + 2) * len(self.seeds) + num_drawn * num_seeds


class Ended(_Frozen):
    """Why a search proposes no more, before it has made all its proposals.

    Attributes:
        reason: In words.
        until: The ends that it had.
    """

    reason: Line
    until: Line


class ManifestWarmStart(_Frozen):
    """Points of another sweep that a search proposes first.

    Attributes:
        sweep: Which.
        points: The best first, dimension -> value.
        num_fitting: How many of that sweep are points of the space at all.
    """

    sweep: Text
    points: Annotated[
        tuple[Annotated[dict[Line, Plain], Field(max_length=1000)], ...],
        Field(min_length=1, max_length=1000),
    ]
    num_fitting: Count


class ManifestUnbuildable(_Frozen):
    """How many points of a search's space have a network that cannot be built.

    Attributes:
        number: Number of such points.
        num_tried: Number of points that were tried: all of a small space.
        reason: Why the network of the first one cannot be built.
    """

    number: Annotated[Count, Field(ge=1)]
    num_tried: Count
    reason: Line


class ManifestSearch(_Frozen):
    """What a search varies, how it proposes, and what it has proposed.

    Attributes:
        objective: The epoch metric that proposals are chosen by, mean over the seeds.
        definition: Hash of all that decides proposals: space, base, sampler, scheduler, seeds.
        sampler: Its name.
        scheduler: Its name and settings.
        num_trials: Proposals in all.
        num_startup: Proposals that are random because there is nothing to learn from yet.
        base: The arm that proposals change; "" where it is not trained.
        rules: Which release's rules it goes by.
        until: The ends that it has, in words; "" where it makes all its proposals.
        ended: None where no end has come.
        limits: What every proposal keeps, in words.
        cost: What is to be small beside the objective, "" where nothing is.
        warm_start: None where it begins with what its sampler says.
        unbuildable: None where every tried point has a network that can be built.
        cut_at: Numbers of proposals that the log still had when it was found to have lost its end.
        forbidden: Combinations of values that are never proposed, in words.
        balance: Whether proposals that are drawn blindly have each kind of a part in its share.
        measured_limits: Largest values of what trials measure, by their names; a proposal
            with a trial beyond one is no candidate for the best.
        measured: Trial key -> what the trial has measured of these.
    """

    objective: Text
    definition: Line
    sampler: Line
    scheduler: Json
    num_trials: Annotated[int, Field(ge=1, le=MOST_ARMS)]
    num_startup: Annotated[int, Field(ge=0, le=MOST_ARMS)] = 10
    dimensions: Annotated[tuple[ManifestDimension, ...], Field(min_length=1, max_length=1000)]
    proposals: Annotated[tuple[Proposal, ...], Field(max_length=MOST_ARMS)] = ()
    confirmation: Confirmation | None = None
    base: Annotated[str, StringConstraints(max_length=200)] = later("")
    rules: Annotated[int, Field(ge=1, le=1000)] = later(1)
    until: Annotated[str, StringConstraints(max_length=2000)] = later("")
    ended: Ended | None = later(None)
    warm_start: ManifestWarmStart | None = later(None)
    limits: Annotated[tuple[Line, ...], Field(max_length=100)] = later(())
    cost: Literal["", "num_parameters"] = later("")
    unbuildable: ManifestUnbuildable | None = later(None)
    cut_at: Annotated[tuple[Count, ...], Field(max_length=MOST_ARMS)] = later(())
    balance: bool = later(False)
    forbidden: Annotated[tuple[Line, ...], Field(max_length=1000)] = later(())
    measured_limits: Annotated[dict[Line, Finite], Field(max_length=100)] = later({})
    measured: Annotated[
        dict[TrialKey, Annotated[dict[Line, Finite], Field(max_length=100)]],
        Field(max_length=MOST_CELLS),
    ] = later({})

    @field_validator("scheduler")
    @classmethod
    def _it_has_a_name(cls, scheduler: Json) -> Json:
        if not isinstance(scheduler.get("kind"), str):
            raise ValueError("the scheduler has no kind")
        return scheduler

    @property
    def num_asked(self) -> int:
        """How many proposals there will be in all, as far as it is known."""
        return len(self.proposals) if self.ended else self.num_trials

    @property
    def forbidden_note(self) -> str:
        """What is never proposed, in a sentence, "" where nothing is forbidden."""
        return f"Never proposed: {'; '.join(self.forbidden)}." if self.forbidden else ""

    @property
    def measured_limits_note(self) -> str:
        """What becomes of proposals beyond a limit on what is measured, "" without such limits."""
        if not self.measured_limits:
            return ""
        limits = [
            f"{name} at most {at_most:.10g}" for name, at_most in self.measured_limits.items()
        ]
        return (
            f"A proposal is no candidate for the best if one of its trials measures more than the "
            f"search allows: {', '.join(limits)}."
        )

    def broken_limits(self, trial_keys: Iterable[str]) -> tuple[str, ...]:
        """Return which measured limits a finished proposal does not keep, in words.

        Nothing shows that a trial that has not measured it keeps a limit.

        Args:
            trial_keys: Those of the proposal, all finished.
        """
        values = [self.measured.get(key, {}) for key in trial_keys]
        broken: list[str] = []
        for name, at_most in self.measured_limits.items():
            if any(of_trial.get(name, at_most) > at_most for of_trial in values):
                broken.append(name)
            elif any(name not in of_trial for of_trial in values):
                broken.append(f"{name} not measured")
        return tuple(broken)

    @property
    def unbuildable_note(self) -> str:
        """How many points cannot be built, in a sentence, "" where all tried ones can."""
        if self.unbuildable is None:
            return ""
        return (
            f"Of {self.unbuildable.num_tried} points of the space, {self.unbuildable.number} have "
            f"a network that cannot be built; such points are never proposed. The first reason: "
            f"{self.unbuildable.reason}"
        )

    @property
    def cut_note(self) -> str:
        """What its log has lost, in a sentence, "" where it has lost nothing."""
        if not self.cut_at:
            return ""
        places = " and ".join(f"proposal {number}" for number in sorted({*self.cut_at}))
        return (
            f"The log of the search was cut before {places}: later proposals were taken from the "
            f"folders of their trials, and decisions on them were made again."
        )

    @property
    def beginning(self) -> str:
        """How it begins with points of another sweep, "" where it does not."""
        if self.warm_start is None:
            return ""
        warm = self.warm_start
        fit = "point fits" if warm.num_fitting == 1 else "points fit"
        best = "best is" if len(warm.points) == 1 else f"best {len(warm.points)} are"
        return (
            f"starts warm from '{warm.sweep}', of which {warm.num_fitting} {fit} its space: the "
            f"{best} proposed first"
        )

    @property
    def ending(self) -> str:
        """How it ended before all its proposals were made, "" where it did not."""
        if self.ended is None:
            return ""
        made = f"{len(self.proposals)} of {self.num_trials}"
        return f"ended after {made} proposals: {self.ended.reason}"


class ManifestPlan(_Frozen):
    """A plan that says while its sweep runs which cells follow: a user's own, or one that chooses.

    Attributes:
        kind: What it calls itself.
        definition: Hash of all that decides its cells: its code and settings, base and seeds.
        is_over: Whether no cells follow those that are there.
        chosen: Arms that it has chosen, the best first; None before it has.
        factors: What it varies, path -> levels; empty where it does not say.
        objectives: Epoch metrics that it wants small.
        choosing_seeds: Cells with these are trained only to choose by, and are no part of what is
            compared; empty where nothing is chosen so.
        tuned: Arm that is compared -> arms of which one is chosen to be it; empty where none are.
        adds_up: Whether each arm that it has chosen has one change more than that before it.
        num_cells: How many there will be in the end, at most; 0 where that is not known.
        seeds_at_looks: Numbers of seeds at which verdicts are taken, and decided arms get no more;
            empty where all arms have all seeds.
        looked: The looks so far.
        judged_by: Key of the evaluation whose primary figure looks judge; "" for the test error.
        num_data_sets: Over which the verdicts of looks hold together; each is a sweep of its own.
    """

    kind: Text
    definition: Line
    is_over: bool = False
    chosen: Annotated[tuple[Text, ...], Field(max_length=MOST_ARMS)] | None = None
    factors: Annotated[dict[Line, tuple[Bounded, ...]], Field(max_length=1000)] = {}
    objectives: Annotated[tuple[Text, ...], Field(max_length=1000)] = ()
    choosing_seeds: Annotated[tuple[Whole, ...], Field(max_length=100_000)] = later(())
    tuned: Annotated[dict[Line, tuple[Line, ...]], Field(max_length=MOST_ARMS)] = later({})
    adds_up: bool = later(False)
    num_cells: Count = later(0)
    seeds_at_looks: Annotated[tuple[Count, ...], Field(max_length=1000)] = later(())
    looked: Annotated[tuple[Looked, ...], Field(max_length=MOST_ARMS)] = later(())
    judged_by: str = later("")
    num_data_sets: Annotated[Count, Field(ge=1)] = later(1)

    def ends_with(self, arms: Collection[str]) -> bool:
        """Return whether no cells follow those that are there.

        Args:
            arms: All but the baseline.
        """
        if self.seeds_at_looks:
            return not next_looks(arms, self.seeds_at_looks, self.looked)
        return self.is_over


class ManifestDesign(_Frozen):
    """A design of factors.

    Attributes:
        kind: Kind of its plan.
        factors: Path -> levels.
        same: Name of an arm -> names of rows that came out as the same configuration.
        generators: How a fraction was made, "D=AB", its factors lettered in their order without I.
        resolution: Resolution of a fraction or a screen: the fewest factors of a product that is
            constant. At 3 a main effect is mixed with interactions of two others, at 4 these with
            each other. None where nothing is mixed.
        aliases: Effect -> the main effects and interactions of two factors that it cannot be told
            from: `{"a": ("b x c",)}`, by the paths of the factors in their order.
        is_partly_aliased: Whether some aliases enter an effect with a part of theirs, not whole, as
            in a screen of Plackett and Burman. An interaction then lists no other interaction that
            it shares but a part with.
        components: Name of an arm -> the components that it has, of a design that is made of such.
        left_out: Name of an arm that the design does without -> why its network cannot be built.
    """

    kind: Text
    factors: Annotated[dict[Line, tuple[Bounded, ...]], Field(max_length=1000)] = {}
    same: Annotated[dict[Line, tuple[Line, ...]], Field(max_length=MOST_ARMS)] = {}
    generators: Annotated[tuple[Line, ...], Field(max_length=1000)] = later(())
    resolution: Count | None = later(None)
    aliases: Annotated[dict[Line, tuple[Line, ...]], Field(max_length=MOST_ARMS)] = later({})
    is_partly_aliased: bool = later(False)
    components: Annotated[dict[Line, tuple[Line, ...]], Field(max_length=MOST_ARMS)] = later({})
    left_out: Annotated[dict[Line, Line], Field(max_length=MOST_ARMS)] = later({})
