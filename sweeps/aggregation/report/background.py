"""What a page shows besides a sweep's own tables: curves, health, definition, data, trial keys."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from statistics import mean, stdev
from typing import Any

from capsmodel.metrics import VALIDATION_ERROR, Metric
from search_spaces.tables import CurvesFigure
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.notebook_pieces import value_text
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    Value,
    integer_cell,
    text_cell,
)
from sweeps.aggregation.report.data_sentences import data_kind
from sweeps.aggregation.results.arm_curves import finished_trials
from sweeps.aggregation.results.arms import ArmResults, arms_as_trained, cell_reason, cell_state
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.aggregation.tables.curves_figure import make_curves
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.manifest_plan import ManifestDimension, ManifestSearch
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.record_facts import flat_settings

_MOST_ARMS = 30  # of which nobody wants to see more unasked
_LONGEST_VALUE = 200
_ARM_COLUMNS = (
    Column("Arm", ("arm",), align="left"),
    Column("What it changes", ("changes",), align="left"),
    Column("Parameters", ("num_parameters",)),
)
_DIMENSION_COLUMNS = (
    Column("Setting", ("setting",), align="left"),
    Column("Values", ("values",), align="left"),
    Column("Where", ("conditions",), align="left", hide_if_empty=True),
)
_MOST_ROWS = 200
_LONGEST_REASON = 300
_METRIC = VALIDATION_ERROR.name
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


def background(results: Results) -> tuple[Section, ...]:
    """Return the sections in the order of the page.

    Raises:
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    return (
        *_curves(results),
        *_part_metrics(results),
        _health(manifest, records),
        *definition_sections(manifest),
        _data(manifest, records),
        _keys(manifest, records),
    )


def _curves(results: Results) -> Iterator[Section]:
    """Yield the curves of the validation error, unless the sweep declares them itself."""
    manifest = results.manifest
    is_shown = any(_METRIC in table.curves for table in manifest.tables)
    if not is_shown and finished_trials(manifest, results.records):
        made = make_curves(CurvesFigure(name="learning-curves"), results)
        yield replace(made, data=(), title="Learning curves: validation error over the epochs")


def _part_metrics(results: Results) -> Iterator[Section]:
    """Yield the curves of the metrics that parts of the user's measure, with their last values."""
    manifest = results.manifest
    shown = {metric for table in manifest.tables for metric in table.curves}
    if not finished_trials(manifest, results.records):
        return
    for metric in manifest.metrics:
        if metric.name not in shown:
            name = metric.name.replace("_", "-")
            made = make_curves(CurvesFigure(name=name, metric=metric.name), results)
            table = _last_values(results, metric, name)
            title = f"{metric.text[0].upper()}{metric.text[1:]} over the epochs"
            yield replace(made, data=(), tables=(table,), title=title)


def _last_values(results: Results, metric: Metric, name: str) -> Table:
    """Return the mean of a metric after the epoch that was tested over the seeds of each arm."""
    rows: list[tuple[str, ...]] = []
    for arm in arms_as_trained(results.manifest, results.records):
        counted = [trial for trial in arm.trials.values() if cell_state(trial) == "counted"]
        values = [v for trial in counted if trial and (v := trial.value(metric)) is not None]
        if values:
            spread = f" ({value_text(stdev(values), metric)})" if len(values) > 1 else ""
            text = f"{value_text(mean(values), metric)}{spread}"
            rows.append((arm.arm.name, text, str(len(values))))
    heading = f"After {epoch_of_test_text(arm.config for arm in results.manifest.arms)} (sd)"
    return _texts(name, metric.text, ("Arm", heading, "Seeds"), rows)


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
    """Yield why each cell does not count, and the warnings of its trial."""
    for arm in arms:
        for seed, trial in arm.trials.items():
            if cells[arm.arm.name, seed].stopped is not None:
                continue
            state, reason = cell_state(trial), shortened(cell_reason(trial), _LONGEST_REASON)
            if state != "counted":
                yield arm.arm.name, str(seed), state, reason
            for warning in trial.warnings if trial else ():
                yield arm.arm.name, str(seed), "warning", shortened(warning, _LONGEST_REASON)


def _texts(name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return Table(
        name=name,
        title=title,
        columns=tuple(Column(heading, (heading.lower(),), align="left") for heading in headings),
        rows=tuple(tuple(text_cell(text) for text in row) for row in rows),
    )


def definition_sections(manifest: Manifest) -> Iterator[Section]:
    """Yield what the sweep varies, its arms where they are many, and a design's baseline."""
    title = "Definition"
    notes = tuple(_notes(manifest))
    if manifest.search:
        table = _dimensions(manifest.search, title)
        yield Section("definition", "definition", tables=(table,), notes=notes, title=title)
        if manifest.arms:
            drawn = len(manifest.drawn)
            title = f"Proposals ({len(manifest.arms) - drawn})"
            title += f" and random points ({drawn})" * bool(drawn)
            yield _arms(manifest, title, is_folded=True)
        return
    if len(manifest.arms) > _MOST_ARMS:
        yield Section("definition", "definition", notes=notes, title=title)
        yield _arms(manifest, f"Arms ({len(manifest.arms)})", is_folded=True)
    else:
        arms = _arms(manifest, title)
        yield Section("definition", "definition", tables=arms.tables, notes=notes, title=title)
    yield from _base(manifest)


def _notes(manifest: Manifest) -> Iterator[str]:
    if departures := departure_sentence(manifest):
        yield departures
    yield f"Seeds: {_numbers(manifest.seeds)}."
    if manifest.splits:
        splits = tuple(dict.fromkeys(manifest.splits.values()))
        yield f"Split seeds of the data, dealt to the seeds in turn: {_numbers(splits)}."
    if manifest.planned_seeds:
        yield f"Planned were {_numbers(manifest.planned_seeds)}; the others were added later."
    if manifest.margin_points is not None:
        yield (
            f"Differences of test errors within {PLUS_MINUS}{manifest.margin_points:g} percentage "
            f"points do not matter, as declared before the results."
        )
    yield from _plan_notes(manifest)


def _plan_notes(manifest: Manifest) -> Iterator[str]:
    """Yield what decides cells while the sweep runs."""
    plan = manifest.plan
    if manifest.search:
        yield from _search_notes(manifest, manifest.search)
    elif manifest.choosing_seeds:
        yield f"Chosen by validation on the seeds {_numbers(manifest.choosing_seeds)}."
    elif plan and plan.seeds_at_looks:
        looks = ", ".join(map(str, plan.seeds_at_looks))
        yield f"Seeds until it is decided: looks at {looks} seeds, planned before the first."
    elif plan:
        yield f"A plan of the sweep's own file, {plan.kind}."


def _numbers(seeds: tuple[int, ...]) -> str:
    return shortened(", ".join(str(seed) for seed in seeds), _LONGEST_VALUE)


def _search_notes(manifest: Manifest, search: ManifestSearch) -> Iterator[str]:
    yield (
        f"A search for a small {manifest.objective.metric.text}{_cost(search)}: sampler "
        f"{search.sampler}, "
        f"scheduler {search.scheduler['kind']}, {len(search.proposals)} of {search.num_trials} "
        f"proposals made, the first {search.num_startup} of them at random."
    )
    yield from _limits(search)
    if search.beginning:
        yield f"The search {search.beginning}."
    if search.ending:
        yield f"The search {search.ending}."
    elif search.until:
        yield f"The search ends earlier at: {search.until}."
    if confirmation := search.confirmation:
        best = (
            f"{confirmation.best} of the front" if search.cost else f"The best {confirmation.best}"
        )
        yield f"{best} run again with the fresh seeds {_numbers(confirmation.seeds)}."
        if confirmation.random:
            yield (
                f"So does the best of random points at equal compute, drawn by seed "
                f"{confirmation.random.seed}."
            )


def _limits(search: ManifestSearch) -> Iterator[str]:
    """Yield what no proposal may exceed, and which points of the space are none."""
    if search.limits:
        yield f"All that was proposed keeps the limits: {', '.join(search.limits)}."
    notes = (search.forbidden_note, search.measured_limits_note, search.unbuildable_note)
    yield from map(one_line, filter(None, notes))


def _cost(search: ManifestSearch) -> str:
    return f" and a small {search.cost.replace('_', ' ')}" if search.cost else ""


def _dimensions(search: ManifestSearch, title: str) -> Table:
    rows = [
        (
            text_cell(dimension.name),
            text_cell(_values(dimension)),
            text_cell(_conditions(dimension)),
        )
        for dimension in search.dimensions
    ]
    return Table("definition", title, _DIMENSION_COLUMNS, tuple(rows))


def _values(dimension: ManifestDimension) -> str:
    if dimension.kind == "choices":
        return ", ".join(str(choice) for choice in dimension.choices)
    step = f", in steps of {dimension.step}" if dimension.step and dimension.step > 1 else ""
    return f"{dimension.low:g} to {dimension.high:g}{step}{', logarithmic' * dimension.log}"


def _conditions(dimension: ManifestDimension) -> str:
    return ", ".join(f"{name} is {kind}" for name, kind in dimension.conditions.items())


def _arms(manifest: Manifest, title: str, *, is_folded: bool = False) -> Section:
    rows = [
        (
            Cell(_name(arm, manifest), (arm.name,)),
            text_cell(_changes(arm)),
            integer_cell(arm.num_parameters),
        )
        for arm in manifest.arms
    ]
    table = Table("arms", title, _ARM_COLUMNS, tuple(rows))
    return Section("arms", "arms", tables=(table,), title=title, is_folded=is_folded)


def _name(arm: ManifestArm, manifest: Manifest) -> str:
    return one_line(arm.name) + " (baseline)" * (arm.name == manifest.baseline)


def _changes(arm: ManifestArm) -> str:
    settings = flat_settings(arm.changes)
    texts = [f"{path} = {shortened(text, _LONGEST_VALUE)}" for path, text in settings.items()]
    return "; ".join(texts) or "nothing"


def _base(manifest: Manifest) -> Iterator[Section]:
    """Yield all settings of the baseline, once it is chosen."""
    arm = next((arm for arm in manifest.arms if arm.name == manifest.baseline), None)
    if arm is None:
        return
    settings = flat_settings(arm.config)
    title = f"All settings of the baseline ({len(settings)})"
    columns = tuple(Column(title, (title,), align="left") for title in ("Setting", "Value"))
    rows = tuple(
        (text_cell(path), text_cell(shortened(text, _LONGEST_VALUE)))
        for path, text in settings.items()
    )
    table = Table("base", title, columns, rows)
    yield Section("base", "base", tables=(table,), title=title, is_folded=True)


def _data(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    arms: dict[tuple[str, str], dict[str, None]] = {}
    for arm in arms_as_trained(manifest, records):
        for trial in arm.trials.values():
            if trial and trial.data_fingerprint:
                place = (data_kind(arm), trial.data_fingerprint)
                arms.setdefault(place, {})[arm.arm.name] = None
    all_names = {arm.name for arm in manifest.arms}
    rows = [
        (kind, fingerprint, "all" if {*names} == all_names else ", ".join(names))
        for (kind, fingerprint), names in arms.items()
    ]
    title = "Data and code"
    notes = (
        "A fingerprint is a hash of the data: declared for a data set of capsmodel, computed from "
        "the images of a user's own. Each trial checks it when it loads them.",
        "A trial key is a hash of all that decides a result: the settings that differ from their "
        "defaults, the seed, the data's fingerprint, and the version of the code's protocol "
        "wherever that is above 1. Equal settings, seeds and data under another key were trained "
        "by another version of the protocol.",
    )
    table = _texts("data", title, ("Data", "Fingerprint", "Arms"), rows)
    return Section("data", "data", tables=(table,), notes=notes, title=title)


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


def runs_section(manifest: Manifest, records: Mapping[str, TrialRecord]) -> Section:
    """Return one row per trial that has a record, and which versions they were trained with."""
    rows = [
        _row(arm.arm.name, seed, trial)
        for arm in arms_as_trained(manifest, records)
        for seed, trial in arm.trials.items()
        if trial is not None
    ]
    columns = tuple(
        Column(title, (name,), align="left" if name in _LEFT else "right", hide_if_empty=True)
        for name, title in _HEADINGS.items()
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


def _number(value: Value, text: str) -> Cell:
    return Cell("" if value is None else text, (value,))


def _when(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


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
    """Return (package, version) pairs from a record's unchecked text."""
    try:
        versions: Any = json.loads(text)
    except (ValueError, RecursionError):
        return []
    pairs = versions.items() if isinstance(versions, dict) else ()
    return [(str(package), str(version)) for package, version in pairs]
