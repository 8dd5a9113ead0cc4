"""The check-mark table of a design."""

from search_spaces.tables import ComponentsTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import ablation_comparisons
from sweeps.aggregation.tables.factors.components import components_table


def make_components(declared: ComponentsTable, results: Results) -> Section:
    """Return which component is in which arm, with its error.

    Raises:
        BadInput: If the sweep's design says nothing of components or factors.
    """
    manifest = results.manifest
    arms = arm_results(manifest, results.records)
    compared = ablation_comparisons(manifest, arms, results.predictions)
    table = components_table(manifest, arms, compared, declared.name)
    return Section(declared.name, declared.kind, tables=(table,))
