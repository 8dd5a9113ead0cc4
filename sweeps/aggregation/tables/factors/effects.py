"""The table of effects: what each factor does, and each two beyond what each does alone."""

from collections.abc import Sequence

from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.effects.effects import Effects
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.factors.effect_cells import COLUMNS, effect_row
from sweeps.aggregation.tables.factors.effect_lead import effect_lead
from sweeps.aggregation.tables.factors.effect_notes import effect_notes
from sweeps.aggregation.tables.factors.effect_values import effect_values
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def effects_table(
    manifest: Manifest, arms: Sequence[ArmResults], found: Effects, name: str = "effects"
) -> Table:
    """Return one row an effect: main effects first, then interactions.

    Programs get all that the verdicts were made from. Holds only what trial keys decide.

    Args:
        manifest: Of a design of factors.
        arms: All of the sweep's.
        found: Its effects.
        name: The table's name, as the manifest declares it.
    """
    table = Table(
        name=name,
        title=f"Effects {manifest.sweep}: what each setting does to the test error",
        lead=effect_lead(found),
        description=one_line(manifest.description),
        columns=COLUMNS,
        rows=tuple(effect_row(place, found) for place in range(len(found.effects))),
        notes=tuple(effect_notes(manifest, arms, found)),
        for_programs=with_departures(manifest, effect_values(found, name)),
    )
    return with_departures(manifest, table)
