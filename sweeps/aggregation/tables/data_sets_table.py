"""The table of arms by data sets: errors on each, and the difference from the baseline over all."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from capsmodel.metrics import TEST_ERROR, Metric, percent
from search_spaces.tables import DataSetsTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import (
    heading,
    measured_cell,
    shown_interval,
)
from sweeps.aggregation.rendering.table import (
    ALONE_MARK,
    Cell,
    Column,
    Table,
    Value,
    integer_cell,
    mean_cell,
    number_text,
    rows_of,
    text_cell,
    values_table,
)
from sweeps.aggregation.results.data_set_results import (
    DataSetColumn,
    DataSetResults,
    OverallComparison,
)
from sweeps.aggregation.results.evaluation_comparisons import mean_of_measured
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.all_pairs_notes import EQUIVALENT
from sweeps.aggregation.tables.columns import difference_values, interval_values, marked, points
from sweeps.aggregation.tables.data_sets_figure import forest_figure, ranks_figure
from sweeps.aggregation.tables.data_sets_notes import (
    NOTHING,
    compared_text,
    data_sets_lead,
    data_sets_notes,
    is_alone_overall,
)
from sweeps.aggregation.tables.headlines import data_sets_headline
from sweeps.aggregation.tables.published_notes import published_text
from sweeps.records.plain_text import one_line

_OF_COUNTS = ("better", "equivalent", "undecided", "worse", "identical", "missing")
_NO_INTERVAL = Interval(0, None, None, None)


@dataclass(frozen=True)
class DataSetsRow:
    """What a row of the table is of.

    Attributes:
        names: Arms with identical results on every data set, usually one.
        is_baseline: Whether the baseline is one of them.
        overall: Their comparison with the baseline over all data sets, None where there is none.
        average_rank: None where arms were not ranked, or this one could not be.
        published: Data set -> published error, in percent, in a row of published figures alone.
    """

    names: tuple[str, ...]
    is_baseline: bool
    overall: OverallComparison | None = None
    average_rank: float | None = None
    published: Mapping[str, float] | None = None


def data_sets_section(
    results: DataSetResults,
    declared: DataSetsTable,
    *,
    title: str,
    description: str = "",
    metric: Metric = TEST_ERROR,
    margin_points: float | None = None,
) -> Section:
    """Return the table, its figures, and a table for programs of one row per arm and data set.

    Args:
        results: The arms compared.
        declared: What the sweep declares of the table.
        title: Name of the sweep.
        description: Its purpose.
        metric: The primary figure's, where that stands in place of the test error.
        margin_points: The margin of "equivalent", None where none was declared.
    """
    name = declared.name
    rows = _rows(results, declared)
    text = compared_text(declared, metric)
    columns = _columns(results, text, metric)
    table = Table(
        name=name,
        title=f"{one_line(title)}: {text} by arm and data set",
        lead=data_sets_lead(results),
        headline=data_sets_headline(results),
        description=one_line(description),
        columns=columns,
        rows=rows_of(columns, rows),
        notes=tuple(data_sets_notes(results, declared, margin_points)),
        for_programs=wide_values(results, declared, metric),
    )
    figures = list[Figure]()
    above = f"{one_line(title)}: difference in {text} from the baseline"
    if any(column.cells for column in results.columns):
        figures.append(Figure(name, partial(forest_figure, results, above, metric)))
    if results.ranks:
        figures.append(Figure(f"{name}-ranks", partial(ranks_figure, results, title)))
    return Section(
        name,
        declared.kind,
        tables=(table,),
        data=(long_values(results, declared, metric),),
        figures=tuple(figures),
    )


def _rows(results: DataSetResults, declared: DataSetsTable) -> list[DataSetsRow]:
    """Return a row of each group of identical arms, each followed by its published figures."""
    ranks = results.ranks.ranks if results.ranks else {}
    rows = list[DataSetsRow]()
    for names in groups_of_arms(results):
        rows.append(
            DataSetsRow(
                names,
                _baseline(results) in names,
                results.by_arm.get(names[0]),
                ranks.get(names[0]),
            )
        )
        for name in names:
            if published := _published(declared, name):
                rows.append(DataSetsRow((name,), is_baseline=False, published=published))
    of_others = dict.fromkeys(name for arms in declared.published.values() for name in arms)
    return rows + [
        DataSetsRow((name,), is_baseline=False, published=_published(declared, name))
        for name in of_others
        if not any(name in row.names for row in rows)
    ]


def groups_of_arms(results: DataSetResults) -> list[tuple[str, ...]]:
    """Return the names of arms, those identical on every data set together, in their order."""
    names = dict.fromkeys(name for column in results.columns for name in column.arms)
    joined = [(_baseline(results), *results.identical), *(each.arms for each in results.overall)]
    group_of = {name: group for group in joined for name in group}
    return [*dict.fromkeys(group_of.get(name, (name,)) for name in names)]


def _baseline(results: DataSetResults) -> str:
    return next((column.baseline for column in results.columns if column.baseline), "")


def _published(declared: DataSetsTable, arm: str) -> dict[str, float]:
    return {name: arms[arm] for name, arms in declared.published.items() if arm in arms}


def _columns(results: DataSetResults, text: str, metric: Metric) -> tuple[Column, ...]:
    errors = heading(metric, f"{text[0].upper()}{text[1:]}")
    unit = "points" if results.scale == "points" else "%"
    return (
        Column("Arm", ("arm",), "left", cell=_arm),
        *(
            Column(
                one_line(column.name),
                (f"error_{place}",),
                group=errors,
                cell=partial(_error, column=column, metric=metric),
            )
            for place, column in enumerate(results.columns, start=1)
        ),
        *(_overall_columns(unit) if results.overall else ()),
        Column("Average rank", ("average_rank",), hide_if_empty=True, cell=_rank),
    )


def _overall_columns(unit: str) -> tuple[Column, ...]:
    return (
        Column(f"Overall ({unit})", ("overall",), group=_OVER_ALL, is_answer=True, cell=_overall),
        Column("Verdict", ("verdict",), "left", group=_OVER_ALL, is_answer=True, cell=_verdict),
        *(
            Column(
                text.capitalize(),
                (f"num_{text}",),
                group="Number of data sets",
                hide_if_empty=text == "equivalent",
                cell=partial(_count, of=text),
            )
            for text in ("better", "equivalent", "undecided", "worse")
        ),
        Column("Like these (%)", ("like_these",), hide_if_empty=True, cell=_like_these),
    )


_OVER_ALL = "Over all data sets"


def _arm(row: DataSetsRow) -> Cell:
    text = " = ".join(map(one_line, row.names))
    if row.published is not None:
        return Cell(f"{text}, published", (row.names[0],))
    return Cell(f"{text} (baseline)" if row.is_baseline else text, (row.names[0],))


def _error(row: DataSetsRow, *, column: DataSetColumn, metric: Metric) -> Cell:
    """Return `error ± half width`, bold where it differs from the baseline's on this data set."""
    if row.published is not None:
        published = row.published.get(column.name)
        return Cell(published_text(published, None), (published,))
    measured, comparison = column.arms.get(row.names[0]), column.cells.get(row.names[0])
    is_bold = comparison is not None and comparison.is_different
    if measured is None or not measured.errors:
        return Cell(NOTHING, (None,), is_bold)
    mean = measured_cell(mean_of_measured(measured).interval, metric)
    count, planned = len(measured.errors), len(measured.arm.trials)
    fewer = f" (n = {count})" * (count < planned)
    is_equivalent = comparison is not None and comparison.verdict == "equivalent"
    text = f"{mean.text}{f' {EQUIVALENT}' * is_equivalent}{fewer}"
    return marked(Cell(text, mean.values[:1], is_bold), measured.arm)


def _overall(row: DataSetsRow) -> Cell:
    if row.overall is None or row.overall.difference is None:
        return Cell(NOTHING if row.overall else "", (None,))
    difference = row.overall.difference
    if row.overall.scale == "percent":
        text = _percent_text(difference)
    else:
        text = mean_cell(shown_interval(difference, TEST_ERROR)).text
        text = text if text.startswith(("0.00", "\N{MINUS SIGN}")) else f"+{text}"
    mark = f" {ALONE_MARK}" * is_alone_overall(row.overall)
    return Cell(f"{text}{mark}", (difference.mean,), row.overall.is_different)


def _percent_text(change: Interval) -> str:
    """Return a relative change with its interval, in percent: `-20.1 [-27.0, -12.4]`."""
    ends = [
        number_text(percent(end), 1, "+") for end in (change.low, change.high) if end is not None
    ]
    mean = number_text(percent(change.mean or 0.0), 1, "+")
    return f"{mean} [{', '.join(ends)}]" if ends else mean


def _verdict(row: DataSetsRow) -> Cell:
    if row.overall is None or row.overall.difference is None:
        return Cell("", (None,))
    return replace(text_cell(row.overall.verdict), is_bold=row.overall.is_different)


def _count(row: DataSetsRow, *, of: str) -> Cell:
    if row.overall is None:
        return Cell("", (None,))
    counted = integer_cell(getattr(row.overall.counts, of))
    return replace(counted, text="") if of == "equivalent" and counted.text == "0" else counted


def _like_these(row: DataSetsRow) -> Cell:
    like_these = row.overall.like_these if row.overall else None
    if like_these is None:
        return Cell("", (None,))
    change = like_these.change
    return Cell(_percent_text(change), (change.mean,), is_bold=like_these.is_different)


def _rank(row: DataSetsRow) -> Cell:
    rank = row.average_rank
    return Cell("" if rank is None else number_text(rank), (rank,))


def long_values(results: DataSetResults, declared: DataSetsTable, metric: Metric) -> Table:
    """Return one row per arm and data set, in percent and percentage points."""
    rows = [
        _names(results, name) | {"data_set": column.name} | _values(column, name, declared, metric)
        for name in _all_arms(results)
        for column in results.columns
    ]
    return values_table(f"{declared.name}-long", rows)


def wide_values(results: DataSetResults, declared: DataSetsTable, metric: Metric) -> Table:
    """Return one row per arm: the errors on each data set, and what holds over all of them."""
    fields = _fields([column.name for column in results.columns])
    few = ("n", "error_percent", "difference_points", "adjusted_p", "verdict", "published_percent")
    rows = list[dict[str, Value]]()
    for name in _all_arms(results):
        row = _names(results, name)
        for field, column in zip(fields, results.columns, strict=True):
            values = _values(column, name, declared, metric)
            row |= {f"{field}.{key}": value for key, value in values.items() if _is_of(key, few)}
        rows.append(row | overall_values(results.by_arm.get(name)) | ranked_values(results, name))
    return values_table(declared.name, rows)


def _is_of(key: str, few: tuple[str, ...]) -> bool:
    return key.removesuffix("_low").removesuffix("_high") in few


def _all_arms(results: DataSetResults) -> list[str]:
    return [name for group in groups_of_arms(results) for name in group]


def _names(results: DataSetResults, name: str) -> dict[str, Value]:
    first = next(group[0] for group in groups_of_arms(results) if name in group)
    return {
        "arm": name,
        "is_baseline": name == _baseline(results),
        "identical_to": None if first == name else first,
    }


def _values(
    column: DataSetColumn, name: str, declared: DataSetsTable, metric: Metric
) -> dict[str, Value]:
    """Return what is known of one arm on one data set."""
    measured, comparison = column.arms.get(name), column.cells.get(name)
    return {
        "n": len(measured.errors) if measured else 0,
        "num_planned": len(measured.arm.trials) if measured else 0,
        "num_diverged": measured.arm.count("diverged") if measured else 0,
        "num_failed": measured.arm.count("failed") if measured else 0,
        **error_values(measured, metric),
        "is_identical_to_baseline": name in column.identical,
        **difference_values(comparison),
        "num_together": comparison.num_together if comparison else None,
        "num_parameters": measured.arm.arm.num_parameters if measured else None,
        "published_percent": declared.published.get(column.name, {}).get(name),
        "why_missing": column.missing.get(name),
    }


def error_values(measured: MeasuredArm | None, metric: Metric) -> dict[str, Value]:
    """Return an arm's mean error on one data set with its interval; `_half` is what ± shows."""
    mean = mean_of_measured(measured).interval if measured and measured.errors else _NO_INTERVAL
    shown = shown_interval(mean, metric)
    return {
        "error_percent": shown.mean,
        "error_percent_half": shown.half_width,
        "error_percent_low": shown.low,
        "error_percent_high": shown.high,
        "error_percent_sd": shown.deviation,
    }


def overall_values(overall: OverallComparison | None) -> dict[str, Value]:
    """Return what holds of an arm over all data sets; all are None without a comparison."""
    like_these = overall.like_these if overall else None
    scale = overall.scale if overall else "points"
    simultaneous = overall.simultaneous if overall else None
    in_points = simultaneous if scale == "points" else None
    of_points = overall.points if overall else None
    return {
        "overall_scale": overall.scale if overall else None,
        "overall_verdict": overall.verdict if overall and overall.difference else None,
        "num_data_sets": overall.difference.n if overall and overall.difference else None,
        **interval_values("overall_points", of_points),
        "overall_points_half": points(of_points.half_width if of_points else None),
        **_in_percent("overall_change_percent", overall.change if overall else None),
        "overall_p": overall.p_value if overall else None,
        "overall_adjusted_p": overall.adjusted_p if overall else None,
        **interval_values("overall_simultaneous_points", in_points),
        **_in_percent("overall_simultaneous_percent", None if in_points else simultaneous),
        "overall_equivalence_p": overall.equivalent_p if overall else None,
        "overall_log_e_value": overall.log_e if overall else None,
        "why_no_verdict": (overall.why_undecided or None) if overall else None,
        **{f"num_{of}": getattr(overall.counts, of) if overall else None for of in _OF_COUNTS},
        **_in_percent("like_these_change_percent", like_these.change if like_these else None),
        "like_these_p": like_these.p_value if like_these else None,
        "like_these_adjusted_p": like_these.adjusted_p if like_these else None,
    }


def _in_percent(name: str, interval: Interval | None) -> dict[str, Value]:
    ends = (interval.mean, interval.low, interval.high) if interval else (None,) * 3
    return {
        f"{name}{end}": None if value is None else percent(value)
        for end, value in zip(("", "_low", "_high"), ends, strict=True)
    }


def ranked_values(results: DataSetResults, name: str) -> dict[str, Value]:
    """Return the average rank of an arm; nothing where arms were not ranked."""
    if (ranks := results.ranks) is None:
        return {}
    return {
        "average_rank": ranks.ranks.get(name),
        "rank_adjusted_p": ranks.adjusted_p.get(name),
        "friedman_p": ranks.friedman_p,
        "critical_difference": ranks.critical_difference,
    }


def _fields(names: list[str]) -> list[str]:
    """Return the beginning of each data set's fields: its letters, or its place."""
    fields = list[str]()
    for place, name in enumerate(names, start=1):
        field = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        fields.append(field if field and field not in fields else f"data_set_{place}")
    return fields
