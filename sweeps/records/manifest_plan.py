"""How a sweep's manifest says what its plan varies, and what it has proposed or chosen so far."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from sweeps.records.bounds import MOST_ARMS, Bounded, Count, Finite, Json, Whole
from sweeps.records.bounds import Plain as Plain
from sweeps.records.trial_record import Text

Line = Annotated[str, StringConstraints(max_length=2000)]
Seeds = Annotated[tuple[Whole, ...], Field(min_length=1, max_length=100_000)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ManifestDimension(_Frozen):
    """One setting that a search varies, over which values.

    Attributes:
        name: The setting with the chosen kinds on its path: `model.routing[dynamic].iterations`.
        path: The setting alone: `model.routing.iterations`.
        low: Of a range of numbers, as `high`, `step` and `log`.
        choices: Of a list of values.
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


class Proposal(_Frozen):
    """One arm that a search proposed.

    Attributes:
        number: From 0, in the order in which they were proposed.
        params: Dimension name -> value, of those dimensions that are there.
    """

    number: Count
    arm: Text
    params: Annotated[dict[Line, Plain], Field(max_length=1000)]


class Confirmation(_Frozen):
    """The best arms of a search, run again on fresh seeds.

    Attributes:
        best: How many are.
        arms: Which, the best first; None before the search has ended. Empty where no proposal ran
            to full length, so that there is nothing to confirm.
        reference: The arm that was the median of the first proposals that ran to full length:
            what a middling choice at random gives. None where there is no such.
    """

    best: Annotated[int, Field(ge=1, le=MOST_ARMS)]
    seeds: Seeds
    arms: Annotated[tuple[Text, ...], Field(max_length=MOST_ARMS)] | None = None
    reference: Text | None = None


class ManifestSearch(_Frozen):
    """What a search varies, how it proposes, and what it has proposed.

    Attributes:
        objective: The epoch metric that proposals are chosen by, mean over the seeds.
        definition: Hash of all that decides proposals: space, base, sampler, scheduler, seeds.
        sampler: Its name.
        scheduler: Its name and settings.
        num_trials: Proposals in all.
        num_startup: Proposals that are random because there is nothing to learn from yet.
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

    @field_validator("scheduler")
    @classmethod
    def _it_has_a_name(cls, scheduler: Json) -> Json:
        if not isinstance(scheduler.get("kind"), str):
            raise ValueError("the scheduler has no kind")
        return scheduler


class ManifestPlan(_Frozen):
    """A plan of a user's own, from the sweep's file.

    Attributes:
        kind: What it calls itself.
        definition: Hash of all that decides its cells: its code and settings, base and seeds.
        is_over: Whether no cells follow those that are there.
        chosen: Arms that it has chosen, the best first; None before it has.
        factors: What it varies, path -> levels; empty where it does not say.
        objectives: Epoch metrics that it wants small.
    """

    kind: Text
    definition: Line
    is_over: bool = False
    chosen: Annotated[tuple[Text, ...], Field(max_length=MOST_ARMS)] | None = None
    factors: Annotated[dict[Line, tuple[Bounded, ...]], Field(max_length=1000)] = {}
    objectives: Annotated[tuple[Text, ...], Field(max_length=1000)] = ()


class ManifestDesign(_Frozen):
    """A design of factors.

    Attributes:
        kind: Of its plan.
        factors: Path -> levels.
        same: Name of an arm -> names of rows that came out as the same configuration.
    """

    kind: Text
    factors: Annotated[dict[Line, tuple[Bounded, ...]], Field(max_length=1000)] = {}
    same: Annotated[dict[Line, tuple[Line, ...]], Field(max_length=MOST_ARMS)] = {}
