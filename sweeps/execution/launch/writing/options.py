"""The options of `ablate`, `confirm` and `grid`."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from capsmodel.stopping import MOST_EPOCHS

_Seeds = tuple[Annotated[int, Field(strict=True)], ...] | None
_MOST_SEEDS = 1000
_OUT: Any = Field(default=None, description="File to write [default: NAME.py].")
_STORAGE: Any = Field(default=None, description="Storage folder [default: ./capsweep-store].")
_TRACKING_URI: Any = Field(
    default=None,
    description="MLflow tracking store [default: the SQLite file in the storage folder].",
)


class AblateOptions(BaseModel):
    """The options of `ablate` besides its search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: str | None = Field(
        default=None,
        description="Arm of the search at which the path ends [default: its first choice].",
    )
    seeds: _Seeds = Field(
        default=None,
        description="List or ranges, 0,1,2 or 0-4 [default: the confirmation's, else fresh ones].",
    )
    name: str | None = Field(default=None, description="Name of the sweep [default: SEARCH_path].")
    out: str | None = _OUT
    storage: str | Path | None = _STORAGE
    tracking_uri: str | None = _TRACKING_URI


class ConfirmOptions(BaseModel):
    """The options of `confirm` besides its sweep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: str | None = Field(
        default=None, description="Arm to train [default: the best by validation]."
    )
    epochs: Annotated[int, Field(ge=1, le=MOST_EPOCHS)] | None = Field(
        default=None, description="Epochs of a full training [default: those of the arm]."
    )
    seeds: Annotated[int, Field(ge=1, le=_MOST_SEEDS)] = Field(
        default=5, description="Number of seeds, all fresh."
    )
    name: str | None = Field(
        default=None, description="Name of the new sweep [default: SWEEP_confirm]."
    )
    out: str | None = _OUT
    storage: str | Path | None = _STORAGE
    tracking_uri: str | None = _TRACKING_URI


class GridOptions(BaseModel):
    """The options of `grid` besides its base and its factors.

    Attributes:
        settings: Path -> value, applied to the base.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    design: Literal["full", "one_factor", "fractional", "plackett_burman"] = Field(
        default="full",
        description="All combinations, one change at a time, a fraction, or a screening design.",
    )
    resolution: Annotated[int, Field(ge=3)] | None = Field(
        default=None, description="Minimum resolution of a fraction [default: 4]."
    )
    skip_unbuildable: bool = Field(
        default=False,
        description="Leave out combinations whose network cannot be built, of a full design.",
    )
    seeds: _Seeds = Field(default=None, description="List or ranges, 0,1,2 or 0-4 [default: 0-4].")
    name: str | None = Field(
        default=None, description="Name of the sweep [default: base and factors]."
    )
    out: str | None = _OUT
    settings: dict[str, Any] | None = Field(
        default=None, description="Change a setting of the base."
    )
    storage: str | Path | None = _STORAGE
    tracking_uri: str | None = _TRACKING_URI


FileOptions = AblateOptions | ConfirmOptions | GridOptions
"""The options of a command that writes a sweep's file."""
