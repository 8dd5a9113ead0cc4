"""The changes that a launch may make to its sweep."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from sweeps.records.labels import Note, Tags

if TYPE_CHECKING:
    Seeds = Sequence[int]  # what a tuple is made of
else:
    Seeds = tuple[Annotated[int, Field(strict=True)], ...]


class Changes(BaseModel):
    """The changes of a launch to its sweep; None means no change.

    The options of the command line are made of these fields and their descriptions.

    Attributes:
        tags: In place of the sweep's.
        note: Likewise.
        settings: Path -> value, applied to the base before the arms are built.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = Field(default=None, description="Record it under this name.")
    seeds: Seeds | None = Field(
        default=None,
        description="Seeds in place of the sweep's: a list or ranges, 0,1,2 or 0-4.",
    )
    add_seeds: Seeds | None = Field(
        default=None, description="Seeds to add to those of the launched sweep: 3,4 or 3-7."
    )
    epochs: int | None = Field(
        default=None,
        description="Epochs of a full training: stopping.epochs, or stopping.max_epochs if a "
        "training ends at a target.",
    )
    tags: Tags | None = Field(
        default=None,
        description="Tag of the sweep, for status, report and MLflow; repeatable ['': none].",
    )
    note: Note | None = Field(
        default=None, description="Note on the sweep, for status, report and MLflow ['': none]."
    )
    settings: Mapping[str, Any] | None = Field(
        default=None, description="Change a setting of every arm."
    )
    trials: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        default=None, description="Number of a search's proposals."
    )
    sampler: str | None = Field(
        default=None, description="Sampler of a search: tpe, random, gp, nsga2, grid or qmc."
    )
    scheduler: str | None = Field(
        default=None,
        description="Scheduler of a search: none, asha, promotion, hyperband or median.",
    )
    cost: str | None = Field(
        default=None,
        description="What a search wants small beside its objective: num_parameters, or none.",
    )
