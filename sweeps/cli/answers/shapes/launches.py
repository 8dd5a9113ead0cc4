"""The answers of commands that can launch: list, plan and run."""

from typing import Literal

from sweeps.cli.answers.shapes.shape import Shape


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
