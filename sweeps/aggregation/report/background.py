"""What a page shows besides a sweep's own tables: curves, health, definition, data, trial keys."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from capsmodel.metrics import VALIDATION_ERROR
from search_spaces.tables import CurvesFigure
from sweeps.aggregation.makers.curves import make_curves
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.table import Column, Table, text_cell
from sweeps.aggregation.report.definition import definition_sections
from sweeps.aggregation.results.arm_curves import finished_trials
from sweeps.aggregation.results.arms import ArmResults, arms_as_trained, cell_reason, cell_state
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.plain_text import shortened
from sweeps.records.trial_record import TrialRecord

_MOST_ROWS = 200
_LONGEST_REASON = 300
_METRIC = VALIDATION_ERROR.name


def background(results: Results) -> tuple[Section, ...]:
    """Return the sections in the order of the page.

    Raises:
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    return (
        *_curves(results),
        _health(manifest, records),
        *definition_sections(manifest),
        _data(manifest, records),
        _keys(manifest, records),
    )


def _curves(results: Results) -> Iterator[Section]:
    """Yield the validation error over the epochs, unless the sweep shows it itself."""
    manifest = results.manifest
    is_shown = any(_METRIC in table.curves for table in manifest.tables)
    if not is_shown and finished_trials(manifest, results.records):
        made = make_curves(CurvesFigure(name="learning-curves"), results)
        yield replace(made, data=(), title="Learning curves: validation error over the epochs")


def _health(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    cells = {(cell.arm, cell.seed): cell for cell in manifest.cells}
    arms = arms_as_trained(manifest, records)
    rows = list(_ill(arms, cells))
    stopped = sum(cell.stopped is not None for cell in manifest.cells)
    trials = [trial for arm in arms for trial in arm.trials.values()]
    counted = sum(cell_state(trial) == "counted" for trial in trials)
    notes = [f"{counted} of {len(trials)} trials count."]
    if stopped:
        notes.append(f"{stopped} were stopped early by the scheduler, as the search asks for.")
    if not rows:
        notes.append("No trial failed, diverged or warned of anything.")
    if len(rows) > _MOST_ROWS:
        notes.append(f"{len(rows) - _MOST_ROWS} more such lines: see trials.csv.")
    table = _texts("health", "Health", ("Arm", "Seed", "What", "Why"), rows[:_MOST_ROWS])
    return Section("health", "health", tables=(table,), notes=tuple(notes), title="Health")


def _ill(
    arms: Sequence[ArmResults], cells: Mapping[tuple[str, int], ManifestCell]
) -> Iterator[tuple[str, ...]]:
    """Yield what is wrong with each cell: that it does not count, and what its trial warned of."""
    for arm in arms:
        for seed, trial in arm.trials.items():
            if cells[arm.arm.name, seed].stopped is not None:
                continue
            state, reason = cell_state(trial), shortened(cell_reason(trial), _LONGEST_REASON)
            if state != "counted":
                yield arm.arm.name, str(seed), state, reason
            for warning in trial.warnings if trial else ():
                yield arm.arm.name, str(seed), "warning", shortened(warning, _LONGEST_REASON)


def _data(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    arms: dict[tuple[str, str], dict[str, None]] = {}
    for arm in arms_as_trained(manifest, records):
        for trial in arm.trials.values():
            if trial and trial.data_fingerprint:
                place = (_data_kind(arm), trial.data_fingerprint)
                arms.setdefault(place, {})[arm.arm.name] = None
    whole = {arm.name for arm in manifest.arms}
    rows = [
        (kind, fingerprint, "all" if {*names} == whole else ", ".join(names))
        for (kind, fingerprint), names in arms.items()
    ]
    title = "Data and code"
    notes = (
        "A data set's fingerprint is declared beside its code and checked when it is loaded.",
        "A trial key is a hash of all that decides a result: the settings that differ from their "
        "defaults, the seed, the data's fingerprint, and the version of the code's protocol "
        "wherever that is above 1. Equal settings, seeds and data under another key were trained "
        "by another version of the protocol.",
    )
    table = _texts("data", title, ("Data", "Fingerprint", "Arms"), rows)
    return Section("data", "data", tables=(table,), notes=notes, title=title)


def _data_kind(arm: ArmResults) -> str:
    data: Any = arm.arm.config.get("data")
    return str(data.get("kind", "")) if isinstance(data, dict) else ""


def _keys(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    title = f"Trial keys ({len(manifest.cells)})"
    rows = [
        (cell.arm, str(cell.seed), cell.trial_key, _state(cell, records)) for cell in manifest.cells
    ]
    table = _texts("keys", title, ("Arm", "Seed", "Trial key", "Outcome"), rows)
    return Section("keys", "keys", tables=(table,), title=title, is_folded=True)


def _state(cell: ManifestCell, records: Mapping[str, TrialRecord]) -> str:
    if cell.stopped is not None:
        return f"stopped after epoch {cell.stopped.epoch}"
    state = cell_state(records.get(cell.trial_key))
    return "finished" if state == "counted" else state


def _texts(name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(
        name=name,
        title=title,
        columns=tuple(Column(heading, (heading.lower(),), align="left") for heading in headings),
        rows=tuple(tuple(text_cell(text) for text in row) for row in rows),
    )
