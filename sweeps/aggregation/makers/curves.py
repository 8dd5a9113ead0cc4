"""A metric over the epochs."""

from functools import partial

from search_spaces.tables import CurvesFigure
from sweeps.aggregation.figures.curves import curves_data, curves_figure
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.results.arm_curves import arm_curves, finished_trials


def make_curves(declared: CurvesFigure, results: Results) -> Section:
    """Return the figure with the numbers behind it, for which the curves are asked for.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    histories = results.histories(finished_trials(manifest, records), declared.metric)
    curves = arm_curves(manifest, records, histories)
    return Section(
        name=declared.name,
        kind=declared.kind,
        figures=(Figure(declared.name, partial(curves_figure, manifest, curves, declared)),),
        data=(curves_data(declared.name, curves, manifest.metric(declared.metric)),),
        title=f"Learning curves: {manifest.metric(declared.metric).text}",
    )
