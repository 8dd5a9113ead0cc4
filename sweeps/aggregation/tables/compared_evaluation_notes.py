"""What stands above and below the table of one evaluation."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import Coordinate
from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    mean_of_measured,
)
from sweeps.aggregation.tables.ablation_lead import (
    covered,
    judged_by,
    not_covered,
    seeds_alone_notes,
    shared_notes,
    split_words,
    verdicts,
)
from sweeps.aggregation.tables.ablation_notes import (
    added_notes,
    alone_notes,
    diverged_notes,
    failed_notes,
    identical_notes,
    without_spread_notes,
)
from sweeps.aggregation.tables.mean_notes import mean_notes
from sweeps.aggregation.tables.targets import arrival_notes, matched_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, gap_text
from sweeps.records.evaluation_names import evaluation_title
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.plain_text import one_line, points_text


def evaluation_words(evaluation: ManifestEvaluation) -> str:
    """Return an evaluation's kind with its settings."""
    return evaluation_title(evaluation.kind, evaluation.settings)


def evaluation_lead(manifest: Manifest, evaluated: ComparedEvaluation) -> str:
    """Return the verdicts on the primary figure, and the smallest difference to be shown."""
    compared, split = evaluated.primary.compared, evaluated.evaluation.looks_at
    without = [
        f"{one_line(one.arm.arm.name)} ({_why_none(one.arm)})"
        for one in evaluated.primary.arms
        if not one.errors
    ]
    words = [*verdicts(manifest, compared, split)] if compared else []
    words[:1] = [judged_by(_figure_words(evaluated), first) for first in words[:1]]
    if without:
        words.append(f"No result: {', '.join(without)}.")
    return " ".join(words)


def _why_none(arm: ArmResults) -> str:
    return gap_text(arm) or "not available"


def evaluation_notes(
    manifest: Manifest,
    evaluated: ComparedEvaluation,
    csv: str,
    of_test_errors: Sequence[Comparison] = (),
) -> Iterator[str]:
    """Say what the figures are and cover, the most needed first.

    Args:
        manifest: The sweep.
        evaluated: The arms compared by the evaluation.
        csv: Name of the file that has all points with their intervals.
        of_test_errors: The arms' test errors compared, where trials stop in a window.
    """
    primary, split = evaluated.primary, evaluated.evaluation.looks_at
    compared, arms = primary.compared, [one.arm for one in primary.arms]
    yield from _figure_notes(evaluated)
    if compared:
        yield from matched_notes(manifest, arms, of_test_errors)
    yield from arrival_notes(arms)
    if any(one.way for one in compared):
        yield (
            f"{PLUS_MINUS}: half of the 95 % interval, each by itself, for "
            f"{covered(compared, split)}; {not_covered(compared)}."
        )
        yield _bold_note(manifest, evaluated)
    means = [mean_of_measured(one) for one in primary.arms]
    notes = [*mean_notes(means, split)]
    is_said = any(one.way for one in compared) and any(mean.errors for mean in means)
    yield from notes[1:] if is_said else notes
    yield from _clean_notes(evaluated)
    if evaluated.points:
        ends = ", with intervals for each by itself and half widths for all together,"
        yield f"All points{ends * any(one.way for one in compared)} are in {csv}."
    yield from _cost_notes(arms)
    yield from alone_notes(compared)
    yield from seeds_alone_notes(compared)
    yield from without_spread_notes(compared)
    yield from shared_notes(manifest, compared)
    if words := split_words(manifest):
        yield words
    yield from added_notes(manifest, compared)
    yield from _tuned_notes(manifest, compared)
    yield from diverged_notes(arms)
    yield from failed_notes(arms)
    yield from gap_notes(arms)
    yield from _not_available_notes(evaluated)
    yield from identical_notes(arms)


def _figure_notes(evaluated: ComparedEvaluation) -> Iterator[str]:
    """Say what the primary figure is."""
    primary, images = evaluated.primary, f"{evaluated.evaluation.looks_at} images"
    is_mean = len(primary.figure.weights) > 1
    area = (
        f": the area under the curve through {len(evaluated.points)} points, divided by its range"
    )
    yield (
        f"Arms are {'compared' if primary.compared else 'shown'} by {_figure_words(evaluated)}, on "
        f"{images}{area * is_mean}."
    )


def _figure_words(evaluated: ComparedEvaluation) -> str:
    """Return the name of the primary figure, and over what it is a mean."""
    figure = evaluated.primary.figure
    if len(figure.weights) == 1:
        return figure.metric.text
    first, last = (point.figure.metric.at for point in (evaluated.points[0], evaluated.points[-1]))
    assert first is not None
    assert last is not None
    unit = f" {last.unit}" if last.unit else ""
    return (
        f"the mean {figure.metric.text} over {axis_words(first)} from {first.value:g} to "
        f"{last.value:g}{unit}"
    )


def axis_words(at: Coordinate) -> str:
    """Return the name of a coordinate as readers see it."""
    return at.name.replace("_", " ")


def _bold_note(manifest: Manifest, evaluated: ComparedEvaluation) -> str:
    """Say for how many comparisons verdicts hold together."""
    num = max(one.num_together for one in evaluated.primary.compared)
    within = manifest.margin_points
    margin = (
        "undecided does not mean equal: no margin was declared."
        if within is None
        else f"equivalent: shown to differ by less than {points_text(within)}, the margin declared."
    )
    of_points = max((o.num_together for p in evaluated.points for o in p.compared), default=0)
    marked = (
        f" A point in bold differs from the baseline's: only where its arm does, and for all "
        f"{of_points} comparisons of points together."
    )
    together = f"all {num} comparisons of arms and evaluations together" if num > 1 else "this arm"
    return f"Bold: holds for {together}; {margin}{marked * bool(of_points)}"


def _clean_notes(evaluated: ComparedEvaluation) -> Iterator[str]:
    """Say what the second difference is."""
    if evaluated.primary.figure.is_error:
        yield (
            f"From clean: the arm's figure minus its own {evaluated.evaluation.looks_at} error on "
            f"the same images. It has no verdict."
        )


def _cost_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what multiply-adds count, and where the seconds of trainings are."""
    if any(arm.arm.num_multiply_adds is not None for arm in arms):
        yield (
            "Multiply-adds: those of matrix products and convolutions in a forward pass of one "
            "image, the decoder included."
        )
    yield "Training times depend on the machine and are in cost.md."


def _tuned_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Say that arms were tuned by another figure."""
    if compared and manifest.plan and manifest.plan.tuned:
        yield (
            "Arms were tuned by their validation error, not by this figure: differences are those "
            "of the arms as they were chosen."
        )


def _not_available_notes(evaluated: ComparedEvaluation) -> Iterator[str]:
    """Say of which finished trials there is no result."""
    missing = {
        one_line(one.arm.arm.name): len(one.arm.counted) - len(one.errors)
        for one in evaluated.primary.arms
        if len(one.arm.counted) > len(one.errors)
    }
    if missing:
        words = ", ".join(f"{name} {number}" for name, number in missing.items())
        yield (
            f"Not available: finished trials that could not be evaluated ({words}): their weights "
            f"were not kept, the evaluation failed, or it is not for such networks."
        )
