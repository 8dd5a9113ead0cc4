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
    "arguments",
    [
        ["status"],
        ["best"],
        ["report"],
        ["delete"],
    ],
    ids=" ".join,
)
def test_a_reader_takes_a_file_without_running_it(shell: Shell, arguments: list[str]) -> None:
    by_name, by_file = (shell(*arguments, sweep) for sweep in ("quickstart", "fashion_routing.py"))
    assert (by_file.code, by_file.out, by_file.err) == (by_name.code, by_name.out, by_name.err)
    assert by_file.code == 0, by_file.err


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


def test_a_file_that_shares_its_ending_alone_is_not_offered(shell: Shell) -> None:
    (shell.folder / "a.py").write_text(MINE)
    assert "Did you mean" not in shell.refused("run", "fashin.py")


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("arguments", [["status"], ["diff", "quickstart"]])
def test_one_name_is_offered(shell: Shell, arguments: list[str]) -> None:
    (shell.folder / "quickstart.py").write_text(MINE)
    sentence = shell.refused(*arguments, "quikstart")
    assert "Did you mean 'quickstart'?" in sentence
    assert sentence.count("Did you mean") == 1


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    "arguments", [["status", "x"], ["show", "ffff"], ["diff", "x", "quickstart"]]
)
def test_sentences_name_the_storage_folder_and_no_address(
    shell: Shell, arguments: list[str]
) -> None:
    assert "sqlite:" not in shell.refused(*arguments)
    shutil.rmtree(shell.folder / "capsweep-store")
    assert "sqlite:" not in shell.refused(*arguments)
