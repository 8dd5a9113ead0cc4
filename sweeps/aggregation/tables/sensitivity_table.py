"""The sensitivity tables: how much each searched setting matters, and the means by its values."""

from collections.abc import Iterator

from capsmodel.metrics import Metric
from sweeps.aggregation.rendering.measured import measured_column, measured_interval
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
from sweeps.aggregation.results.search_results import SearchResults
from sweeps.aggregation.sensitivity.importance import NUM_HALVES
from sweeps.aggregation.sensitivity.sensitivity import (
    FEWEST_TRIALS,
    Marginal,
    Sensitivity,
    SettingSensitivity,
)
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.plain_text import one_line

_ENDS = ("", "_low", "_high")
_SILENCES = {
    "few": f"fewer than {FEWEST_TRIALS} counted trials",
    "equal results": "all results equal",
    "one value": "the same value in all counted trials",
}


def sensitivity_tables(sensitivity: Sensitivity, name: str = "sensitivity") -> tuple[Table, ...]:
    """Return two tables: one row a setting, the most important first, and one row a value.

    The second one's name ends in `-marginals`. Both hold only what trial keys decide.

    Args:
        sensitivity: As `sensitivity` returns it.
        name: The first table's name, as the manifest declares it.
    """
    return _importance_table(sensitivity, name), _marginals_table(sensitivity, f"{name}-marginals")


def _importance_table(sensitivity: Sensitivity, name: str) -> Table:
    results = sensitivity.results
    return Table(
        name=name,
        title=f"Sensitivity {results.sweep}: how much each setting matters",
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("n", ("n", "num_counted")),
            Column("Importance (%)", tuple(f"fanova_percent{end}" for end in _ENDS)),
            Column("By PED-ANOVA (%)", tuple(f"ped_anova_percent{end}" for end in _ENDS)),
            Column("Rank correlation", tuple(f"rank_correlation{end}" for end in _ENDS)),
            Column("In the best trial", ("best_trial_value",), align="left"),
            Column("Best mean at", ("best_mean_values",), align="left"),
        ),
        rows=tuple(_importance_row(setting, results) for setting in sensitivity.settings),
        notes=(*_count_notes(results), *_importance_notes(sensitivity)),
    )


def _importance_row(setting: SettingSensitivity, results: SearchResults) -> tuple[Cell, ...]:
    best = setting.best_marginal(results.objective)
    return (
        text_cell(setting.dimension.name),
        count_cell(len(setting.trials), len(results.counted)),
        _share_cell(setting.fanova),
        _share_cell(setting.ped_anova),
        _correlation_cell(setting.rank_correlation),
        Cell("" if setting.best is None else one_line(value_text(setting.best)), (setting.best,)),
        text_cell(best.group.label if best else ""),
    )


def _share_cell(share: Interval | None) -> Cell:
    """Return an excess in percent with its band, bold where the band is above 0."""
    if share is None or share.mean is None or share.low is None or share.high is None:
        return Cell("", (None, None, None))
    text = f"{_signed(share.mean, 1)} ({_signed(share.low, 1)} to {_signed(share.high, 1)})"
    return Cell(text, (share.mean, share.low, share.high), is_bold=share.low > 0)


def _correlation_cell(correlation: Interval | None) -> Cell:
    if correlation is None:
        return Cell("", (None, None, None))
    values = (correlation.mean, correlation.low, correlation.high)
    mean, low, high = (_signed(value or 0.0, 2, "+") for value in values)
    return Cell(f"{mean} ({low} to {high})", values, is_bold=correlation.excludes_zero)


def _signed(value: float, digits: int, sign: str = "") -> str:
    rounded = round(value, digits) + 0.0  # no minus before a zero
    return f"{rounded:{sign if rounded else ''}.{digits}f}".replace("-", MINUS)


def _count_notes(results: SearchResults) -> Iterator[str]:
    counted, proposed = len(results.counted), len(results.proposals)
    words = results.objective.metric.text
    seeds = f", mean over {len(results.seeds)} seeds" if len(results.seeds) > 1 else ""
    yield (
        f"Counted: {counted} of {proposed} proposals, those that ran to full length. "
        f"What is explained is their {words} of the last epoch{seeds}; "
        "the test split was never looked at."
    )
    states = ("stopped", "diverged", "failed", "unfinished")
    gaps = [f"{results.count(state)} {state}" for state in states if results.count(state)]
    if results.num_repeats:
        gaps.append(f"{results.num_repeats} with the same settings as another, which count once")
    if gaps:
        yield f"Not counted: {', '.join(gaps)}."


def _importance_notes(sensitivity: Sensitivity) -> Iterator[str]:
    yield from _silence_notes(sensitivity)
    if not any(setting.fanova for setting in sensitivity.settings):
        return
    yield (
        "Importance: the share of the differences between trials (their variance, as a random "
        "forest models it) that goes back to this setting alone, by fANOVA, less what a copy of "
        "the setting gets whose values are shuffled among the trials. In brackets: where the "
        f"middle 95 % of {NUM_HALVES} random halves of the trials lie, put around the value from "
        "all of them. Bold: the band is above 0. A setting whose band touches 0 cannot be told "
        "from one without effect. Weak effects come out smaller than they are."
    )
    yield (
        "Importance counts what a setting does by itself. Settings that act only together, where "
        "each helps or harms depending on the other, are not seen: an importance near 0 does not "
        "show that a setting can be left out."
    )
    yield (
        "PED-ANOVA, a second opinion: how differently the setting is chosen in the best trials, as "
        "a share of the sum over all settings, less the same for shuffled copies. It finds what is "
        "strong, but mostly does not tell a weak setting from one without effect."
    )
    yield (
        "Rank correlation (Spearman), of numbers only, with its 95 % interval: "
        f"{MINUS}1 where the objective always falls as the setting grows, +1 where it always "
        "rises, near 0 where the best lies in the middle or nothing changes."
    )
    yield from _conditional_notes(sensitivity)


def _conditional_notes(sensitivity: Sensitivity) -> Iterator[str]:
    if any(
        len(setting.trials) < len(sensitivity.results.counted) for setting in sensitivity.settings
    ):
        yield (
            "A setting that only some trials have (n of all counted) is held against the others "
            "among those trials alone, so its importance is a share of their differences and "
            "does not compare with those of settings that all have."
        )


def _silence_notes(sensitivity: Sensitivity) -> Iterator[str]:
    for silence, words in _SILENCES.items():
        names = [
            one_line(setting.dimension.name)
            for setting in sensitivity.settings
            if setting.silence == silence
        ]
        if len(names) == len(sensitivity.settings):
            yield f"No importance is given: {words}. See the means by value."
        elif names:
            yield f"No importance is given for {', '.join(names)}: {words}."


def _marginals_table(sensitivity: Sensitivity, name: str) -> Table:
    results = sensitivity.results
    metric = results.objective.metric
    return Table(
        name=name,
        title=f"Sensitivity {results.sweep}: mean {metric.text} by value",
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("Value", ("value",), align="left"),
            Column("n", ("n",)),
            measured_column(metric, metric.text.capitalize()),
        ),
        rows=tuple(
            _marginal_row(setting, marginal, metric)
            for setting in sensitivity.settings
            for marginal in setting.marginals
        ),
        notes=(*_count_notes(results), *_marginal_notes()),
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
    half = objective.half_width
    spread = "" if half is None else f" {PLUS_MINUS} {half:.{digits}f}"
    return Cell(_signed(objective.mean, digits) + spread, values)


def _marginal_notes() -> Iterator[str]:
    yield (
        f"Mean over the counted trials with this value, {PLUS_MINUS} half the width of its 95 % t "
        "interval (n - 1 degrees of freedom); where n is 1 there is none. Ranges are five parts "
        "of equal length, of equal ratio where the search varies the logarithm; a range holds its "
        "lower end."
    )
    yield (
        "The other settings differ between these trials too, and a search that learns tries good "
        "values more often: the means describe the trials, they prove no cause."
    )
