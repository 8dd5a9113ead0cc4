"""Trials run in reused processes with threads, waiting and allocator set for them."""

import json
import re
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal

SWEEP = '''
"""What does a trial's process look like from inside?"""

import os
from typing import Literal

import torch
from capsmodel.losses import CrossEntropy, Loss
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class Looking(Loss):
    kind: Literal["looking"] = "looking"
    number: int = 0

    def loss(self, lengths, labels, progress):
        print("SEEN", os.getpid(), torch.get_num_threads(), os.environ["OMP_NUM_THREADS"],
              os.environ["OMP_WAIT_POLICY"])
        return CrossEntropy().loss(lengths, labels, progress)


SWEEP = Sweep(
    name="looking",
    parts=[Looking],
    base=QUICKSTART.base,
    plan=ListedArms(
        baseline="one", arms={"one": {"loss": Looking()}, "two": {"loss": Looking(number=1)}}
    ),
    seeds=[0, 1, 2],
)
'''


def seen(storage: Path) -> set[tuple[str, ...]]:
    logs = [path.read_text() for path in storage.glob("cells/*/log.txt")]
    assert len(logs) == 6
    return {tuple(line.split()) for log in logs for line in re.findall(r"SEEN (.*)", log)}


@pytest.mark.slow
def test_trials_run_in_a_reused_process_with_separate_threads(terminal: Terminal) -> None:
    (terminal.folder / "looking.py").write_text(SWEEP)
    ended = terminal.run("run", "looking.py", "--epochs", "1", "--cpus-per-trial", "2")
    assert ended.code == 0, ended.explained()

    lines = seen(terminal.storage)
    assert {tuple(rest) for _, *rest in lines} == {("2", "2", "PASSIVE")}
    assert len({process for process, *_ in lines}) < 6, "six trials in fewer processes"
    finals = terminal.storage.glob("cells/*/final.json")
    assert {json.loads(final.read_text())["head"]["threads"] for final in finals} == {2}
