"""What stands behind the means of a table: what their ± covers, and where there is none."""

from collections.abc import Iterable, Iterator

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.mean_errors import MeanOfArm
from sweeps.aggregation.tables.ablation_lead import covered_words, not_covered_words
from sweeps.aggregation.tables.data_notes import OBJECTS_NOTE


def mean_notes(means: Iterable[MeanOfArm], images: str = "test") -> Iterator[str]:
    """Yield what the ± of means covers, and what stands in brackets where there is no ±.

    Args:
        means: Those of the table.
        images: Which images their errors are counted on: "test", "validation and test".
    """
    shown = [*means]
    by_image = [mean.errors for mean in shown if mean.errors]
    if by_image:
        numbers = sorted({len({*errors.splits}) or 1 for errors in by_image})
        is_of_views = any(errors.objects is not None for errors in by_image)
        of_what = f"{images} {'objects' if is_of_views else 'images'}"
        yield (
            f"{PLUS_MINUS} of a mean: half of the 95 % interval, for "
            f"{covered_words(numbers, of_what)}; "
            f"{not_covered_words(numbers)}."
        )
        if is_of_views:
            yield OBJECTS_NOTE
    if any(mean.errors is None and mean.interval.deviation is not None for mean in shown):
        yield (
            f"In brackets: the standard deviation over seeds (sd), not an interval. {PLUS_MINUS} "
            f"is for errors on images whose predictions are recorded, from three seeds on."
            if not by_image
            else "Without it, in brackets: the standard deviation over seeds (sd), not an interval."
        )
