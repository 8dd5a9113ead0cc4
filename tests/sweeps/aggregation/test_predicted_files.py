"""Predictions name the files of a folder of pictures and their classes. It takes eight seconds."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import sweeps
from tests.capsmodel.data.pictures import write_classes
from tests.growth.test_evaluation import launch, train_without_ray
from tests.pages import page, snippets

SWEEP = '''"""Small networks on pictures."""
from capsmodel.data import ImageFolder
from search_spaces import ListedArms, Sweep
from tests.capsmodel.small_config import small_config

SWEEP = Sweep(
    name="photos",
    base=small_config(
        data=ImageFolder("photos", size=8, validation_fraction=0.3, fraction=0.9),
        stopping={"kind": "fixed_epochs", "epochs": 1},
    ),
    plan=ListedArms(baseline="base", arms={"base": {}, "one": {"model.routing.iterations": 1}}),
    seeds=[0],
)
'''


@pytest.fixture
def folder(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with trained networks, and the store of their records."""
    monkeypatch.chdir(tmp_path)
    for name in ("CAPSWEEP_TRACKING_URI", "CAPSWEEP_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    write_classes(tmp_path / "photos", ("cat", "dog", "sea owl"), 20)
    (tmp_path / "photos.py").write_text(SWEEP)
    train_without_ray(tmp_path / "photos.py", tmp_path / "capsweep-store")
    shutil.copy(empty_database, tmp_path / "capsweep-store")
    return tmp_path


def test_the_three_lines_of_the_page_list_wrong_files_by_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launch(folder / "photos.py", folder / "capsweep-store").exit_code == 0
    frame = sweeps.predictions("photos")
    assert {*frame["file"].map(lambda file: (folder / "photos" / file).is_file())} == {True}
    assert [*frame["file"].str.partition("/")[0]] == [*frame["label_name"]]
    names = np.array(["cat", "dog", "sea owl"])
    assert [*frame["prediction_name"]] == [*names[frame["prediction"]]]
    validation = sweeps.predictions("photos", split="validation")
    assert not {*frame["file"]} & {*validation["file"]}

    key = frame["trial_key"][0]
    _, _, section = page("data").partition("### Which were predicted wrongly\n")
    lines = snippets(section)[0]
    assert len(lines.splitlines()) == 3
    capsys.readouterr()
    exec(compile(lines.replace("59f300", key[:6]), "docs/data.md", "exec"), {"sweeps": sweeps})
    first, *rows = capsys.readouterr().out.splitlines()
    assert first.split() == ["file", "label_name", "prediction_name"]
    wrong = frame.query("trial_key == @key and is_wrong")
    assert len(rows) == len(wrong) > 0
    assert all(file in row for file, row in zip(wrong["file"], rows, strict=True))
