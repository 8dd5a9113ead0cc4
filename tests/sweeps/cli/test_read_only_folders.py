"""Readers, and what plans, work in a folder that nobody may write to; what writes is refused."""

import json
import os
from pathlib import Path

import pytest

from tests.sweeps.cli.shell import Shell


@pytest.fixture
def read_only(shell: Shell, storage: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell that may write nowhere, by what the system says: root would be let through."""
    assert storage.exists()
    access = os.access

    def unwritable(path: Path, mode: int) -> bool:
        return not mode & os.W_OK and access(path, mode)

    monkeypatch.setattr(os, "access", unwritable)
    return shell


@pytest.mark.parametrize("place", [[], ["--storage", "nowhere"]], ids=["launched", "new"])
def test_a_plan_says_that_run_needs_another_place(read_only: Shell, place: list[str]) -> None:
    before = read_only.files()
    answer = read_only("plan", "quickstart", *place)
    assert (answer.code, answer.err) == (0, "")
    assert "run needs another place: The storage folder" in answer.out
    assert "25 are new and will be trained." in answer.out
    assert read_only.files() == before
    assert "cannot be written to" in read_only.refused("run", "quickstart", *place)


def test_what_would_be_deleted_is_shown_where_nothing_can_be(read_only: Shell) -> None:
    assert "'quickstart' would go" in read_only("delete", "quickstart").out
    assert read_only("clean").code == 0
    assert "cannot be written to" in read_only.refused("delete", "quickstart", "--yes")


@pytest.mark.usefixtures("storage")
def test_a_plan_that_run_would_refuse_ends_with_exit_code_2(shell: Shell) -> None:
    arguments = ["plan", "quickstart", "--seeds", "0"]
    answer = shell(*arguments)
    assert "run would refuse: " in answer.out
    assert answer.code == 2
    in_json = shell(*arguments, "--json")
    assert json.loads(in_json.out)["refusal"]
    assert in_json.code == 2
