"""Settings that no network can have are refused before a start: one sentence, exit code 2."""

import sys
from pathlib import Path

import pytest

from sweeps import cli

REFUSED = {
    "em_pitfalls model.conv_kernel=9": "A kernel of 9 pixels does not fit 8 pixels padded by 0",
    "sabour2017_table1 data.kind=digits": "A kernel of 9 pixels does not fit 8 pixels padded by 0",
    "hinton2018_table1 augmentation.size=64": "does not fit into images of 48 x 48: set",
    "hinton2018_table1 data.kind=digits": "does not fit into images of 8 x 8: set",
    "em_pitfalls model.conv_stride=0": "model.conv_stride must be an integer at least 1, got 0.",
    "hinton2018_table1 model.first_kernel=20": "does not fit a layer of 14 by 14: choose a kernel",
    "hinton2018_table1 model.pose_size=8": "A matrix pose is square, got 8 numbers: choose 4, 9",
    "margin_schedules model.profile=official model.routing.bias=false": (
        "The profile 'official' of the model 'capsnet' sets routing.bias to true, got false: leave"
    ),
    "novel_viewpoints model.profile=official model.routing.competition=parents": (
        "sets routing.competition to places, got parents: leave one of them out."
    ),
    "hinton2018_table1 model.profile=official": (
        "'model.profile' sets 'model.coordinates', which is varied by the sweep itself (arm "
    ),
    "novel_viewpoints data.views=all": "'data.views' is varied by the sweep itself (arm ",
    "best_practices data.kind=viewpoints": "class_weights must be 5, one for each class of the",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_cannot_be_is_refused(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *settings = words.split()
    options = [word for setting in settings for word in ("--set", setting)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["capsweep", "plan", name, *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (2, "")
    assert captured.err.startswith("capsweep: ")
    assert captured.err.count("\n") == 1
    assert REFUSED[words] in captured.err
    assert not list(tmp_path.iterdir())
