"""A sample of the drawn objects, one of each class, as docs/published.md shows it.

python benchmarks/viewpoints.py docs/viewpoints.png
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

from capsmodel.data import Viewpoints
from sweeps.aggregation.rendering.figure_style import figure_style, image_bytes

CLASSES = ("quadruped", "figure", "aeroplane", "truck", "car")
INSTANCES = (4, 0)  # trained on, tested on


class View(NamedTuple):
    """From where an object is seen, in smallNORB's codes."""

    elevation: int
    azimuth: int
    lighting: int


VIEWS = (View(1, 2, 0), View(4, 12, 3), View(8, 28, 5))


def main() -> None:
    pairs = [
        [sample(label, instance, view) for instance in INSTANCES for view in VIEWS]
        for label in range(len(CLASSES))
    ]
    with figure_style():
        rows, columns = len(CLASSES), len(INSTANCES) * len(VIEWS)
        figure, axes = plt.subplots(rows, columns, figsize=(6.8, 3.1))
        for label, of_class in enumerate(pairs):
            for place, pair in enumerate(of_class):
                axis = axes[label][place]
                axis.imshow(np.hstack(list(pair)), cmap="gray", vmin=0, vmax=255)
                axis.set_axis_off()
                if label == 0:
                    axis.set_title(heading(place), fontsize=7)
            axes[label][0].text(-6, 24, CLASSES[label], ha="right", va="center", fontsize=8)
        figure.subplots_adjust(
            left=0.11, right=0.995, top=0.9, bottom=0.01, wspace=0.04, hspace=0.06
        )
        Path(sys.argv[1]).write_bytes(image_bytes(figure, "png"))


def sample(label: int, instance: int, view: View) -> np.ndarray:
    data = Viewpoints()
    objects = "train" if instance == INSTANCES[0] else "test"
    catalogue = data.catalogue(objects)
    wanted = np.array([label, instance, *view])
    matches = (np.column_stack([catalogue.labels, catalogue.codes]) == wanted).all(axis=1)
    return data.pixels(objects, np.flatnonzero(matches).tolist())[0]


def heading(place: int) -> str:
    objects = "trained on" if place < len(VIEWS) else "tested on"
    view = VIEWS[place % len(VIEWS)]
    return f"{objects}\n{30 + 5 * view.elevation}° up, {10 * view.azimuth}° round"


if __name__ == "__main__":
    main()
