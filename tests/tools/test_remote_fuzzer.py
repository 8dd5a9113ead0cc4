"""Hostile job folders and lying login nodes are played, and what they do is seen."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.fuzz import remote

CHECKOUT = Path(__file__).parents[2]


def fuzzed(kind: str, rounds: int, seed: int) -> None:
    words = ["--rounds", str(rounds), "--seed", str(seed)]
    ended = subprocess.run(
        [sys.executable, "-m", "tools.fuzz.remote", kind, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{rounds} rounds, 0 with findings" in ended.stdout


@pytest.mark.parametrize("kind", ["folders", "login"])
def test_nobody_is_hurt_in_a_few_rounds(kind: str) -> None:
    fuzzed(kind, rounds=10, seed=5)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["folders", "login"])
def test_nobody_is_hurt_in_many_rounds(kind: str) -> None:
    fuzzed(kind, rounds=200, seed=6)


FAULTS: dict[str, tuple[Callable[[remote.Scene], object], str]] = {
    "writes elsewhere": (
        lambda scene: (scene.victim / "note.txt").write_text("x"),
        "the victim was changed",
    ),
    "makes files": (lambda scene: (scene.base / "made").touch(), "made outside: ['made']"),
    "raises": (lambda _: 1 // 0, "ZeroDivisionError"),
    "commands": (lambda _: sys.stdout.write("\x1b[2J"), "control characters"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(remote.slurm, "_slurm", remote.slurm._slurm)
    scene = remote.Scene(tmp_path)
    act, words = FAULTS[what]
    (finding,) = remote.play(scene, "", [lambda: act(scene)])
    assert words in finding
