"""The table of effects, with means, shares and figures."""

from dataclasses import replace

from search_spaces.tables import EffectsTable
from sweeps.aggregation.figures.effect_figures import effect_figures
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.effects.effects import effects_of
from sweeps.aggregation.results.effects.shares import shares_of
from sweeps.aggregation.tables.factors.effects import effects_table
from sweeps.aggregation.tables.factors.means import means_table
from sweeps.aggregation.tables.factors.shares import shares_table


def make_effects(declared: EffectsTable, results: Results) -> Section:
    """Return the effects, the means by level and, of a full factorial, the shares.

    Raises:
        BadInput: If the sweep's design has no factors.
    """
    manifest, name = results.manifest, declared.name
    arms = arm_results(manifest, results.records)
    found = effects_of(manifest, arms, results.predictions)
    effects = effects_table(manifest, arms, found, name)
    tables = [effects, means_table(manifest, found, f"{name}-means")]
    if manifest.design and manifest.design.kind == "factorial":
        shares = shares_of(found)
        if shares.shares:
            tables.append(shares_table(manifest, found, shares, f"{name}-shares"))
        else:
            note = f"No shares of the variance are given: {shares.why_none}."
            tables[0] = replace(effects, notes=(*effects.notes, note))
    return Section(
        name=name,
        kind=declared.kind,
        tables=tuple(tables),
        figures=effect_figures(manifest, found, name),
    )
