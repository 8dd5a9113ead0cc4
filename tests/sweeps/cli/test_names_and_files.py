"""Each command takes a sweep's name or its file, and names the one that may be meant."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sweeps.cli.shell import Shell

MINE = """
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

PLAN = ListedArms(baseline="a", arms={"a": {}})
SWEEP = Sweep(name="quickstart", base=QUICKSTART.base, plan=PLAN)
raise RuntimeError("it was run")
"""


@pytest.fixture
def mine(shell: Shell, storage: Path) -> Path:
    """A file whose sweep has the name of the launched one; running it raises."""
    assert storage.exists()
    path = shell.folder / "fashion_routing.py"
    path.write_text(MINE)
    return path


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["best"],
        ["report"],
        ["delete"],
    ],
    ids=" ".join,
)
def test_a_reader_takes_a_file_without_running_it(shell: Shell, words: list[str]) -> None:
    by_name, by_file = (shell(*words, one) for one in ("quickstart", "fashion_routing.py"))
    assert (by_file.code, by_file.out, by_file.err) == (by_name.code, by_name.out, by_name.err)
    assert by_file.code == 0, by_file.err


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("words", [["diff", "quickstart"], ["report", "quickstart", "--compare"]])
def test_the_other_sweep_of_a_comparison_may_be_a_file(shell: Shell, words: list[str]) -> None:
    assert "would be compared with itself" in shell.refused(*words, "fashion_routing.py")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["stop"], "No launch of 'quickstart' runs"),
        (["logs"], "The sweep 'quickstart' has no log"),
        (
            ["run", "quickstart_search", "--warm-start"],
            "No finished trial of 'quickstart' is a point",
        ),
        (["show"], "'quickstart' is a sweep, not a trial: capsweep status quickstart"),
    ],
)
def test_what_a_launched_sweep_has_not_is_said_by_its_name(
    shell: Shell, words: list[str], sentence: str
) -> None:
    assert sentence in shell.refused(*words, "fashion_routing.py")


@pytest.mark.usefixtures("mine")
def test_reading_by_a_file_loads_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom sweeps import cli\n"
        "sys.argv = ['capsweep', 'best', 'fashion_routing.py']\n"
        "try: cli.main()\nfinally: assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "definition",
    ['NAME = "mine"\nSWEEP = Sweep(name=NAME)', "SWEEP = made()", "SWEEP: Sweep", "x = 1"],
)
@pytest.mark.usefixtures("storage")
def test_a_name_that_is_no_literal_is_asked_for(shell: Shell, definition: str) -> None:
    (shell.folder / "mine.py").write_text(definition)
    sentence = shell.refused("best", "mine.py")
    assert "give the name in place of the file" in sentence or "defines no sweep" in sentence


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "fashion_routing"], "Did you mean 'fashion_routing.py'?"),
        (["plan", "fashin.py"], "Did you mean 'fashion_routing.py'?"),
        (["check", "fashion_routin"], "Did you mean 'fashion_routing.py'?"),
        (["run", "quickstart.py"], "Did you mean 'quickstart'?"),
        (["status", "fashion_routing"], "Did you mean 'fashion_routing.py'?"),
        (["best", "fashin.py"], "Did you mean 'fashion_routing.py'?"),
        (["diff", "quickstart", "fashion_routing"], "Did you mean 'fashion_routing.py'?"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_near_file_is_offered(shell: Shell, words: list[str], sentence: str) -> None:
    assert sentence in shell.refused(*words)


def test_a_file_that_shares_its_ending_alone_is_not_offered(shell: Shell) -> None:
    (shell.folder / "a.py").write_text(MINE)
    assert "Did you mean" not in shell.refused("run", "fashin.py")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("words", [["status"], ["diff", "quickstart"]])
def test_one_name_is_offered(shell: Shell, words: list[str]) -> None:
    (shell.folder / "quickstart.py").write_text(MINE)
    sentence = shell.refused(*words, "quikstart")
    assert "Did you mean 'quickstart'?" in sentence
    assert sentence.count("Did you mean") == 1


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("command", ["run", "status"])
def test_the_file_that_defines_a_sweep_is_named(shell: Shell, command: str) -> None:
    text = MINE.replace('name="quickstart"', 'name="mine"')
    (shell.folder / "other.py").write_text(text)
    assert "It is defined in 'other.py': run that." in shell.refused(command, "mine")


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("words", [["status", "x"], ["show", "ffff"], ["diff", "x", "quickstart"]])
def test_sentences_name_the_storage_folder_and_no_address(shell: Shell, words: list[str]) -> None:
    assert "sqlite:" not in shell.refused(*words)
    shutil.rmtree(shell.folder / "capsweep-store")
    assert "sqlite:" not in shell.refused(*words)
