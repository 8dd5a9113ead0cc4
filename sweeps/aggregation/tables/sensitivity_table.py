"""How much each searched setting matters."""

import math
from dataclasses import replace
from functools import partial

from capsmodel.metrics import Metric, percent
from search_spaces.tables import SensitivityTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import field_name, heading, measured_interval
from sweeps.aggregation.rendering.table import (
    MINUS,
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    count_cell,
    integer_cell,
    text_cell,
)
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.sensitivity.importance import Importance
from sweeps.aggregation.sensitivity.sensitivity import (
    Marginal,
    PairSensitivity,
    Sensitivity,
    SettingSensitivity,
    sensitivity,
)
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.columns import with_departures
from sweeps.aggregation.tables.headlines import search_headline
from sweeps.aggregation.tables.search_answer import next_question, search_lead, share_text
from sweeps.aggregation.tables.search_figure import has_ended, history_figure, parallel_figure
from sweeps.aggregation.tables.sensitivity_figure import (
    FEWEST_OF_AN_INTERVAL,
    importance_figure,
    marginals_figure,
)
from sweeps.aggregation.tables.sensitivity_notes import (
    importance_notes,
    marginal_notes,
    pair_notes,
)
from sweeps.records.plain_text import one_line

SHARE_FIELDS = ("share_percent", "p_value", "adjusted_p")
NOT_TOLD = "not told from 0"
_MOST_ROWS = 10
_ENDS = ("", "_low", "_high")
_FIRST = ("Setting", "Verdict", "Share (%)", "In the best trial", "Best mean at")
_REASONS = ("No importance is given", "Counted:", "After the first", "Next:")


def make_sensitivity(declared: SensitivityTable, results: Results) -> Section:
    """Return the tables by setting and by value, with the figures of the search.

    Raises:
        BadInput: If the sweep is no search.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    weighed = sensitivity(results.manifest, results.records, results.histories)
    first, *others = sensitivity_tables(weighed, declared.name)
    first = replace(first, notes=(*first.notes, *next_question(weighed, results.manifest)))
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=tuple(with_departures(results.manifest, table) for table in (first, *others)),
        figures=sensitivity_figures(weighed, declared.name),
    )


def sensitivity_tables(sensitivity: Sensitivity, name: str = "sensitivity") -> tuple[Table, ...]:
    """Return one row per setting, the most important first; one row per value; one row per pair.

    The names of the others end in `-marginals` and `-pairs`; of pairs there is no table where
    there are none. All hold only what trial keys decide.

    Args:
        sensitivity: What `sensitivity` returned.
        name: The first table's name, as the manifest declares it.
    """
    pairs = (pairs_table(sensitivity, f"{name}-pairs"),) if sensitivity.pairs else ()
    importances = _importance_table(sensitivity, name)
    return importances, marginals_table(sensitivity, f"{name}-marginals"), *pairs


def pairs_table(sensitivity: Sensitivity, name: str) -> Table:
    """Return one row per pair, the most important first; programs read all of them."""
    results = sensitivity.results
    table = Table(
        name=name,
        title=f"Sensitivity {results.sweep}: what settings do together",
        columns=(
            Column("Setting", ("first",), align="left"),
            Column("With", ("second",), align="left"),
            Column("Verdict", ("verdict",), align="left"),
            Column("Share (%)", SHARE_FIELDS),
        ),
        rows=tuple(_pair_row(pair, sensitivity) for pair in sensitivity.pairs),
        notes=tuple(pair_notes(sensitivity, _MOST_ROWS)),
    )
    return replace(table, rows=table.rows[:_MOST_ROWS], for_programs=table)


def _pair_row(pair: PairSensitivity, sensitivity: Sensitivity) -> tuple[Cell, ...]:
    return (
        text_cell(pair.first.name),
        text_cell(pair.second.name),
        *importance_cells(pair.importance, sensitivity, "act together"),
    )


def importance_cells(
    importance: Importance | None, sensitivity: Sensitivity, verdict: str = "matters"
) -> tuple[Cell, Cell]:
    """Return the verdict and the share. Values of the share: as `SHARE_FIELDS`.

    A share that is not told from 0 is no text, as it may be below 0. Where the sampler chose the
    proposals there is no verdict.
    """
    if importance is None:
        return text_cell(""), Cell("", (None, None, None))
    matters, is_chosen = sensitivity.matters(importance), sensitivity.sample.is_chosen
    text = "" if is_chosen else verdict if matters else NOT_TOLD
    share = share_text(importance) if matters or is_chosen else ""
    values = (percent(importance.share), importance.p_value, importance.adjusted_p)
    return replace(text_cell(text), is_bold=matters), Cell(share, values)


def signed(value: float, digits: int, sign: str = "") -> str:
    """Return a number with a true minus, and none before a zero."""
    rounded = round(value, digits) + 0.0
    return f"{rounded:{sign if rounded else ''}.{digits}f}".replace("-", MINUS)


def _importance_table(sensitivity: Sensitivity, name: str) -> Table:
    return Table(
        name=name,
        title=f"Sensitivity {sensitivity.results.sweep}: how much each setting matters",
        lead=search_lead(sensitivity),
        headline=search_headline(sensitivity),
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("n", ("n", "num_counted")),
            Column("Verdict", ("verdict",), align="left", hide_if_empty=True),
            Column("Share (%)", SHARE_FIELDS, hide_if_empty=True),
            Column(
                "Rank correlation",
                tuple(f"rank_correlation{end}" for end in _ENDS),
                hide_if_empty=True,
            ),
            Column("In the best trial", ("best_trial_value",), align="left"),
            Column("Best mean at", ("best_mean_values",), align="left"),
        ),
        rows=tuple(_row(setting, sensitivity) for setting in sensitivity.settings),
        notes=tuple(importance_notes(sensitivity)),
    )


def _row(setting: SettingSensitivity, sensitivity: Sensitivity) -> tuple[Cell, ...]:
    best = setting.best_marginal(sensitivity.results.objective)
    return (
        text_cell(setting.dimension.name),
        count_cell(len(setting.trials), len(sensitivity.sample.values)),
        *importance_cells(setting.importance, sensitivity),
        _correlation_cell(setting),
        Cell("" if setting.best is None else one_line(value_text(setting.best)), (setting.best,)),
        text_cell(best.group.label if best else ""),
    )


def _correlation_cell(setting: SettingSensitivity) -> Cell:
    correlation = setting.rank_correlation
    if correlation is None:
        return Cell("", (None, None, None))
    values = (correlation.mean, correlation.low, correlation.high)
    mean, low, high = (signed(value or 0.0, 2, "+") for value in values)
    return Cell(f"{mean} ({low} to {high})", values)


def marginals_table(sensitivity: Sensitivity, name: str) -> Table:
    """Return the mean of the objective by value of each setting."""
    results = sensitivity.results
    metric = results.objective.metric
    return Table(
        name=name,
        title=f"Sensitivity {results.sweep}: mean {metric.text} by value",
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("Value", ("value",), align="left"),
            Column("n", ("n",)),
            Column(
                heading(metric, metric.text.capitalize()),
                tuple(f"{field_name(metric)}{end}" for end in _ENDS),
            ),
        ),
        rows=tuple(
            _marginal_row(setting, marginal, metric)
            for setting in sensitivity.settings
            for marginal in setting.marginals
        ),
        notes=tuple(marginal_notes(sensitivity)),
    )


def _marginal_row(
    setting: SettingSensitivity, marginal: Marginal, metric: Metric
) -> tuple[Cell, ...]:
    return (
        text_cell(setting.dimension.name),
        text_cell(marginal.group.label),
        integer_cell(marginal.objective.n),
        _mean_cell(measured_interval(marginal.values, metric), 2 if metric.is_fraction else 4),
    )


def _mean_cell(objective: Interval, digits: int) -> Cell:
    values = (objective.mean, objective.low, objective.high)
    if objective.mean is None:
        return Cell("", values)
    mean, half = signed(objective.mean, digits), objective.half_width
    low, high = (end or 0.0 for end in values[1:])
    if objective.n < FEWEST_OF_AN_INTERVAL or not half:
        return Cell(mean, values)
    if math.isclose(high - low, 2 * half):
        return Cell(f"{mean} {PLUS_MINUS} {half:.{digits}f}", values)
    return Cell(f"{mean} ({low:.{digits}f} to {high:.{digits}f})", values)  # an end was cut


def sensitivity_figures(sensitivity: Sensitivity, name: str) -> tuple[Figure, ...]:
    """Return each figure of a search that has something to show.

    Their names: `{name}-importance`, `{name}-marginals`, `{name}-history`, `{name}-parallel`.

    Args:
        sensitivity: What `sensitivity` returned.
        name: The name that the manifest declares.
    """
    results = sensitivity.results
    figures = (
        ("importance", sensitivity.has_importances, partial(importance_figure, sensitivity)),
        ("marginals", sensitivity.sample.values, partial(marginals_figure, sensitivity)),
        ("history", has_ended(results), partial(history_figure, results)),
        ("parallel", results.candidates, partial(parallel_figure, results)),
    )
    return tuple(Figure(f"{name}-{end}", draw) for end, shows, draw in figures if shows)


def sensitivity_headline(table: Table) -> Table:
    """Return what a terminal is shown: importance and best values, and why there is no more.

    Columns without anything in them are left out.
    """
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.title in _FIRST and any(row[place].text for row in table.rows)
    ]
    rows = tuple(tuple(row[place] for place in places) for row in table.rows[:_MOST_ROWS])
    notes = [note for note in table.notes if note.startswith(_REASONS)]
    more = len(table.rows) - len(rows)
    rest = f", and {more} more setting{'s' * (more > 1)}" if more > 0 else ""
    notes.append(f"How to read it{rest}: see {table.name}.md.")
    columns = tuple(table.columns[place] for place in places)
    return replace(table, columns=columns, rows=rows, notes=tuple(notes))
