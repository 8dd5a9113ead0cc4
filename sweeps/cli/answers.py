"""The answers of `--json`: their shapes, which hold values as they are or are filled by name.

Each answer names its shape in `format`. The number behind it rises when a field is removed or
changes its meaning; a field may be added without. NaN and infinities are the texts "NaN",
"Infinity" and "-Infinity", as JSON has no such numbers. docs/json.md is made from this file.
"""

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from sweeps.execution.survey.surveyed_cells import CellStatus, SurveyedCell
from sweeps.records.trial_record import TrialRecord


class Shape(BaseModel):
    """A frozen value that JSON can hold."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        from_attributes=True,
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
    """Sorted by name."""


class PlannedArm(Shape):
    """An arm of a sweep before a launch."""

    arm: str
    """Its name."""
    is_baseline: bool
    """Whether the others are compared with it."""
    num_parameters: int
    """Number of parameters of its network."""
    epochs: int
    """Epochs of a full training."""
    seeds_there: tuple[int, ...]
    """Seeds whose cells are filled."""
    seeds_to_train: tuple[int, ...]
    """Seeds whose cells are empty."""


class ExpectedCells(Shape):
    """How many cells of one kind there will be."""

    what: str
    """The kind: cells, proposals, confirmation trainings, and others."""
    num_cells: int
    """Maximum number of them."""


class PlannedDisk(Shape):
    """Space on the disk of the storage folder, in bytes."""

    kept_bytes: int
    """What the cells to be filled will keep."""
    state_bytes: int
    """What will be kept so that longer trainings can go on from these."""
    most_bytes: int
    """The maximum at any time, with checkpoints."""
    free_bytes: int
    """Free space now."""


class PlannedUnbuildable(Shape):
    """What is not trained, as its network cannot be built."""

    number: int
    """Number of combinations that a design leaves out, or of such points of a search's space."""
    num_tried: int
    """Number of combinations, or of points of the space that were tried."""
    reason: str
    """Why the first of them cannot be built."""


class PlannedSetting(Shape):
    """A setting that a search varies."""

    setting: str
    """Its name, with the chosen kinds on its path."""
    expected_trials: float
    """Expected number of proposals that have it, of those from which importances are estimated."""
    needed_trials: int
    """Number of them that a verdict on it needs."""


class PlannedSettings(Shape):
    """The rows of a search's sensitivity table before a launch."""

    settings: tuple[PlannedSetting, ...]
    """The settings, in the order of the space."""
    num_trials: int | None
    """`--trials` with which each setting is expected to have enough; null if no number suffices."""
    startup: int | None
    """`Search(startup=...)` that each setting needs to have enough; null if none is needed."""
    is_chosen: bool
    """Whether proposals count that a sampler chose by results, so that there is no verdict."""


class PlanAnswer(Shape):
    """`capsweep plan`."""

    format: Literal["capsweep.plan/2"] = "capsweep.plan/2"
    sweep: str
    """Its name."""
    kind: Literal["design", "search", "tuned"]
    """A design, a search, or a design whose arms are tuned first."""
    num_cells: int
    """Maximum number of cells in the end."""
    expected: tuple[ExpectedCells, ...]
    """The same number by kind of cell."""
    counts: dict[str, int]
    """State -> number of cells known so far."""
    arms: tuple[PlannedArm, ...]
    """Arms known so far; in a search, its proposals so far."""
    cells: tuple[SurveyedCell, ...]
    """Cells known so far."""
    refusal: str | None
    """Why `run` would refuse it; null if it would not."""
    gpus_per_trial: float | Literal["auto"]
    """GPUs that each trial would get; "auto" where trials share them by the memory they need."""
    num_concurrent: int
    """Number of concurrent trials."""
    estimate_seconds: float | None
    """Estimated duration of the launch; null if nothing similar was trained yet."""
    estimate_source: str
    """What the estimate follows from, in words; empty if there is none or nothing to train."""
    disk: PlannedDisk
    """Disk space that it takes."""
    unbuildable: PlannedUnbuildable | None
    """What is not trained, as its network cannot be built; null if all can."""
    importances: PlannedSettings | None
    """Of a search, how many trials each setting will have, and needs; else null."""
    is_done: bool
    """Whether all is trained, evaluated and recorded, so that `run` only rebuilds the report."""


class PlanAcrossAnswer(Shape):
    """`capsweep plan` of a sweep across data sets."""

    format: Literal["capsweep.plan_across/1"] = "capsweep.plan_across/1"
    sweep: str
    """Its name."""
    data_sets: dict[str, PlanAnswer]
    """Data set -> what `run` would do on it, in the order in which they are trained."""
    estimate_seconds: float | None
    """Estimated duration of the launch; null if that on one data set cannot be estimated."""
    refusal: str | None
    """Why `run` would refuse it; null if it would not."""


class FailedCell(Shape):
    """A cell that stayed empty because its trial raised an error."""

    arm: str
    """Its arm."""
    seed: int
    """Its seed."""
    reason: str
    """The error in one line."""
    log: str
    """Path of the trial's log, which holds the traceback."""


class RunAnswer(Shape):
    """`capsweep run`, when it has ended. Its progress is on standard error."""

    format: Literal["capsweep.run/1"] = "capsweep.run/1"
    sweep: str
    """Its name."""
    exit_code: int
    """0: every cell is filled and recorded. 3: some are not. 130: it was interrupted."""
    num_cells: int
    """All cells of the sweep."""
    num_filled: int
    """Cells that hold a result."""
    num_trained: int
    """Cells that this launch filled."""
    is_recorded: bool
    """Whether the tracking store has everything."""
    complaint: str
    """Why it does not have everything; "" if it does."""
    failures: tuple[FailedCell, ...]
    """Trials that raised an error."""
    told: tuple[str, ...]
    """Further messages on training, evaluations and weights, a sentence each."""
    files: tuple[str, ...]
    """Paths of the report's files; empty if it was interrupted."""
    go_on_with: str | None
    """The command that resumes it; null if nothing is left to do."""


class LastLaunch(Shape):
    """The last launch of a sweep from this storage folder."""

    started_at: float
    """Seconds since 1970."""
    ended_at: float | None
    """Seconds since 1970; null if it is running or was killed."""
    exit_code: int | None
    """null if it is running or was killed."""
    go_on_with: str | None
    """The command that resumes it; null if it is running or ended with exit code 0."""


class StatusAnswer(Shape):
    """`capsweep status NAME`."""

    format: Literal["capsweep.status/2"] = "capsweep.status/2"
    sweep: str
    """Its name."""
    counts: dict[str, int]
    """State -> number of cells."""
    cells: tuple[CellStatus, ...]
    """All cells known so far."""
    evaluations: dict[str, int]
    """State of an evaluation of a finished trial (recorded, to record, to make, not
    available) -> number of evaluations."""
    is_recorded: bool
    """Whether every filled cell's record is in the tracking store."""
    ending: str
    """Why a search ended before all its proposals were made; "" if it did not."""
    last_launch: LastLaunch | None
    """null if there was none from this storage folder."""
    is_running: bool
    """Whether a process is running it now from this storage folder."""
    tags: tuple[str, ...]
    """The tags of its last launch that gave any."""
    note: str
    """The note of its last launch that gave one."""


class ListedSweepAnswer(Shape):
    """A launched sweep."""

    sweep: str
    """Its name."""
    state: str
    """starting (a launch that has no cells yet), running, complete, failed (a trial raised an
    error), interrupted (or killed), incomplete, elsewhere (incomplete, and
    launched from another storage folder) or unreadable."""
    num_filled: int
    """Cells that hold a result."""
    num_cells: int
    """Maximum number of cells in the end."""
    num_failed: int
    """Cells whose trial raised an error."""
    num_bytes: int | None
    """Disk space of its cells and their records here, including those shared with other sweeps;
    null if nothing of it is here."""
    last_at: float | None
    """Time of the last update, seconds since 1970; null if not known."""
    complaint: str
    """Why it cannot be read; "" if it can."""
    tags: tuple[str, ...]
    """The tags of its last launch that gave any."""
    note: str
    """The note of its last launch that gave one."""


class SweepsAnswer(Shape):
    """`capsweep status` without a name."""

    format: Literal["capsweep.sweeps/1"] = "capsweep.sweeps/1"
    sweeps: tuple[ListedSweepAnswer, ...]
    """Sorted by last update, latest first."""


class BestTrial(Shape):
    """A finished trial of an arm, without test values."""

    trial_key: str
    """What `capsweep show` takes."""
    seed: int
    """Its seed."""
    validation_error: float
    """The error after its last epoch, a fraction."""


class BestArmAnswer(Shape):
    """An arm with its rank."""

    data_set: str
    """The data set on which it is ranked; "" if the sweep has one data set."""
    rank: int
    """From 1."""
    arm: str
    """Its name."""
    is_confirmed: bool
    """Whether its seeds had no part in selecting it."""
    value: float | None
    """Mean of the metric over seeds."""
    low: float | None
    """Lower end of its 95 % interval for new seeds and new images; null where it is not known."""
    high: float | None
    """Upper end, likewise."""
    values: tuple[float, ...]
    """The metric of each finished trial."""
    num_planned: int
    """Number of trials that the sweep plans for the arm on those seeds."""
    may_be_best: bool | None
    """Whether it is indistinguishable from the first; null if not known."""
    num_parameters: int | None
    """Its number of parameters, in a search with that cost; null in others."""
    settings: dict[str, Any]
    """Its values of the settings that the sweep varies, path -> value."""
    trials: tuple[BestTrial, ...]
    """Its finished trials, lowest validation error first."""
    config: dict[str, Any]
    """Its full training config, without the seed."""


class BestAnswer(Shape):
    """`capsweep best NAME`."""

    format: Literal["capsweep.best/2"] = "capsweep.best/2"
    sweep: str
    """Its name."""
    metric: str | None
    """The metric that ranks; null if no trial has finished."""
    unit: str | None
    """Unit of the metric: fraction, nats, count or seconds; null if it has none."""
    arms: tuple[BestArmAnswer, ...]
    """Sorted, best first."""
    notes: tuple[str, ...]
    """How they were ranked and how certain the ranks are, a sentence each."""


class Evaluated(Shape):
    """The results of an evaluation of a trained network."""

    key: str
    """Key of the evaluation."""
    kind: str | None
    """null if its file is missing."""
    settings: dict[str, Any]
    """Settings of the evaluation."""
    metrics: dict[str, float]
    """Name -> value."""


class ShowAnswer(Shape):
    """`capsweep show TRIAL`."""

    format: Literal["capsweep.show/2"] = "capsweep.show/2"
    record: TrialRecord
    """What the tracking store holds of it."""
    curve: dict[str, dict[int, float]]
    """Name of a loss or of the validation error -> epoch, from 1 -> value."""
    evaluations: tuple[Evaluated, ...]
    """Results of evaluations of its network after training."""
    weights: str | None
    """Path of its weights; null if they were not kept."""
    config: dict[str, Any]
    """Its full training config."""


class PicturesAnswer(Shape):
    """`capsweep show TRIAL --pictures`."""

    format: Literal["capsweep.pictures/1"] = "capsweep.pictures/1"
    files: tuple[str, ...]
    """Paths of the pictures."""
    left_out: tuple[str, ...]
    """Why other pictures were not drawn, a sentence each."""


class Predicted(Shape):
    """What a network takes an image for."""

    image: str
    """Path of its file."""
    name: str
    """What the class is called that is believed in most; of several classes all, by "and"."""
    beliefs: dict[str, float]
    """Name of each class -> the belief in it, from 0 to 1."""
    pose: list[float] | None
    """Pose of the class that is believed in most; null if the network has no poses."""
    drawn: str | None
    """Path of what the decoder draws from it, with `--out`; else null."""


class PredictAnswer(Shape):
    """`capsweep predict TRIAL IMAGE...`, or with a sweep."""

    format: Literal["capsweep.predict/1"] = "capsweep.predict/1"
    trial_key: str
    """Key of the trial whose network predicts."""
    conversion: str
    """What was changed of the images to make them those of the network, a sentence."""
    images: tuple[Predicted, ...]
    """In the order in which they were given, those of a folder by name."""


class DiffRow(Shape):
    """A setting, circumstance or result of both."""

    part: str
    """setting (it differs), circumstance (data, code or machine, and it differs) or result (also
    if both have the same)."""
    name: str
    """A setting's path, or another name."""
    first: str | int | float | bool | None
    """Value of the first one, errors as fractions; null if it has none."""
    second: str | int | float | bool | None
    """Value of the second one, likewise."""
    difference: float | None
    """The second value minus the first, if both are finite values of a metric; it is not a test."""
    unit: str | None
    """Unit of a metric: fraction, nats, count or seconds; null if it has none."""


class DiffAnswer(Shape):
    """`capsweep diff A B`."""

    format: Literal["capsweep.diff/1"] = "capsweep.diff/1"
    kind: str
    """trials or sweeps."""
    first: str
    """The first one's trial key, or name."""
    second: str
    """The second one's trial key, or name."""
    rows: tuple[DiffRow, ...]
    """Settings that differ, circumstances that differ, then results."""


class ErrorAnswer(Shape):
    """Any command that failed: the sentence that it prints without `--json`.

    It is on standard output, and the exit code is the same as without `--json`.
    """

    format: Literal["capsweep.error/1"] = "capsweep.error/1"
    error: str
    """What is wrong, what was given, what is allowed, what to do."""
    exit_code: int
    """2 for bad input, 3 where a store or a disk failed, 130 where it was interrupted."""
