"""`capsweep check` prints what works and what does not, and writes nothing."""

import pytest

from tests.sweeps.cli.shell import Shell
from tests.sweeps.execution.test_sweep_check import broken


def test_the_lines_around_a_bug_are_printed(shell: Shell) -> None:
    _, line = broken(shell.folder, "        return poses", "        return poses[:, :5]")
    before = shell.files()
    answer = shell("check", "mine.py")
    assert answer.code == 2
    assert answer.err.startswith("capsweep: The routing 'mine' must return poses of shape [8, 10, ")
    assert answer.err.count("\n") == 1
    assert "works" in answer.out
    assert f"> {line} |         return poses[:, :5]\n" in answer.out
    assert shell.files() == before


@pytest.mark.usefixtures("forked_check")
def test_several_failures_are_counted(shell: Shell) -> None:
    file, _ = broken(shell.folder, "        return poses", "        return poses[:, :5]")
    file.write_text(file.read_text().replace("torch.mm(vectors", "torch.mm(self.weight, vectors"))
    answer = shell("check", "mine.py")
    assert answer.code == 2
    assert answer.out.count("\nfails ") == 2
    assert answer.err == "capsweep: 2 things in this sweep do not work; each is named above.\n"


@pytest.mark.usefixtures("forked_check")
def test_a_file_that_cannot_be_run_is_named_with_its_line(shell: Shell) -> None:
    _, line = broken(shell.folder, "loss=MyLoss()", "loss=MyLos()")
    answer = shell("check", "mine.py")
    assert answer.code == 2
    assert f"mine.py cannot be run: NameError: name 'MyLos' is not defined (line {line})" in (
        answer.err
    )
    assert f"> {line} | " in answer.out


@pytest.mark.usefixtures("forked_check")
def test_a_setting_of_the_command_line_has_no_line(shell: Shell) -> None:
    file, _ = broken(shell.folder, "        return poses", "        return poses  # as it was")
    answer = shell("check", str(file), "--set", "batch_sise=3")
    assert answer.code == 2
    assert "Did you mean 'batch_size'?" in answer.err
    assert "line" not in answer.err
    assert answer.out == ""
