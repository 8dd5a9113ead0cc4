"""The pictures of a trial, drawn from arrays."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sweeps.aggregation.pictures.picture_contents import (
    Array,
    CouplingPicture,
    Example,
    Examples,
    Perturbed,
    RoutedImage,
)
from sweeps.aggregation.rendering.figure_style import (
    BLUE,
    GREY,
    GRID,
    ORANGE,
    WIDTH_INCHES,
    figure_style,
    image_bytes,
)
from sweeps.aggregation.results.class_names import class_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

_MOST_TYPES = 6
_SHORT = 8  # letters that fit over an image
_BETWEEN = 0.06  # an image and what is drawn of it, as a share of an image
_PAIR = 2.38  # from a pair to the next one


def reconstruction_picture(examples: Examples, names: tuple[str, ...] = ()) -> bytes:
    """Return images of each class over what is drawn of them, framed as right or wrong."""
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    columns = len(examples.by_class)
    rows = len(examples.by_class[0]) - (not examples.has_wrong)
    with figure_style():
        cell = (WIDTH_INCHES - 0.75) / (1.08 * columns)
        height = cell * rows * _PAIR + 0.75
        figure = Figure(figsize=(WIDTH_INCHES, height))
        left, bottom = 0.7 / WIDTH_INCHES, 0.2 / height
        axes = figure.add_axes((left, bottom, 0.995 - left, 1 - 0.55 / height - bottom))
        axes.set_xlim(-0.04, 1.08 * columns)
        axes.set_ylim(rows * _PAIR, 0)
        axes.axis("off")
        for column, of_class in enumerate(examples.by_class):
            _heading(axes, column, of_class, names)
            for row, example in enumerate(of_class):
                if example:
                    _draw_pair(axes, example, (1.08 * column, row * _PAIR), names)
        for row in range(rows):
            is_wrong = examples.has_wrong and row == rows - 1
            label = "next wrong" if is_wrong else "image"
            axes.text(-0.12, row * _PAIR + 0.5, label, **_LABEL)
            axes.text(-0.12, row * _PAIR + 1.5 + _BETWEEN, "drawn", **_LABEL)
        _reconstruction_legend(figure, examples, height)
        return image_bytes(figure, "png")


_LABEL: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 7, "color": GREY}


def _heading(
    axes: "Axes", column: int, of_class: Sequence[Example | None], names: tuple[str, ...]
) -> None:
    label = next((example.label for example in of_class if example), None)
    text = "" if label is None else class_name(names, label)
    size = 9 if len(text) < _SHORT else 6
    axes.text(1.08 * column + 0.5, -0.12, text, ha="center", va="bottom", fontsize=size)


def _draw_pair(
    axes: "Axes", example: Example, corner: tuple[float, float], names: tuple[str, ...]
) -> None:
    from matplotlib.patches import Rectangle

    is_right = example.label == example.predicted
    left, top = corner
    below = top + 1 + _BETWEEN
    _draw_image(axes, example.image, left, top)
    _draw_image(axes, example.reconstruction, left, below)
    colour = BLUE if is_right else ORANGE
    frame = Rectangle((left, below), 1, 1, fill=False, edgecolor=colour, lw=1.1, zorder=3)
    axes.add_patch(frame)
    if not is_right:
        label = f"taken for {class_name(names, example.predicted)}"
        place = (left + 0.5, below + 1.07)
        axes.text(*place, label, ha="center", va="top", fontsize=6, color=ORANGE)


def _draw_image(axes: "Axes", image: Array, left: float, top: float, *, side: float = 1.0) -> None:
    axes.imshow(
        _shown(image),
        extent=(left, left + side, top + side, top),
        cmap="gray",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        aspect="auto",
    )


def _reconstruction_legend(figure: "Figure", examples: Examples, height: float) -> None:
    from matplotlib.patches import Patch

    first = len(examples.by_class[0]) - 1
    title = f"Reconstructions of the first {first} validation images of each class"
    figure.text(0.01, 1 - 0.06 / height, title, ha="left", va="top", fontsize=10)
    frames = [Patch(fill=False, edgecolor=colour, lw=1.1) for colour in (BLUE, ORANGE)]
    figure.legend(
        frames,
        ["right", "wrong"],
        loc="upper right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        frameon=False,
        fontsize=8,
        handlelength=1.0,
        handleheight=1.0,
    )
    number = f"{examples.num_images:,} validation images"
    note = f"Besides these, none of the first {number} of these classes is classified wrongly."
    if examples.has_wrong:
        note = f"Last pairs: of each class the next image, of {number}, that is classified wrongly."
    figure.text(0.01, 0.05 / height, note, fontsize=7, color=GREY, va="bottom")


def perturbation_picture(grids: Sequence[Perturbed], names: tuple[str, ...] = ()) -> bytes:
    """Return a grid an image: numbers of the pose in rows, what is added to them in columns."""
    from matplotlib.figure import Figure  # here, as it takes half a second to import

    rows, columns = grids[0].drawn.shape[:2]
    with figure_style():
        width = (WIDTH_INCHES - 0.55) / len(grids) - 0.15
        height = width * rows / columns + 1.0
        figure = Figure(figsize=(WIDTH_INCHES, height))
        for place, grid in enumerate(grids):
            left = 0.55 + place * (width + 0.15)
            box = (left / WIDTH_INCHES, 0.42 / height, width / WIDTH_INCHES, 1 - 1.0 / height)
            axes = figure.add_axes(box)
            _draw_grid(axes, grid, names)
            if place == 0:
                axes.set_yticks(range(rows), [str(number) for number in range(1, rows + 1)])
                axes.set_ylabel("dimension of the pose")
        title = "Images drawn while one dimension of a capsule's pose is moved"
        figure.text(0.01, 1 - 0.06 / height, title, ha="left", va="top", fontsize=10)
        figure.text(0.5, 0.05 / height, "added to that dimension", ha="center", va="bottom")
        return image_bytes(figure, "png")


def _draw_grid(axes: "Axes", grid: Perturbed, names: tuple[str, ...]) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = grid.drawn.shape[:2]
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    for row in range(rows):
        for column in range(columns):
            _draw_image(axes, grid.drawn[row, column], column - 0.46, row - 0.46, side=0.92)
    middle = grid.offsets.index(0)
    frame = Rectangle((middle - 0.5, -0.5), 1, rows, fill=False, edgecolor=BLUE, lw=1.1, zorder=3)
    axes.add_patch(frame)
    shown = [1, middle, columns - 2]  # the outermost labels of two grids would meet
    axes.set_xticks(shown, [f"{grid.offsets[at]:+g}" if grid.offsets[at] else "0" for at in shown])
    axes.set_yticks([])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    title = f"an image of class {class_name(names, grid.label)}"
    axes.set_title(title, fontsize=8, loc="left", color=GREY)


def coupling_picture(couplings: CouplingPicture, names: tuple[str, ...] = ()) -> bytes:
    """Return maps of the shares that go to the winner, over a distribution of all shares."""
    from matplotlib.colors import TwoSlopeNorm  # here, as it takes half a second to import
    from matplotlib.figure import Figure

    uniform = 1 / couplings.num_classes
    largest = max(float(image.shares.max()) for image in couplings.images)
    norm = TwoSlopeNorm(uniform, vmin=0, vmax=max(largest, 1.5 * uniform))
    types = min(_MOST_TYPES, couplings.images[0].shares.shape[0])
    with figure_style():
        height = 0.95 * len(couplings.images) + 2.75
        figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
        (upper,), (lower,) = figure.subfigures(
            2, 1, squeeze=False, height_ratios=[height - 2.2, 2.2]
        )
        grid = upper.subplots(len(couplings.images), types + 2, squeeze=False)
        for axes, image in zip(grid, couplings.images, strict=True):
            _draw_maps(list(axes), image, norm, names)
        for axes, title in zip(grid[0], ("image", "mean"), strict=False):
            axes.set_title(title, fontsize=8)
        for place, axes in enumerate(grid[0][2:]):
            axes.set_title("strongest types" if place == 0 else "", fontsize=8, loc="left")
        bar = upper.colorbar(
            _scale(norm), ax=grid[:, 1:], shrink=0.85, aspect=25, pad=0.01, fraction=0.03
        )
        bar.set_ticks(
            [0, uniform, norm.vmax or 1], labels=["0", f"{uniform:.2g}", f"{norm.vmax:.2g}"]
        )
        bar.outline.set_visible(False)
        upper.suptitle(
            "Share of each child's output that goes to the class believed in most",
            x=0.01,
            ha="left",
            fontsize=10,
        )
        _draw_distribution(lower.add_subplot(), couplings, uniform)
        return image_bytes(figure, "png")


def _scale(norm: "TwoSlopeNorm") -> "object":
    from matplotlib.cm import ScalarMappable

    return ScalarMappable(norm, "PuOr_r")


def _draw_maps(
    axes: Sequence["Axes"], image: RoutedImage, norm: "TwoSlopeNorm", names: tuple[str, ...]
) -> None:
    spread = np.abs(image.shares - norm.vcenter).mean(axis=(1, 2))
    strongest = np.argsort(-spread, kind="stable")[: len(axes) - 2]
    axes[0].imshow(_shown(image.image), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    label = f"class {class_name(names, image.label)}"
    if image.predicted != image.label:
        label += f",\ntaken for {class_name(names, image.predicted)}"
    axes[0].set_ylabel(label, fontsize=8)
    maps = [image.shares.mean(axis=0), *image.shares[strongest]]
    for panel, values in zip(axes[1:], maps, strict=True):
        panel.imshow(values, cmap="PuOr_r", norm=norm, interpolation="nearest")
    for panel, number in zip(axes[2:], strongest, strict=True):
        panel.set_xlabel(f"type {number + 1}", fontsize=7, color=GREY, labelpad=1)
    for panel in axes:
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_visible(False)


def _draw_distribution(axes: "Axes", couplings: CouplingPicture, uniform: float) -> None:
    largest = float(max(couplings.to_winner.max(), couplings.to_others.max()))
    bins = list(np.linspace(0, max(largest, 2 * uniform), 61))
    for values, colour, label in (
        (couplings.to_winner, BLUE, "to the class believed in most"),
        (couplings.to_others, GREY, "to every other class"),
    ):
        weights = np.full(values.shape, 100 / values.size)
        axes.hist(values, bins, weights=weights, histtype="step", lw=1.5, color=colour, label=label)
    axes.axvline(uniform, color=ORANGE, lw=1, ls=(0, (4, 3)), label=f"all alike: {uniform:.3g}")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set_xlim(0, bins[-1])
    axes.set_xlabel("coupling: the share of a child's output that goes to the class")
    axes.set_ylabel("couplings (%)")
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=8)
    title = f"All children of {couplings.num_images} images"
    axes.set_title(title, loc="left", fontsize=9)


def _shown(image: Array) -> Array:
    """Return an image of three channels as colours, the first channel of another one as greys."""
    is_coloured = image.shape[0] == 3
    return np.clip(np.moveaxis(image, 0, -1), 0, 1) if is_coloured else image[0]
