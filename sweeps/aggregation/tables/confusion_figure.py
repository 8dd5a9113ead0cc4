"""Which classes an arm takes for which, over its trials, and its surest mistakes, as one figure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.rendering.figure_style import GREY, WIDTH_INCHES
from sweeps.aggregation.results.class_names import class_name, class_names_in
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.plain_text import listed, one_line, shortened
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

KIND = "confusion"
_MOST_ARMS = 4
_MOST_NAMED = 10
_MOST_NUMBERED = 20  # classes: the numbers of more would not be read
_SHOWN = 10
_COLUMNS = 5
_LETTERS = 40  # that stand side by side under the counts

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Mistake:
    """An image that is taken for another class, channels first."""

    image: np.ndarray
    label: int
    predicted: int
    belief: float


@dataclass(frozen=True)
class Confused:
    """The confusion matrix of an arm, with its surest mistakes.

    Attributes:
        counts: Numbers of images of all trials, by true and by predicted class.
        mistakes: Those with the highest belief, each image once.
        names: Names of the classes; () if they have numbers alone.
    """

    counts: np.ndarray
    mistakes: tuple[Mistake, ...]
    names: tuple[str, ...]


def confused(trials: Iterable[Arrays]) -> Confused:
    """Return the confusion of one or more trials of an arm.

    Args:
        trials: The arrays that the evaluation gave of each, at least one.

    Raises:
        KeyError: If an array is missing.
    """
    arrays = list(trials)
    by_place: dict[int, Mistake] = {}
    for trial_arrays in arrays:
        for place, mistake in _mistakes(trial_arrays):
            if place not in by_place or mistake.belief > by_place[place].belief:
                by_place[place] = mistake
    ranked = sorted(by_place.items(), key=lambda pair: (-pair[1].belief, pair[0]))
    return Confused(
        counts=np.sum([trial_arrays["counts"] for trial_arrays in arrays], axis=0),
        mistakes=tuple(mistake for _, mistake in ranked[:_SHOWN]),
        names=class_names_in(arrays[0]),
    )


def _mistakes(arrays: Arrays) -> Iterator[tuple[int, Mistake]]:
    names = ("places", "images", "labels", "predicted", "beliefs")
    rows = zip(*(arrays[f"mistaken_{name}"] for name in names), strict=True)
    for place, image, label, predicted, belief in rows:
        yield int(place), Mistake(image, int(label), int(predicted), float(belief))


def confusion_figures(results: Results, name: str) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Return a figure for each of the first arms with results, the baseline first, and a note.

    Args:
        results: Those of the sweep.
        name: Name of the table that they belong to.

    Returns:
        The figures, and a sentence on the arms without one, if there are any.
    """
    figures: list[Figure] = []
    without: list[str] = []
    for evaluation in results.manifest.evaluations:
        if evaluation.kind != KIND:
            continue
        for arm in sorted(results.arms, key=lambda arm: not arm.is_baseline):
            arrays = results.find_arrays(arm.counted.values(), evaluation.evaluation_key)
            trials = [arrays[key] for key in sorted(arrays) if "counts" in arrays[key]]
            if trials and len(figures) < _MOST_ARMS:
                title = _title(arm.arm.name, evaluation, len(trials))
                draw = partial(confusion_drawing, confused(trials), title)
                figures.append(Figure(f"{name}-{KIND}-{len(figures) + 1}", draw))
            elif trials:
                without.append(arm.shown_name)
    command = SuggestedCommand("show", "TRIAL", "--pictures").plain
    note = f"Confusions without a figure: {listed(without, _MOST_NAMED)}. See {command}."
    return tuple(figures), (note,) if without else ()


def _title(arm: str, evaluation: ManifestEvaluation, num_trials: int) -> str:
    trials = f"{num_trials} trial{'s' * (num_trials > 1)}"
    return f"{shortened(one_line(arm), 40)}: {evaluation.looks_at} images of {trials}"


def confusion_drawing(shown: Confused, title: str) -> "Drawing":
    """Return the figure. Call it inside `figure_style`."""
    from matplotlib.figure import Figure as Drawing  # here, as it takes half a second to import

    rows = -(-len(shown.mistakes) // _COLUMNS)
    heights = [4.4, 1.45 * rows + 0.3 * (rows > 0)]
    drawing = Drawing(figsize=(WIDTH_INCHES, sum(heights)), layout="constrained")
    if rows == 0:
        _draw_counts(drawing.add_subplot(), shown, title)
        return drawing
    (upper,), (lower,) = drawing.subfigures(2, 1, squeeze=False, height_ratios=heights)
    _draw_counts(upper.add_subplot(), shown, title)
    panels = lower.subplots(rows, _COLUMNS, squeeze=False).ravel()
    for axes in panels:
        axes.axis("off")
    for axes, mistake in zip(panels, shown.mistakes, strict=False):
        _draw_mistake(axes, mistake, shown.names)
    lower.suptitle("The surest mistakes", x=0.01, ha="left", fontsize=10)
    return drawing


def _draw_counts(axes: "Axes", shown: Confused, title: str) -> None:
    counts, number = shown.counts, len(shown.counts)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=0.5)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("taken for")
    axes.set_ylabel("is")
    axes.set_title(title, loc="left", fontsize=10)
    places = range(0, number, 1 if number <= _MOST_NUMBERED else -(-number // _MOST_NUMBERED))
    labels = [class_name(shown.names, place) for place in places]
    middle = [place + 0.5 for place in places]
    is_long = max(map(len, labels)) * number > _LETTERS
    slant: dict[str, Any] = {"rotation": 45, "ha": "right"} if is_long else {}
    axes.set_xticks(middle, labels, **slant)
    axes.set_yticks(middle, labels)
    if number > _MOST_NUMBERED:
        return
    for row, column in np.argwhere(counts > 0).tolist():
        colour = "white" if shares[row, column] > 0.5 else "black"
        text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "color": colour}
        axes.text(column + 0.5, row + 0.5, f"{counts[row, column]:,}", **text)


def _draw_mistake(axes: "Axes", mistake: Mistake, names: tuple[str, ...]) -> None:
    image = mistake.image
    is_coloured = image.shape[0] == 3
    pixels = np.clip(np.moveaxis(image, 0, -1), 0, 1) if is_coloured else image[0]
    axes.imshow(pixels, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    title = f"{class_name(names, mistake.label)}, taken for\n{class_name(names, mistake.predicted)}"
    axes.set_title(f"{title} ({mistake.belief:.2f})", fontsize=7, color=GREY)
