"""What stands above and below the tables of evaluations."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import Coordinate
from sweeps.aggregation.rendering.table import PLUS_MINUS, Needed
from sweeps.aggregation.results.arms import ArmResults, gap_text
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.coverage import covered, not_covered, split_sentence
from sweeps.aggregation.results.evaluation_comparisons import (
    ComparedEvaluation,
    mean_of_measured,
)
from sweeps.aggregation.results.mean_errors import MeanOfArm
from sweeps.aggregation.results.targets import has_window, missed
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.reach_sentences import ERRORS, FIGURES
from sweeps.records.evaluation_names import evaluation_title
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_evaluation import ManifestEvaluation


def evaluation_text(evaluation: ManifestEvaluation) -> str:
    """Return an evaluation's kind with its settings."""
    return evaluation_title(evaluation.kind, evaluation.settings)


def axis_text(at: Coordinate) -> str:
    """Return the name of a coordinate as readers see it."""
    return at.name.replace("_", " ")


def evaluation_lead(manifest: Manifest, evaluated: ComparedEvaluation) -> str:
    """Return the verdicts on the primary figure, and what a next table would find."""
    compared, split = evaluated.primary.compared, evaluated.evaluation.looks_at
    words = ERRORS if evaluated.primary.figure.is_error else FIGURES
    sentences = [*notes.verdicts(manifest, compared, split, words)] if compared else []
    if sentences:  # of several answers on a page each begins with its figure
        answer = sentences[0]
        sentences[0] = f"By {_figure_name(evaluated)}, {answer[0].lower()}{answer[1:]}"
    without = [
        f"{measured.arm.shown_name} ({gap_text(measured.arm) or 'not available'})"
        for measured in evaluated.primary.arms
        if not measured.errors
    ]
    if without:
        sentences.append(f"No result: {', '.join(without)}.")
    return " ".join(sentences)


def compared_notes(
    manifest: Manifest,
    evaluated: ComparedEvaluation,
    csv: str,
    of_test_errors: Sequence[Comparison] = (),
) -> Iterator[str]:
    """Yield what the figures are and cover, the most needed first.

    Args:
        manifest: The sweep.
        evaluated: The arms compared by the evaluation.
        csv: Name of the file that has all points with their intervals.
        of_test_errors: The arms' test errors compared, where trials stop in a window.
    """
    primary = evaluated.primary
    compared, arms = primary.compared, [measured.arm for measured in primary.arms]
    yield from _figure(evaluated)
    if compared:
        yield from notes.matched_notes(manifest, arms, of_test_errors)
    yield from _late(arms)
    yield from _covered(manifest, evaluated)
    yield from _points(evaluated, csv)
    yield from _costs(arms)
    yield from notes.alone_notes(compared)
    yield from notes.near_limit_notes(compared)
    yield from notes.seeds_alone_notes(compared)
    yield from notes.shared_notes(manifest, compared)
    if sentence := split_sentence(manifest):
        yield sentence
    yield from notes.added_notes(manifest, compared)
    if compared and manifest.plan and manifest.plan.tuned:
        yield (
            "Arms were tuned by their validation error, not by this figure: differences are those "
            "of the arms as they were chosen."
        )
    yield from notes.diverged_notes(arms)
    yield from notes.failed_notes(arms)
    yield from notes.gap_notes(arms)
    yield from _not_available(evaluated)
    yield from notes.identical_notes(arms)


def _figure(evaluated: ComparedEvaluation) -> Iterator[str]:
    primary = evaluated.primary
    area = (
        f": the area under the curve through {len(evaluated.points)} points, divided by its range"
    )
    yield (
        f"Arms are {'compared' if primary.compared else 'shown'} by {_figure_name(evaluated)}, on "
        f"{evaluated.evaluation.looks_at} images{area * (len(primary.figure.weights) > 1)}."
    )


def _figure_name(evaluated: ComparedEvaluation) -> str:
    """Return the name of the primary figure, and over what it is a mean."""
    figure = evaluated.primary.figure
    if len(figure.weights) == 1:
        return figure.metric.text
    first, last = (point.figure.metric.at for point in (evaluated.points[0], evaluated.points[-1]))
    assert first is not None
    assert last is not None
    unit = f" {last.unit}" if last.unit else ""
    return (
        f"the mean {figure.metric.text} over {axis_text(first)} from {first.value:g} to "
        f"{last.value:g}{unit}"
    )


def _late(arms: Sequence[ArmResults]) -> Iterator[str]:
    late = [
        f"{len(missed(arm))} of {len(arm.counted)} of {arm.shown_name}"
        for arm in arms
        if missed(arm)
    ]
    if late and has_window(arms):
        yield f"Trials that never reached their window and are in the means: {', '.join(late)}."


def _covered(manifest: Manifest, evaluated: ComparedEvaluation) -> Iterator[str]:
    compared, split = evaluated.primary.compared, evaluated.evaluation.looks_at
    is_tested = any(comparison.way for comparison in compared)
    if is_tested:
        num = max(comparison.num_together for comparison in compared)
        of_points = max((o.num_together for p in evaluated.points for o in p.compared), default=0)
        marked = (
            f" A point in bold differs from the baseline's: only where its arm does, and for all "
            f"{of_points} comparisons of points together."
        )
        together = f"all {num} comparisons of arms and evaluations" * (num > 1)
        yield Needed(
            f"{PLUS_MINUS}: half of the 95 % interval of this row alone, for "
            f"{covered(compared, split)}; {not_covered(compared)}."
        )
        yield Needed(
            f"{notes.bold_text(compared, together)}; {notes.margin_text(manifest)}"
            f"{marked * bool(of_points)}"
        )
    means = [mean_of_measured(measured) for measured in evaluated.primary.arms]
    of_means = [*notes.mean_notes(means, split)]
    has_intervals = is_tested and any(mean.errors for mean in means)
    yield from of_means[1:] if has_intervals else of_means


def _points(evaluated: ComparedEvaluation, csv: str) -> Iterator[str]:
    if evaluated.primary.figure.is_error:
        yield (
            f"From clean: the arm's figure minus its own {evaluated.evaluation.looks_at} error on "
            f"the same images. It has no verdict."
        )
    if evaluated.points:
        ends = ", with intervals for each by itself and half widths for all together,"
        is_tested = any(comparison.way for comparison in evaluated.primary.compared)
        yield f"All points{ends * is_tested} are in {csv}."


def _costs(arms: Sequence[ArmResults]) -> Iterator[str]:
    if any(arm.arm.num_multiply_adds is not None for arm in arms):
        yield (
            "Multiply-adds: those of matrix products and convolutions in a forward pass of one "
            "image, the decoder included."
        )
    yield "Training times depend on the machine and are in cost.md."


def _not_available(evaluated: ComparedEvaluation) -> Iterator[str]:
    missing = [
        f"{measured.arm.shown_name} {len(measured.arm.counted) - len(measured.errors)}"
        for measured in evaluated.primary.arms
        if len(measured.arm.counted) > len(measured.errors)
    ]
    if missing:
        yield (
            f"Not available: finished trials that could not be evaluated ({', '.join(missing)}): "
            f"their weights were not kept, the evaluation failed, or it is not for such networks."
        )


def recorded_notes(
    manifest: Manifest,
    evaluations: Sequence[ManifestEvaluation],
    means: Sequence[tuple[ManifestEvaluation, MeanOfArm]],
    *,
    is_any_missing: bool,
) -> Iterator[str]:
    """Yield how to read a table without comparisons.

    Args:
        manifest: The sweep.
        evaluations: Those of the table's rows.
        means: The evaluation and mean of each row.
        is_any_missing: Whether a finished trial was not evaluated.
    """
    yield "n: finished trials that were evaluated, out of those of the arm."
    by_image = sorted({evaluation.looks_at for evaluation, mean in means if mean.errors})
    yield from notes.mean_notes((mean for _, mean in means), " and ".join(by_image) or "test")
    if sentence := split_sentence(manifest):
        yield sentence
    for split, images in (
        ("test", "test images, which nothing is chosen by"),
        ("validation", "validation images"),
    ):
        if kinds := dict.fromkeys(
            evaluation.kind for evaluation in evaluations if evaluation.looks_at == split
        ):
            yield f"Of {images}: {', '.join(kinds)}."
    if is_any_missing:
        yield (
            "Not available: finished trials that could not be evaluated: their weights were not "
            "kept, or the evaluation failed."
        )
