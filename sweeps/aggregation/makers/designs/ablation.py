"""The ablation table with its figure."""

from functools import partial

from search_spaces.tables import AblationTable
from sweeps.aggregation.figures.ablation_figure import ablation_figure
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import ablation_comparisons
from sweeps.aggregation.tables.ablation.table import ablation_table
from sweeps.aggregation.tables.ablation.values import pairs_table
from sweeps.records.errors import BadInput


def make_ablation(declared: AblationTable, results: Results) -> Section:
    """Return the table and the figure of all arms.

    Raises:
        BadInput: If the sweep is a search.
    """
    manifest, records = results.manifest, results.records
    if manifest.search is not None:
        raise BadInput(
            f"Table '{declared.name}' compares arms with a baseline, and the search "
            f"'{manifest.sweep}' has none: declare a confirmation table instead."
        )
    arms = arm_results(manifest, records)
    compared = ablation_comparisons(manifest, arms, results.predictions)
    pairs = pairs_table(arms, results.predictions, f"{declared.name}-pairs")
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=(ablation_table(manifest, records, declared.name, results.predictions),),
        data=(pairs,) if pairs else (),
        figures=(Figure(declared.name, partial(ablation_figure, manifest, arms, compared)),),
    )
