"""What trial keys do not decide, a row a trial: records, dates, machines, versions, seconds."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Cell, Column, Table, Value, text_cell
from sweeps.aggregation.results.arms import arms_as_trained
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

_MEBIBYTE = 2**20
_LEFT = ("arm", "trial_key", "record", "trained_for", "device", "code")
_HEADINGS = {
    "arm": "Arm",
    "seed": "Seed",
    "trial_key": "Trial key",
    "record": "Record",
    "trained_for": "Trained for",
    "ended": "Ended (UTC)",
    "seconds": "Seconds",
    "peak_memory_mebibytes": "Peak memory (MiB)",
    "device": "Device",
    "threads": "Threads",
    "code": "Code",
}


def runs_section(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    """Return a row a trial that has a record, and which versions they were trained with."""
    rows = [
        _row(arm.arm.name, seed, trial)
        for arm in arms_as_trained(manifest, records)
        for seed, trial in arm.trials.items()
        if trial is not None
    ]
    columns = tuple(
        Column(words, (name,), align="left" if name in _LEFT else "right", hide_if_empty=True)
        for name, words in _HEADINGS.items()
    )
    title = "Records and machines"
    table = Table("runs", title, columns, tuple(rows))
    return Section("runs", "runs", tables=(table, _versions(manifest, records)), title=title)


def _row(arm: str, seed: int, trial: TrialRecord) -> tuple[Cell, ...]:
    memory = trial.peak_memory_bytes
    return (
        text_cell(arm),
        _number(seed, str(seed)),
        text_cell(trial.trial_key),
        text_cell(trial.record_id),
        text_cell(trial.sweep),
        text_cell(_when(trial.ended_at)),
        _number(trial.duration_seconds, f"{trial.duration_seconds or 0:.1f}"),
        _number(memory, f"{(memory or 0) / _MEBIBYTE:,.0f}"),
        text_cell(trial.device),
        _number(trial.threads, str(trial.threads)),
        text_cell(trial.git_revision),
    )


def _when(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _number(value: Value, text: str) -> Cell:
    return Cell("" if value is None else text, (value,))


def _versions(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Table:
    """Return a row for each package and each of its versions: how many trials had it."""
    counts: dict[tuple[str, str], int] = {}
    for key in dict.fromkeys(cell.trial_key for cell in manifest.cells):
        for place in _packages(records[key].versions) if key in records else ():
            counts[place] = counts.get(place, 0) + 1
    columns = (
        Column("Package", ("package",), align="left"),
        Column("Version", ("version",), align="left"),
        Column("Trials", ("num_trials",)),
    )
    rows = [
        (text_cell(package), text_cell(version), _number(counts[place], str(counts[place])))
        for place in sorted(counts)
        for package, version in [place]
    ]
    return Table("versions", "Versions", columns, tuple(rows))


def _packages(text: str) -> list[tuple[str, str]]:
    """Return packages with their versions, of what a record holds and nobody has checked."""
    try:
        told: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    pairs = told.items() if isinstance(told, dict) else ()
    return [(str(package), str(version)) for package, version in pairs]
