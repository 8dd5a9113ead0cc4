"""The ablation table: how large each arm's error is, and what may be said of its difference."""

from collections.abc import Mapping, Sequence

from sweeps.aggregation.rendering.table import Table
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import Comparison, ablation_comparisons
from sweeps.aggregation.results.identical import grouped
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.tables.ablation.cells import COLUMNS, row
from sweeps.aggregation.tables.ablation.values import ablation_values
from sweeps.aggregation.tables.ablation.words import ablation_words
from sweeps.aggregation.tables.departures import with_departures
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord


def ablation_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    name: str = "ablation",
    predictions: Mapping[str, Predictions] | None = None,
) -> Table:
    """Return the ablation table of a sweep's records.

    Args:
        manifest: The sweep's arms, baseline and cells.
        records: By trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
        predictions: By trial key. Without them intervals are over seeds alone, and nothing is bold.
    """
    arms = arm_results(manifest, records)
    return compared_table(
        manifest, arms, ablation_comparisons(manifest, arms, predictions or {}), name
    )


def compared_table(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison], name: str
) -> Table:
    """Return one row an arm, in the manifest's order, compared with the baseline.

    Arms with identical results stand in one row for readers; programs get a row each, with all
    that the verdicts were made from. Holds only what trial keys decide: no times, devices or
    record ids.

    Args:
        manifest: The sweep's purpose and departures.
        arms: With their trials.
        compared: Each group of arms with the baseline.
        name: The table's name, as the manifest declares it.
    """
    by_arm = {arm.arm.name: one for one in compared for arm in one.arms}
    is_whole = all(len(arm.counted) == len(arm.trials) for arm in arms)
    rows = [row(group, by_arm.get(group[0].arm.name), is_whole=is_whole) for group in grouped(arms)]
    lead, notes = ablation_words(manifest, arms, compared)
    is_tuned = manifest.plan is not None and bool(manifest.plan.tuned)
    values = ablation_values(arms, by_arm, name, is_tuned=is_tuned)
    table = Table(
        name=name,
        title=f"Ablation {manifest.sweep}: test error by arm",
        lead=lead,
        description=one_line(manifest.description),
        columns=COLUMNS,
        rows=tuple(rows),
        notes=notes,
        for_programs=with_departures(manifest, values),
    )
    return with_departures(manifest, table)
