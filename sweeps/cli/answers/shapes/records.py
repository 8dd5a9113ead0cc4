"""The answers of commands that read what launches have left: status, best, show and diff."""

from typing import Any, Literal

from sweeps.cli.answers.shapes.shape import Shape


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
    """When anything was last told of it, seconds since 1970; null where that is not known."""
    complaint: str
    """Why it cannot be read, "" where it can."""


class SweepsAnswer(Shape):
    """`capsweep status` without a name."""

    format: Literal["capsweep.sweeps/1"] = "capsweep.sweeps/1"
    sweeps: tuple[ListedSweep, ...]
    """The last told of first."""


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
