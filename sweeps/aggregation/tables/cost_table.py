"""The cost table: what each arm's trials took, kept apart from what they gave."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum

from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    arm_cell,
    count_cell,
    range_cell,
    text_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arms_as_trained
from sweeps.aggregation.tables.notes import device_of, mixed_features, threads_of
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import duration_text
from sweeps.records.trial_record import Outcome, TrialRecord

_MEBIBYTE = 2**20
_COLUMNS = (
    Column("Arm", ("arm", "is_baseline"), align="left"),
    Column("n", ("n", "num_planned")),
    Column("Epochs", ("epochs", "epochs_lowest", "epochs_highest")),
    Column("Seconds", ("seconds", "seconds_lowest", "seconds_highest")),
    Column(
        "Peak memory (MiB)",
        ("peak_memory_mebibytes", "peak_memory_mebibytes_lowest", "peak_memory_mebibytes_highest"),
    ),
    Column("Device", ("device",), align="left"),
    Column("Threads", ("threads",)),
)
_CHECKPOINTING = Column("Gradient checkpointing", ("gradient_checkpointing",), align="left")


def cost_table(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Table:
    """Return epochs, seconds, memory, devices and threads of each arm's finished trials.

    Gradient checkpointing is a column where any trial had it.
    """
    arms = arms_as_trained(manifest, records)
    trials = [trial for arm in arms for trial in _finished(arm)]
    more = (_CHECKPOINTING,) if any(trial.gradient_checkpointing for trial in trials) else ()
    return Table(
        name="cost",
        title=f"Cost of {manifest.sweep}: what a trial took",
        columns=(*_COLUMNS, *more),
        rows=tuple((*_row(arm), *(_checkpointing_cell(arm) for _ in more)) for arm in arms),
        notes=tuple(_notes(trials, _in_sum(manifest, records))),
    )


def mixtures(manifest: Manifest, records: Mapping[str, TrialRecord]) -> tuple[str, ...]:
    """Return a sentence for each kind of machine that a sweep mixes, none where it mixes none."""
    arms = arms_as_trained(manifest, records)
    return tuple(_mixtures([trial for arm in arms for trial in _finished(arm)]))


def _row(arm: ArmResults) -> tuple[Cell, ...]:
    trials = _finished(arm)
    seconds = [t.duration_seconds for t in trials if t.duration_seconds is not None]
    memory = [t.peak_memory_bytes / _MEBIBYTE for t in trials if t.peak_memory_bytes is not None]
    return (
        arm_cell(arm.arm.name, arm.is_baseline),
        count_cell(len(trials), len(arm.trials)),
        range_cell([trial.epochs for trial in trials], digits=0),
        range_cell(seconds, digits=1),
        range_cell(memory, digits=0),
        text_cell(", ".join(_several(trials, device_of))),
        text_cell(", ".join(_several(trials, threads_of))),
    )


def _checkpointing_cell(arm: ArmResults) -> Cell:
    return text_cell(", ".join(_several(_finished(arm), _checkpointing)))


def _finished(arm: ArmResults) -> list[TrialRecord]:
    return [
        trial
        for trial in arm.trials.values()
        if trial is not None and trial.outcome is Outcome.FINISHED
    ]


def _in_sum(manifest: Manifest, records: Mapping[str, TrialRecord]) -> str:
    """Return how long all trials of a sweep trained, with those that did not finish."""
    by_device = dict[str, list[float]]()
    for key in sorted({cell.trial_key for cell in manifest.cells} & records.keys()):
        if seconds := records[key].duration_seconds:
            by_device.setdefault(device_of(records[key]), []).append(seconds)
    return " and ".join(
        f"{duration_text(fsum(by_device[device]))} on {device}" for device in sorted(by_device)
    )


def _notes(trials: Sequence[TrialRecord], in_sum: str) -> Iterator[str]:
    yield (
        "n: finished trials, out of those planned. A figure is their mean, with the lowest and the "
        "highest in brackets where they differ."
    )
    if in_sum:
        yield (
            f"All trials together, those too that did not finish: {in_sum}. Trials that share a "
            f"device count in full."
        )
    yield "Peak memory: what one trial used beyond what its process had before."
    silent = sum(trial.peak_memory_bytes is None for trial in trials)
    if silent:
        of_all = f"{silent} of {len(trials)} trials"
        yield f"Peak memory is empty for {of_all}: their machine cannot measure it."
    yield from _mixtures(trials)


def _mixtures(trials: Sequence[TrialRecord]) -> Iterator[str]:
    for feature, counts in mixed_features(trials, is_unknown_one=True):
        yield f"The trials ran on different {feature}, so their costs do not compare: {counts}."
    counts = Counter(_checkpointing(trial) for trial in trials)
    if len(counts) > 1:
        yield (
            f"Of the trials {counts['yes']} ran with gradient checkpointing and {counts['no']} "
            "without, so their costs do not compare; their results do."
        )


def _several(trials: Sequence[TrialRecord], feature: Callable[[TrialRecord], str]) -> list[str]:
    return sorted({feature(trial) for trial in trials})


def _checkpointing(trial: TrialRecord) -> str:
    return "yes" if trial.gradient_checkpointing else "no"
