"""The answers of `--json`: their shapes, filled by name from the values that they show.

Each answer names its shape in `format`. The number behind it rises when a field is removed or
changes its meaning; a field may be added without. NaN and infinities are the texts "NaN",
"Infinity" and "-Infinity", as JSON has no such numbers. docs/json.md is made from this file.
"""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """A frozen value that JSON can hold."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        from_attributes=True,
        ser_json_inf_nan="strings",
        use_attribute_docstrings=True,
    )

    @classmethod
    def of(cls, *sources: object, **values: object) -> Self:
        """Fill the fields by name.

        Args:
            sources: Their attributes fill the fields; the first one that has it counts.
            values: Fields that no source has, or that differ from it.
        """
        fields = dict(values)
        for name in cls.model_fields.keys() - fields.keys():
            for source in sources:
                if hasattr(source, name):
                    fields[name] = getattr(source, name)
                    break
        return cls.model_validate(fields)


class ShippedSweep(Shape):
    """A sweep that comes with capsweep."""

    name: str
    """What `capsweep run` takes."""
    asks: str
    """What it asks, in a sentence."""


class ListAnswer(Shape):
    """`capsweep list`."""

    format: Literal["capsweep.list/1"] = "capsweep.list/1"
    sweeps: tuple[ShippedSweep, ...]
    """By name."""


class PlannedArm(Shape):
    """An arm of a sweep before a launch."""

    arm: str
    """Its name."""
    is_baseline: bool
    """Whether the others are compared with it."""
    num_parameters: int
    """Of its network."""
    epochs: int
    """Of a full training."""
    seeds_there: tuple[int, ...]
    """Those whose cells are filled."""
    seeds_to_train: tuple[int, ...]
    """Those whose cells are empty."""


class PlannedCell(Shape):
    """A cell before a launch."""

    arm: str
    """Its arm."""
    seed: int
    """Its seed."""
    trial_key: str
    """Of the trial that fills it."""
    state: str
    """recorded, to record, stopped early, new, unfinished, waiting or failed before."""
    epochs: int
    """Trained so far."""
    reason: str
    """Why it failed before, "" where it did not."""


class ExpectedCells(Shape):
    """How many cells of one kind there will be."""

    what: str
    """What they are: cells, proposals, confirmation trainings, and others."""
    num_cells: int
    """How many, at most."""


class PlannedDisk(Shape):
    """Room on the disk of the storage folder, in bytes."""

    kept_bytes: int
    """What stays of the cells that are to be filled."""
    most_bytes: int
    """What is taken at once, with checkpoints, at most."""
    free_bytes: int
    """What there is."""


class PlanAnswer(Shape):
    """`capsweep plan`."""

    format: Literal["capsweep.plan/1"] = "capsweep.plan/1"
    sweep: str
    """Its name."""
    kind: Literal["design", "search", "tuned"]
    """A design, a search, or a design whose arms are tuned first."""
    num_cells: int
    """All cells there will be in the end, at most."""
    expected: tuple[ExpectedCells, ...]
    """What these are made of."""
    counts: dict[str, int]
    """State -> number of the cells that are known by now."""
    arms: tuple[PlannedArm, ...]
    """Those that are known by now: of a search what it has proposed."""
    cells: tuple[PlannedCell, ...]
    """Those that are known by now."""
    refusal: str | None
    """Why `run` would refuse it; null where it would not."""
    gpus_per_trial: float
    """What each trial would get."""
    num_concurrent: int
    """Trials at once."""
    estimate_seconds: float | None
    """Of the launch; null where nothing like it was trained yet."""
    disk: PlannedDisk
    """Room that it takes."""


class FailedCell(Shape):
    """A cell that stayed empty, as its trial raised."""

    arm: str
    """Its arm."""
    seed: int
    """Its seed."""
    reason: str
    """What was raised, in a line."""
    log: str
    """Path of the trial's log, which holds the traceback."""


class RunAnswer(Shape):
    """`capsweep run`, when it has ended. What it tells on its way is on standard error."""

    format: Literal["capsweep.run/1"] = "capsweep.run/1"
    sweep: str
    """Its name."""
    exit_code: int
    """0: every cell is filled and recorded. 3: not. 130: it was interrupted."""
    num_cells: int
    """All cells of the sweep."""
    num_filled: int
    """Those that hold a result."""
    num_trained: int
    """Those that this launch filled."""
    is_recorded: bool
    """Whether the tracking store has everything."""
    complaint: str
    """Why it has not, "" where it has."""
    failures: tuple[FailedCell, ...]
    """Trials that raised."""
    told: tuple[str, ...]
    """What else is told of training, evaluations and weights, a sentence each."""
    files: tuple[str, ...]
    """Paths of the report's files; none where it was interrupted."""
    go_on_with: str | None
    """The command that goes on with it; null where nothing is left."""


class LastLaunch(Shape):
    """The last launch of a sweep from this storage folder."""

    started_at: float
    """Seconds since 1970."""
    ended_at: float | None
    """Seconds since 1970; null where it runs or was killed."""
    exit_code: int | None
    """null where it runs or was killed."""


class CellStanding(Shape):
    """A cell and how far it is."""

    arm: str
    """Its arm."""
    seed: int
    """Its seed."""
    trial_key: str
    """Of the trial that fills it."""
    state: str
    """finished, pruned, diverged, failed, running, waiting, interrupted or missing."""
    epoch: int
    """Trained so far."""
    reason: str
    """Why it did not finish, "" where it did."""


class StatusAnswer(Shape):
    """`capsweep status NAME`."""

    format: Literal["capsweep.status/1"] = "capsweep.status/1"
    sweep: str
    """Its name."""
    counts: dict[str, int]
    """State -> number of cells."""
    cells: tuple[CellStanding, ...]
    """All that are known by now."""
    evaluations: dict[str, int]
    """Where the evaluations of finished trials stand (recorded, to record, to make, not available)
    -> how many."""
    is_recorded: bool
    """Whether every filled cell's record is in the tracking store."""
    ending: str
    """How a search ended before all its proposals were made, "" where it did not."""
    last_launch: LastLaunch | None
    """null where there was none from this storage folder."""
    is_running: bool
    """Whether a process runs it now from this storage folder."""


class ListedSweep(Shape):
    """A launched sweep."""

    sweep: str
    """Its name."""
    state: str
    """running, complete, failed (a trial raised), interrupted (or killed), incomplete, elsewhere
    (incomplete, and launched from another storage folder) or unreadable."""
    num_filled: int
    """Cells that hold a result."""
    num_cells: int
    """All there will be in the end, at most."""
    num_failed: int
    """Cells whose trial raised."""
    num_bytes: int | None
    """What its cells and their records take on this disk, also where another sweep has them too;
    null where nothing of it lies here."""
    last_at: float | None
    """When it was last updated, seconds since 1970; null where that is not known."""
    complaint: str
    """Why it cannot be read, "" where it can."""


class SweepsAnswer(Shape):
    """`capsweep status` without a name."""

    format: Literal["capsweep.sweeps/1"] = "capsweep.sweeps/1"
    sweeps: tuple[ListedSweep, ...]
    """The last updated first."""


class BestTrial(Shape):
    """A finished trial of an arm, without test values."""

    trial_key: str
    """What `capsweep show` takes."""
    seed: int
    """Its seed."""
    validation_error: float
    """After its last epoch, a fraction."""


class BestArm(Shape):
    """An arm with its place among the others."""

    rank: int
    """From 1."""
    arm: str
    """Its name."""
    is_confirmed: bool
    """Whether the seeds had no part in finding it."""
    value: float | None
    """Mean of the metric over seeds."""
    low: float | None
    """Lower end of its 95 % interval over seeds; null of fewer than two."""
    high: float | None
    """Upper end, likewise."""
    values: tuple[float, ...]
    """Of each finished trial."""
    num_planned: int
    """Trials that the sweep plans of the arm on those seeds."""
    chance_of_best: float | None
    """How often it would stand first, were seeds and images drawn anew; null where not known."""
    may_be_best: bool | None
    """Whether it cannot be told from the first; null where not known."""
    num_parameters: int | None
    """What it costs, of a search that minds it; null of others."""
    settings: dict[str, Any]
    """What it has of the settings that the sweep varies, path -> value."""
    trials: tuple[BestTrial, ...]
    """Its finished trials, the lowest validation error first."""
    config: dict[str, Any]
    """Its full training config, without the seed."""


class BestAnswer(Shape):
    """`capsweep best NAME`."""

    format: Literal["capsweep.best/1"] = "capsweep.best/1"
    sweep: str
    """Its name."""
    metric: str | None
    """What ranks; null where no trial has finished."""
    unit: str | None
    """Of the metric: fraction, nats, count or seconds; null where it has none."""
    arms: tuple[BestArm, ...]
    """The best first."""
    notes: tuple[str, ...]
    """How they were ranked and how sure the places are, a sentence each."""


class Epoch(Shape):
    """An epoch of a trial."""

    epoch: int
    """From 1."""
    train_loss: float
    """Mean over the training images."""
    validation_loss: float
    """Mean over the validation images."""
    validation_error: float
    """A fraction."""


class Evaluated(Shape):
    """What an evaluation found of a trained network."""

    key: str
    """Of the evaluation."""
    kind: str | None
    """null where its file is gone."""
    settings: dict[str, Any]
    """Of the evaluation."""
    metrics: dict[str, float]
    """Name -> value."""


class ShowAnswer(Shape):
    """`capsweep show TRIAL`."""

    format: Literal["capsweep.show/1"] = "capsweep.show/1"
    trial_key: str
    """The trial's."""
    record_id: str
    """MLflow's run."""
    sweep: str
    """The sweep that trained it first."""
    arm: str
    """Its arm there."""
    seed: int
    """Its seed."""
    outcome: str
    """finished, diverged, failed, pruned, interrupted or running."""
    reason: str
    """Why it did not finish, "" where it did."""
    target: str | None
    """Whether it reached what its stopping asks for; null where that is nothing, or not known."""
    warnings: tuple[str, ...]
    """What was found unsound in it."""
    metrics: dict[str, float]
    """Name -> value. Errors are fractions."""
    duration_seconds: float | None
    """Of its training; null where that is not told."""
    curve: tuple[Epoch, ...]
    """Its epochs in order."""
    evaluations: tuple[Evaluated, ...]
    """What was found of its network after training."""
    weights: str | None
    """Where its weights lie; null where none are kept."""
    config: dict[str, Any]
    """Its full training config."""


class PicturesAnswer(Shape):
    """`capsweep show TRIAL --pictures`."""

    format: Literal["capsweep.pictures/1"] = "capsweep.pictures/1"
    files: tuple[str, ...]
    """Paths of what was drawn."""
    left_out: tuple[str, ...]
    """Why others were not, a sentence each."""


class DiffRow(Shape):
    """Something that both may have."""

    part: str
    """setting (it differs), circumstance (data, code or machine, and it differs) or result (told
    also where both have the same)."""
    name: str
    """A setting's path; what else it is called."""
    first: str | int | float | bool | None
    """Of the first one, errors as fractions; null where it has none such."""
    second: str | int | float | bool | None
    """Of the second one, likewise."""
    difference: float | None
    """The second less the first, of two finite values of a metric: it is no test."""
    unit: str | None
    """Of a metric: fraction, nats, count or seconds; null of what has none."""


class DiffAnswer(Shape):
    """`capsweep diff A B`."""

    format: Literal["capsweep.diff/1"] = "capsweep.diff/1"
    kind: str
    """trials or sweeps."""
    first: str
    """The first one's trial key, or name."""
    second: str
    """The second one's."""
    rows: tuple[DiffRow, ...]
    """Settings that differ, then circumstances that do, then results."""


class ErrorAnswer(Shape):
    """Any command that could not do what it was asked: the sentence that is told without `--json`.

    It stands on standard output, and the exit code is the same as without `--json`.
    """

    format: Literal["capsweep.error/1"] = "capsweep.error/1"
    error: str
    """What is wrong, what was given, what is allowed, what to do."""
    exit_code: int
    """2 for bad input, 3 where a store or a disk failed, 130 where it was interrupted."""
