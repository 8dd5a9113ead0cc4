"""`capsweep new`: writes a sweep file that can be planned at once, never over another file."""

import pytest

from sweeps.execution.launch.writing.new_sweep import Example, example_text
from tests.sweeps.cli.shell import Shell


@pytest.mark.parametrize(
    ("example", "option", "planned"),
    [
        ("design", (), "mine: 5 arms x 5 seeds = 25 cells"),
        ("search", ("--search",), "mine: 12 proposals by tpe"),
        ("model", ("--model",), "mine: 4 arms x 5 seeds = 20 cells"),
    ],
)
def test_it_writes_a_file_and_says_what_to_do_next(
    shell: Shell, example: Example, option: tuple[str, ...], planned: str
) -> None:
    written = shell("new", "mine", *option)
    assert (written.code, written.err) == (0, "")
    text = example_text("mine", example)
    assert shell.files() == {str(shell.folder / "mine.py"): text.encode()}
    first, plan, run = written.out.splitlines()
    assert first.startswith("The sweep is in mine.py: ")
    assert plan.endswith(" plan mine.py")
    assert run.endswith(" run mine.py")
    assert planned in shell("plan", "mine.py").out


def test_one_file_is_written_at_a_time(shell: Shell) -> None:
    assert shell.refused("new", "mine", "--search", "--model") == (
        "--search and --model write different files: leave one of them out."
    )


def test_a_file_that_is_there_is_left_alone(shell: Shell) -> None:
    (shell.folder / "mine.py").write_text("mine = 1\n")
    assert shell.refused("new", "mine") == (
        "The file 'mine.py' exists already: give another name, or move it away."
    )
    (shell.folder / "link.py").symlink_to("nowhere.py")
    assert "The file 'link.py' exists already" in shell.refused("new", "link")


def test_a_folder_that_cannot_be_written_to_is_told(shell: Shell) -> None:
    shell.folder.rmdir()
    assert shell.refused("new", "mine") == (
        "'mine.py' cannot be written (No such file or directory): choose another folder."
    )
