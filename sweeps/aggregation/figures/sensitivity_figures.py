"""The figures of a search: importance, means by value, the search's course, and its settings."""

from functools import partial

from sweeps.aggregation.figures.importance_figure import importance_figure
from sweeps.aggregation.figures.marginals_figure import marginals_figure
from sweeps.aggregation.figures.search_figures import history_figure, parallel_figure
from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity


def sensitivity_figures(sensitivity: Sensitivity, name: str) -> tuple[Figure, ...]:
    """Return each figure of a search.

    Their names: `{name}-importance`, `{name}-marginals`, `{name}-history`, `{name}-parallel`.

    Args:
        sensitivity: As `sensitivity` returns it.
        name: As the manifest declares it.
    """
    return (
        Figure(f"{name}-importance", partial(importance_figure, sensitivity)),
        Figure(f"{name}-marginals", partial(marginals_figure, sensitivity)),
        Figure(f"{name}-history", partial(history_figure, sensitivity.results)),
        Figure(f"{name}-parallel", partial(parallel_figure, sensitivity.results)),
    )
