"""What the writing of a path can be told, by the command line and from Python alike."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class AblateOptions(BaseModel):
    """What the writing of a path can be told besides its search."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arm: str | None = Field(
        default=None,
        description="Of the search, where the path ends [default: its first choice].",
    )
    seeds: tuple[Annotated[int, Field(strict=True)], ...] | None = Field(
        default=None,
        description="A list and ranges, 0,1,2 or 0-4 [default: of the confirmation, or fresh].",
    )
    name: str | None = Field(default=None, description="Of the sweep [default: SEARCH_path].")
    out: str | None = Field(default=None, description="The file [default: NAME.py].")
    storage: str | Path | None = Field(
        default=None, description="Storage folder [default: ./capsweep-store]."
    )
    tracking_uri: str | None = Field(
        default=None,
        description="MLflow tracking store [default: the SQLite file in the storage folder].",
    )
