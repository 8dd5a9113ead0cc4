"""What a launch can be told, by the command line and from Python alike."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sweeps.execution.engine.capacity import Resources
from sweeps.execution.plan.definition import Changes
from sweeps.records.errors import BadInput

_LONGEST_SECONDS = 10_000_000_000  # about as long as a timer of the system may run


class LaunchArguments(TypedDict, total=False):
    """The keyword arguments of `plan` and `run`.

    Attributes:
        name: Of the sweep's records, instead of its own.
        seeds: Instead of the sweep's list.
        add_seeds: Besides those of the current manifest.
        epochs: Of a full training of every arm: short for `settings={"stopping.epochs": epochs}`,
            or for `stopping.max_epochs` where a training may end before, with its target.
        settings: Path -> value, changes to the base of all arms.
        trials: Proposals of a search.
        sampler: Of a search, by its name.
        scheduler: Of a search, by its kind.
        cpus_per_trial: Cores and threads a trial, 1 by default.
        gpus_per_trial: GPUs a trial; 1 by default where Ray sees one, else 0.
        max_concurrent: Trials at once at most; by default as many as fit. On a cluster that grows,
            trials beyond what fits wait for machines.
        gradient_checkpointing: Compute capsule layers anew in the backward pass: less memory for
            more time, and the same results.
        keep_weights: "all", "best:K" or "none": what is kept when the sweep has ended.
        time_limit_seconds: Ends the launch as Ctrl-C does after this time.
        address: Of a running Ray cluster, "auto" for the one on this machine.
        fresh: Put the cells' folders and records aside and train all anew.
        replace: Let the launch drop cells of the sweep's current manifest.
        storage: The storage folder, by default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: The tracking store, by default `CAPSWEEP_TRACKING_URI` or in the storage.
        reports: Where reports/<sweep>/ is written, by default in the current folder.
    """

    name: str | None
    seeds: Sequence[int] | None
    add_seeds: Sequence[int] | None
    epochs: int | None
    settings: dict[str, Any] | None
    trials: int | None
    sampler: str | None
    scheduler: str | None
    cpus_per_trial: int
    gpus_per_trial: float | None
    max_concurrent: int | None
    time_limit_seconds: float | None
    gradient_checkpointing: bool
    keep_weights: str
    address: str | None
    fresh: bool
    replace: bool
    storage: str | Path | None
    tracking_uri: str | None
    reports: str | Path


class LaunchOptions(BaseModel):
    """The same, validated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    seeds: tuple[int, ...] | None = None
    add_seeds: tuple[int, ...] | None = None
    epochs: int | None = None
    settings: dict[str, Any] | None = None
    trials: Annotated[int, Field(ge=1)] | None = None
    sampler: str | None = None
    scheduler: str | None = None
    cpus_per_trial: Annotated[int, Field(ge=1)] = 1
    gpus_per_trial: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    max_concurrent: Annotated[int, Field(ge=1)] | None = None
    time_limit_seconds: Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)] | None = None
    gradient_checkpointing: bool = False
    keep_weights: str = "all"
    address: str | None = None
    fresh: bool = False
    replace: bool = False
    storage: str | Path | None = None
    tracking_uri: str | None = None
    reports: str | Path = "reports"

    @field_validator("gpus_per_trial")
    @classmethod
    def _whole_above_one(cls, gpus: float | None) -> float | None:
        if gpus is not None and gpus > 1 and not gpus.is_integer():
            raise ValueError("above 1 it is a whole number")
        return gpus

    @property
    def changes(self) -> Changes:
        """What changes of the sweep."""
        return Changes(
            name=self.name,
            seeds=self.seeds,
            add_seeds=self.add_seeds,
            settings=self.settings,
            epochs=self.epochs,
            trials=self.trials,
            sampler=self.sampler,
            scheduler=self.scheduler,
        )

    @property
    def resources(self) -> Resources:
        """What each trial is given."""
        return Resources(
            self.cpus_per_trial, self.gpus_per_trial, self.max_concurrent, self.address
        )


def options_of(arguments: LaunchArguments) -> LaunchOptions:
    """Validate a launch's arguments.

    Raises:
        BadInput: In one sentence, naming the first that cannot be.
    """
    from capsmodel.settings.messages import allowed, unknown

    try:
        return LaunchOptions.model_validate(arguments)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        name = str(detail["loc"][0])
        if name not in LaunchOptions.model_fields:
            raise BadInput(unknown("option", name, LaunchOptions.model_fields)) from error
        what = allowed(LaunchOptions.model_fields[name])
        if detail["type"] == "value_error":
            what = str(detail["msg"]).removeprefix("Value error, ")
            raise BadInput(f"{name} is {detail['input']!r}, but {what}.") from error
        raise BadInput(f"{name} must be {what}, got {detail['input']!r}.") from error
