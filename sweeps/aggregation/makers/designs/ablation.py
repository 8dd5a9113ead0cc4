"""The ablation table with its figure."""

from functools import partial

from search_spaces.tables import AblationTable
from sweeps.aggregation.figures.ablation_figure import ablation_figure
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.tables.ablation.table import compared_table
from sweeps.aggregation.tables.ablation.values import pairs_table
from sweeps.records.errors import BadInput


def make_ablation(declared: AblationTable, results: Results) -> Section:
    """Return the table and the figure of all arms.

    Raises:
        BadInput: If the sweep is a search.
    """
    manifest = results.manifest
    if manifest.search is not None:
        raise BadInput(
            f"Table '{declared.name}' compares arms with a baseline, and the search "
            f"'{manifest.sweep}' has none: declare a confirmation table instead."
        )
    arms, compared = results.arms, results.compared
    pairs = pairs_table(arms, results.predictions, f"{declared.name}-pairs")
    table = compared_table(manifest, arms, compared, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=(table,),
        data=(pairs,) if pairs else (),
        figures=(Figure(declared.name, partial(ablation_figure, manifest, arms, compared)),),
    )
