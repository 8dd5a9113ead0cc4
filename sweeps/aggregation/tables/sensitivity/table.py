"""The sensitivity tables: how much each searched setting matters, alone and together."""

from sweeps.aggregation.rendering.table import Cell, Column, Table, count_cell, text_cell
from sweeps.aggregation.sensitivity.described import SettingSensitivity
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.tables.sensitivity.importance_notes import importance_notes
from sweeps.aggregation.tables.sensitivity.marginals import marginals_table
from sweeps.aggregation.tables.sensitivity.pairs import pairs_table
from sweeps.aggregation.tables.sensitivity.sample_notes import sample_notes
from sweeps.aggregation.tables.sensitivity.shares import SHARE_FIELDS, share_cell, signed
from sweeps.records.plain_text import one_line

_ENDS = ("", "_low", "_high")


def sensitivity_tables(sensitivity: Sensitivity, name: str = "sensitivity") -> tuple[Table, ...]:
    """Return one row a setting, the most important first; one row a value; one row a pair.

    The names of the others end in `-marginals` and `-pairs`; of pairs there is no table where
    there are none. All hold only what trial keys decide.

    Args:
        sensitivity: As `sensitivity` returns it.
        name: The first table's name, as the manifest declares it.
    """
    pairs = (pairs_table(sensitivity, f"{name}-pairs"),) if sensitivity.pairs else ()
    importances = _importance_table(sensitivity, name)
    return importances, marginals_table(sensitivity, f"{name}-marginals"), *pairs


def _importance_table(sensitivity: Sensitivity, name: str) -> Table:
    return Table(
        name=name,
        title=f"Sensitivity {sensitivity.results.sweep}: how much each setting matters",
        columns=(
            Column("Setting", ("setting",), align="left"),
            Column("n", ("n", "num_counted")),
            _weights("Importance (%)", "fanova_percent", SHARE_FIELDS),
            _weights("By PED-ANOVA (%)", "ped_anova_percent", SHARE_FIELDS),
            _weights("Rank correlation", "rank_correlation", _ENDS),
            Column("In the best trial", ("best_trial_value",), align="left"),
            Column("Best mean at", ("best_mean_values",), align="left"),
        ),
        rows=tuple(_row(setting, sensitivity) for setting in sensitivity.settings),
        notes=(*sample_notes(sensitivity), *importance_notes(sensitivity)),
    )


def _weights(title: str, name: str, ends: tuple[str, ...]) -> Column:
    return Column(title, tuple(f"{name}{end}" for end in ends), hide_if_empty=True)


def _row(setting: SettingSensitivity, sensitivity: Sensitivity) -> tuple[Cell, ...]:
    best = setting.best_marginal(sensitivity.results.objective)
    shares = (
        share_cell(excess, excess is not None and sensitivity.is_bold(excess))
        for excess in (setting.fanova, setting.ped_anova)
    )
    return (
        text_cell(setting.dimension.name),
        count_cell(len(setting.trials), len(sensitivity.sample.values)),
        *shares,
        _correlation_cell(setting, sensitivity),
        Cell("" if setting.best is None else one_line(value_text(setting.best)), (setting.best,)),
        text_cell(best.group.label if best else ""),
    )


def _correlation_cell(setting: SettingSensitivity, sensitivity: Sensitivity) -> Cell:
    correlation = setting.rank_correlation
    if correlation is None:
        return Cell("", (None, None, None))
    values = (correlation.mean, correlation.low, correlation.high)
    mean, low, high = (signed(value or 0.0, 2, "+") for value in values)
    is_bold = setting.is_trend and not sensitivity.sample.is_chosen
    return Cell(f"{mean} ({low} to {high})", values, is_bold=is_bold)
