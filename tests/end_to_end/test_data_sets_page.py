"""The page's way from three folders of pictures to a table works as it is written."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from tests.end_to_end.command import Terminal
from tests.pages import page, snippets

pytestmark = pytest.mark.slow

_PER_CLASS = 60


@pytest.fixture
def terminal_with_pictures(tmp_path: Path, terminal: Terminal) -> Terminal:
    """A folder with three collections of pictures, and the page's sweep."""
    del tmp_path
    digits = load_digits()
    changes = {"photos": (0, 1.0), "scans": (0, 0.5), "sketches": (3, 1.0)}
    for collection, (shift, brightness) in changes.items():
        for label in range(10):
            of_class = digits.images[digits.target == label][:_PER_CLASS]
            place = terminal.folder / collection / str(label)
            place.mkdir(parents=True)
            for number, values in enumerate(of_class):
                grey = np.roll(np.pad(values * (brightness * 255 / 16), 2), shift, axis=1)
                Image.fromarray(grey.round().astype(np.uint8)).save(place / f"{number:04}.png")
    (terminal.folder / "three.py").write_text(snippets(page("data_sets"), "python")[0])
    return terminal


def test_three_folders_become_a_table_in_the_commands_of_the_page(
    terminal_with_pictures: Terminal,
) -> None:
    terminal = terminal_with_pictures
    commands = snippets(page("data_sets"), "console")[0].strip().splitlines()
    outputs = {}
    for command in commands:
        ended = terminal.run(*command.split()[1:])
        assert ended.code == 0, ended.explained()
        outputs[command.split()[1]] = ended.output
    assert "27 cells on 3 data sets" in outputs["plan"]
    assert "Overall" in outputs["run"]
    assert len(re.findall(r"three--\w+ +complete +9 of 9", outputs["status"])) == 3
    assert outputs["best"].count("On ") == 3
    lines = (terminal.folder / "reports/three/data_sets-long.csv").read_text().splitlines()
    assert len(lines) == 1 + 9
