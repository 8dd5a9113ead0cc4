"""The page's way from a folder of pictures to a table and a prediction works as it is written.

It takes 40 seconds: six trainings of 8 epochs on 1,797 small pictures, and six evaluations.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from tests.end_to_end.command import clean_environment

pytestmark = pytest.mark.slow

_PAGE = Path(__file__).parents[2] / "docs" / "data.md"
_SCRIPT = Path(sys.executable).with_name("capsweep")
_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with digits as PNG files, and the page's sweep."""
    digits = load_digits()
    for number, (values, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        place = tmp_path / "photos" / _NAMES[label]
        place.mkdir(parents=True, exist_ok=True)
        grey = np.pad((values * (255 / 16)).round().astype(np.uint8), 2)
        Image.fromarray(grey).save(place / f"{number:04}.png")
    _, _, section = _PAGE.read_text(encoding="utf-8").partition("## Images of your own")
    block = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert block
    (tmp_path / "photos.py").write_text(block[1])
    return tmp_path


def said(folder: Path, command: str) -> str:
    done = subprocess.run(
        [str(_SCRIPT), *command.split()[1:]],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_folder_becomes_a_table_and_a_prediction_in_the_commands_of_the_page(
    folder: Path,
) -> None:
    _, _, section = _PAGE.read_text(encoding="utf-8").partition("## Images of your own")
    block = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert block
    *commands, predict = block[1].strip().splitlines()
    assert len(commands) <= 5
    outputs = [said(folder, command) for command in commands]
    assert "Data 'image_folder': 1,258 training, 180 validation and 359 test images." in outputs[0]
    assert "1 iteration" in outputs[1]
    best = json.loads(said(folder, f"{commands[-1]} --json"))
    key = best["arms"][0]["trials"][0]["trial_key"][:6]
    assert key in outputs[-1]
    output = said(folder, predict.replace("59f300", key))
    assert re.search(r"photos/seven/0007\.png +seven +0\.\d{3}", output)
    page = (folder / "reports/photos/report.html").read_text()
    assert page.count("data:image/png;base64,") >= 2
    assert (folder / "reports/photos/evaluations-confusion-1.png").exists()

    (folder / "elsewhere").mkdir()
    (folder / "photos").rename(folder / "elsewhere" / "photos")
    text = (folder / "photos.py").read_text().replace('"photos/"', '"elsewhere/photos"')
    (folder / "photos.py").write_text(text)
    again = said(folder, "capsweep run photos.py")
    assert "photos: 0 trained now, 6 of 6 cells filled." in again
