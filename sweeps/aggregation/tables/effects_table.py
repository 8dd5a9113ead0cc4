"""The table of effects of a design's factors, with means by level and shares of the variance."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from capsmodel.metrics import TEST_ERROR
from search_spaces.tables import EffectsTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import (
    p_cell,
    part_cell,
    share_cell,
    shown_interval,
    value_cell,
)
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Needed,
    Table,
    Value,
    difference_cell,
    integer_cell,
    mean_cell,
    no_difference_cell,
    values_table,
)
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.factor_effects import Effect, Effects, effects_of
from sweeps.aggregation.results.factors import (
    TIMES,
    Factor,
    change_text,
    level_texts,
    term_name,
)
from sweeps.aggregation.results.level_means import LevelMean, level_means
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.variance_shares import (
    VarianceShare,
    VarianceShares,
    variance_shares,
)
from sweeps.aggregation.statistics.contrasts import Term
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.columns import (
    interval_values,
    points,
    reach_values,
    with_departures,
)
from sweeps.aggregation.tables.effects_figure import effect_figures
from sweeps.aggregation.tables.effects_notes import effect_lead, effect_name, effect_notes
from sweeps.aggregation.tables.headlines import effects_headline
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

EFFECT_COLUMNS = (
    Column("Effect", ("effect",), align="left"),
    Column("Levels", ("levels",), align="left", hide_if_empty=True),
    Column("Points", ("points",), hide_if_empty=True),
    Column("F (degrees)", ("f",), hide_if_empty=True),
    Column("Squares (%)", ("sum_of_squares_percent",), hide_if_empty=True),
    Column("p", ("p",), hide_if_empty=True),
    Column("Holm p", ("adjusted_p",), hide_if_empty=True),
    Column("Verdict", ("verdict",), align="left", is_answer=True),
)
_MEAN_ENDS = ("", "_low", "_high", "_num_seeds")
_MEAN_COLUMNS = (
    Column("Setting", ("setting",), align="left"),
    Column("Level", ("level",), align="left"),
    Column("n", ("n",)),
    Column("Error %", ("mean_test_error_percent",)),
    Column("From the first level", tuple(f"difference_points{end}" for end in _MEAN_ENDS)),
)
_SHARE_ENDS = ("", "_low", "_high")
_SHARE_COLUMNS = (
    Column("Setting or two", ("term",), align="left"),
    Column("Share (%)", tuple(f"shapley_percent{end}" for end in _SHARE_ENDS)),
    Column("Alone (%)", tuple(f"alone_percent{end}" for end in _SHARE_ENDS)),
)


def make_effects(declared: EffectsTable, results: Results) -> Section:
    """Return the effects, the means by level and, of a full factorial, the shares.

    Raises:
        BadInput: If the sweep's design has no factors.
    """
    manifest, arms, name = results.manifest, results.arms, declared.name
    effects = effects_of(manifest, arms, results.predictions)
    table = effects_table(manifest, arms, effects, name)
    tables = [table, means_table(manifest, effects, f"{name}-means")]
    if manifest.design and manifest.design.kind == "factorial":
        shares = variance_shares(effects)
        if shares.shares:
            tables.append(shares_table(manifest, effects, shares, f"{name}-shares"))
        else:
            note = f"No shares of the variance are given: {shares.why_none}."
            tables[0] = replace(table, notes=(*table.notes, note))
    return Section(
        name=name,
        kind=declared.kind,
        tables=tuple(tables),
        figures=effect_figures(manifest, effects, name),
    )


def effects_table(
    manifest: Manifest, arms: Sequence[ArmResults], effects: Effects, name: str = "effects"
) -> Table:
    """Return one row per effect: main effects first, then interactions.

    Programs get all that the verdicts were made from. Holds only what trial keys decide.

    Args:
        manifest: Manifest of a design of factors.
        arms: All of the sweep's.
        effects: Its effects.
        name: The table's name, as the manifest declares it.
    """
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: what each setting does to the test error",
        lead=effect_lead(effects),
        headline=effects_headline(effects),
        description=one_line(manifest.description),
        columns=EFFECT_COLUMNS,
        rows=tuple(effect_row(place, effects) for place in range(len(effects.effects))),
        notes=tuple(effect_notes(manifest, arms, effects)),
        for_programs=effect_values(effects, name),
    )
    return with_departures(manifest, table)


def effect_row(place: int, effects: Effects) -> tuple[Cell, ...]:
    """Return the row of the effect at an index."""
    effect = effects.effects[place]
    term = effect.test
    levels = "" if effect.is_interaction else change_text(effects.factors[effect.term[0]].levels)
    return (
        Cell(effect_name(effect, effects), (term_name(effect.term, effects.factors),)),
        Cell(levels, (levels,)),
        _points_cell(term.effect if term else None, is_bold=effect.is_significant),
        _f_cell(place, effects),
        Cell(part_cell(effect.share).text if term else "", (effect.share,)),
        p_cell(term.p_value if term else None),
        p_cell(effect.adjusted_p),
        Cell(effect.verdict, (effect.verdict,), is_bold=effect.is_significant),
    )


def _points_cell(effect: Interval | None, *, is_bold: bool) -> Cell:
    if effect is None or effect.mean is None:
        return Cell("", (None,))
    shown = shown_interval(effect, TEST_ERROR)
    text = mean_cell(shown).text
    sign = "+" if (shown.mean or 0) > 0 and not text.startswith("0.00") else ""
    return Cell(f"{sign}{text}", (shown.mean,), is_bold=is_bold)


def _f_cell(place: int, effects: Effects) -> Cell:
    """Return F with its degrees of freedom, for an effect that is not a single number."""
    anova, effect = effects.anova, effects.effects[place]
    value = anova.f_value(place)
    if effect.contrast.effect is not None or value is None:
        return Cell("", (value,))
    return Cell(f"{value:.2f} ({effect.contrast.degrees}, {anova.residual_degrees})", (value,))


def effect_values(effects: Effects, name: str) -> Table:
    """Return one row per effect. Effects are in percentage points of test error.

    Args:
        effects: Effects of a design.
        name: The table's.
    """
    rows = [
        _names(effect, effects.factors) | _tested(effect, effects) | _explained(place, effects)
        for place, effect in enumerate(effects.effects)
    ]
    return values_table(name, rows)


def _names(effect: Effect, factors: Sequence[Factor]) -> dict[str, Value]:
    def joined(terms: Sequence[Term]) -> str:
        return "; ".join(term_name(term, factors) for term in terms)

    return {
        "effect": joined([effect.term]),
        "aliases": joined(effect.aliases) or None,
        "levels": "; ".join(change_text(factors[place].levels) for place in effect.term),
        "verdict": effect.verdict,
    }


def _tested(effect: Effect, effects: Effects) -> dict[str, Value]:
    term = effect.test
    way = term.way if term and effect.contrast.effect is not None else None
    crossed = effects.crossed
    return {
        **interval_values("effect_points", term.effect if term else None),
        "covers_images": bool(term and term.way),
        "p": term.p_value if term else None,
        "adjusted_p": effect.adjusted_p,
        **interval_values("simultaneous_points", term.simultaneous if term else None),
        "standard_error_points": points(way.standard_error if way else None),
        "degrees_of_freedom": float(np.ravel(way.degrees)[0]) if way else None,
        "seed_part_points": points(np.sqrt(way.over_seeds) if way else None),
        "image_part_points": points(np.sqrt(way.over_images) if way else None),
        **reach_values(term.reach if term else None),
        "log_e_value": term.log_e if term else None,
        "num_arms": len(crossed.arms),
        "num_arms_left_out": len(crossed.left_out),
        "num_seeds": len(crossed.seeds),
        "num_images": crossed.num_images,
    }


def _explained(place: int, effects: Effects) -> dict[str, Value]:
    effect, anova = effects.effects[place], effects.anova
    return {
        "sum_of_squares_percent": part_cell(effect.share).values[0],
        "num_degrees": effect.contrast.degrees,
        "num_degrees_declared": effect.contrast.num_wanted,
        "f_over_seeds": anova.f_value(place),
        "f_residual_degrees": anova.residual_degrees,
        "p_over_seeds": anova.p_value(place),
    }


def means_table(manifest: Manifest, effects: Effects, name: str) -> Table:
    """Return one row per level of each setting. Nothing is bold: verdicts stand with the effects.

    Args:
        manifest: Manifest of a design of factors.
        effects: Its effects.
        name: The table's.
    """
    images = "images" if effects.crossed.objects is None else "objects"
    seeds_alone = effects.crossed.wrong is None
    covered = "new seeds alone" if seeds_alone else f"new seeds and new test {images}"
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: mean test error by level",
        columns=_MEAN_COLUMNS,
        rows=tuple(_mean_row(effects, level) for level in level_means(effects)),
        notes=(
            "Error: mean over the n trials of all arms with this level and the seeds that all arms "
            "have.",
            Needed(
                f"From the first level: in points, as the model of the effects has it. "
                f"{PLUS_MINUS}: 95 %, for {covered}, of each alone, which decides nothing: the "
                f"table of effects has the verdicts."
            ),
        ),
    )
    return with_departures(manifest, table)


def _mean_row(effects: Effects, level: LevelMean) -> tuple[Cell, ...]:
    factor = effects.factors[level.factor]
    text = level_texts(factor.levels)[level.level]
    mean = Cell("", (None,)) if level.mean is None else value_cell(level.mean, TEST_ERROR)
    difference = no_difference_cell()
    if level.difference is not None:
        shown = shown_interval(level.difference, TEST_ERROR)
        difference = difference_cell(shown, shown.n)
    return (
        Cell(one_line(factor.name) if not level.level else "", (factor.path,)),
        Cell(text, (text,)),
        integer_cell(level.num_trials),
        mean,
        difference,
    )


def shares_table(manifest: Manifest, effects: Effects, shares: VarianceShares, name: str) -> Table:
    """Return the shares: a row for each setting and for each pair. Nothing is bold.

    Args:
        manifest: Manifest of a full factorial.
        effects: Its effects.
        shares: The shares of its settings and pairs, at least one.
        name: The table's.
    """
    noise = "seeds and images" if shares.covers_images else "seeds"
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: share of each setting in the differences of the arms",
        columns=_SHARE_COLUMNS,
        rows=tuple(_share_row(effects, share) for share in shares.shares),
        notes=(
            f"Share: exact Shapley share of the variance of the arms' {TEST_ERROR.text}, without "
            f"what {noise} add to it; the settings together are 100 %.",
            "Alone: of a setting, what it explains whatever the others are; of two (x), what only "
            "both together explain, with an equal part of what three or more do. All of these are "
            "100 % too: a setting's share is its own and half of those of its pairs.",
            Needed(
                f"{PLUS_MINUS}: 95 % over new seeds, each left out once (jackknife). Noise is "
                f"taken off without stopping at 0, so a share of nothing is as often below 0 as "
                f"above."
            ),
        ),
    )
    return with_departures(manifest, table)


def _share_row(effects: Effects, share: VarianceShare) -> tuple[Cell, ...]:
    name = TIMES.join(effects.factors[place].name for place in share.term)
    return (
        Cell(one_line(name), (term_name(share.term, effects.factors),)),
        share_cell(share.shapley),
        share_cell(share.alone),
    )
