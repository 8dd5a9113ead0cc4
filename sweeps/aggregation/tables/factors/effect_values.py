"""All that the verdicts on effects were made from: what programs read of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import part_cell, shown_value
from sweeps.aggregation.rendering.table import Table, Value, data_table
from sweeps.aggregation.results.effects.effects import Effect, Effects
from sweeps.aggregation.results.effects.factors import Factor, term_name
from sweeps.aggregation.statistics.contrasts import Term
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.tables.factors.level_words import change_words


def effect_values(found: Effects, name: str) -> Table:
    """Return one row an effect. Effects are in percentage points of test error.

    Args:
        found: Effects of a design.
        name: The table's.
    """
    rows = [
        _names(one, found.factors) | _tested(one, found) | _explained(place, found)
        for place, one in enumerate(found.effects)
    ]
    return data_table(name, [*rows[0]], ([*row.values()] for row in rows))


def _names(one: Effect, factors: Sequence[Factor]) -> dict[str, Value]:
    def joined(terms: Sequence[Term]) -> str:
        return "; ".join(term_name(term, factors) for term in terms)

    return {
        "effect": joined([one.term]),
        "aliases": joined(one.aliases) or None,
        "levels": "; ".join(change_words(factors[place].levels) for place in one.term),
        "verdict": one.verdict,
    }


def _tested(one: Effect, found: Effects) -> dict[str, Value]:
    term = one.weighed
    way = term.way if term and one.contrast.effect is not None else None
    crossed = found.crossed
    return {
        **_ends("effect_points", term.effect if term else None),
        "covers_images": bool(term and term.way),
        "p": term.p_value if term else None,
        "adjusted_p": one.adjusted_p,
        **_ends("simultaneous_points", term.simultaneous if term else None),
        "standard_error_points": _points(way.standard_error if way else None),
        "degrees_of_freedom": _first(way.degrees) if way else None,
        "seed_part_points": _points(np.sqrt(way.over_seeds) if way else None),
        "image_part_points": _points(np.sqrt(way.over_images) if way else None),
        "detectable_points": _points(term.detectable if term else None),
        "log_e_value": term.log_e if term else None,
        "num_arms": len(crossed.arms),
        "num_arms_left_out": len(crossed.left_out),
        "num_seeds": len(crossed.seeds),
        "num_images": crossed.num_images,
    }


def _explained(place: int, found: Effects) -> dict[str, Value]:
    one, anova = found.effects[place], found.anova
    return {
        "sum_of_squares_percent": part_cell(one.share).values[0],
        "num_degrees": one.contrast.degrees,
        "num_degrees_declared": one.contrast.num_wanted,
        "f_over_seeds": anova.f_value(place),
        "f_residual_degrees": anova.residual_degrees,
        "p_over_seeds": anova.p_value(place),
    }


def _ends(name: str, interval: Interval | None) -> dict[str, Value]:
    ends = (interval.mean, interval.low, interval.high) if interval else (None,) * 3
    names = (name, f"{name}_low", f"{name}_high")
    return {one: _points(end) for one, end in zip(names, ends, strict=True)}


def _points(value: Any) -> float | None:
    return shown_value(None if value is None else _first(value), TEST_ERROR)


def _first(value: Any) -> float:
    return float(np.ravel(value)[0])
