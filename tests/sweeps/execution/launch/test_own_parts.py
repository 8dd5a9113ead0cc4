"""A user's own parts are tried in a child process before a launch."""

from pathlib import Path

import pytest

from sweeps.execution.launch.own_parts import try_own_parts
from sweeps.execution.plan.changes import Changes
from sweeps.execution.sweep_check import loaded_sweep
from sweeps.records.errors import BadInput
from tests.sweeps.execution.test_sweep_check import TEXT

LINE = "        return poses\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "capsweep" / "passed"


def tried(
    folder: Path, before: str = LINE, after: str = LINE, seconds: float = 60, **options: bool
) -> None:
    """Try a sweep with another line, as a launch does."""
    file = folder / "mine.py"
    file.write_text(TEXT.replace(before, after), encoding="utf-8")
    try_own_parts(loaded_sweep(file, Changes()), file.read_text(), seconds, **options)


def test_what_works_is_tried_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried(tmp_path)
    (passed,) = cache.iterdir()
    monkeypatch.setattr("multiprocessing.get_context", None)  # nothing is forked any more
    tried(tmp_path)
    assert [*cache.iterdir()] == [passed]


def test_a_bug_is_bad_input_with_its_line(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(BadInput, match=r"^The routing 'mine' must .*mine.py, line [0-9]+"):
        tried(tmp_path, LINE, "        return poses[:, :5]\n")
    assert not cache.exists()


@pytest.mark.parametrize("raised", ["        return pose\n", "        open('words.txt').close()\n"])
def test_a_launch_in_this_process_shows_itself_what_code_raises(
    tmp_path: Path, cache: Path, raised: str
) -> None:
    tried(tmp_path, LINE, raised, shows_errors=True)
    assert not cache.exists()


def test_a_launch_in_this_process_refuses_wrong_results_too(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^The routing 'mine' must .*mine.py, line [0-9]+"):
        tried(tmp_path, LINE, "        return poses[:, :5]\n", shows_errors=True)


def test_a_debugger_stops_in_the_training_alone(tmp_path: Path, cache: Path) -> None:
    tried(tmp_path, LINE, f"        breakpoint()\n{LINE}", shows_errors=True)
    assert cache.exists()


@pytest.mark.parametrize(
    ("last", "why", "seconds"),
    [
        ("        while True: pass\n", "took too long", 3),
        ("        import os; os._exit(7)\n", "ended with code 7", 60),
        ("        import ctypes; ctypes.string_at(1)\n", "was killed by SIGSEGV", 60),
    ],
)
def test_the_launch_goes_on_without_a_check_that_does_not_end(
    tmp_path: Path,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    last: str,
    why: str,
    seconds: float,
) -> None:
    tried(tmp_path, LINE, last, seconds)
    sentence = capsys.readouterr().out
    assert f"The check of your own parts {why}, at Arm 'base' (" in sentence
    assert f"mine.py, line 32: {last.strip()}). The launch goes on" in sentence
    assert not cache.exists()


def test_what_parts_print_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tried(tmp_path, LINE, "        print('routed', flush=True)\n        return poses\n")
    assert capfd.readouterr().out == ""


# Where it stands, and what reads words.txt there, which lies in the folder of the launch.
READERS = {
    "load": ("        return splits\n", "        open('words.txt').close(); return splits\n"),
    "an import": ("import torch\n", "import torch; open('words.txt').close()\n"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_beside_the_sweep_is_not_there_in_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("1 2")
    with pytest.raises(
        BadInput, match=r"'words.txt'.*line [0-9]+\)\. A trial runs in .* absolute path"
    ):
        tried(tmp_path, *READERS[name])
    assert Path.cwd() == tmp_path
