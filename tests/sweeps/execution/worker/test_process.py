"""The process a trial runs in: what it shares with other trials is none of a trial's own."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from capsmodel.augmentation import Patches
from capsmodel.data import DataSplits, Digits, Images
from sweeps.execution.worker.worker_process import warm_up
from tests.sweeps.execution.worker.trials import job_of

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has it")


def times_loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets an entry each time the digits are loaded."""
    loads: list[str] = []
    real = Digits.load

    def load(data: Digits, device: str) -> Any:
        loads.append(device)
        return real(data, device)

    monkeypatch.setattr(Digits, "load", load)
    return loads


def test_warming_up_leaves_the_global_generators_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = times_loaded(monkeypatch)
    before = repr(np.random.get_state()), torch.get_rng_state()
    warm_up(job_of(tmp_path, batch_size=61).spec)
    assert loads == ["cpu"]
    assert repr(np.random.get_state()) == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


def test_trials_that_differ_in_their_seed_warm_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = times_loaded(monkeypatch)
    for seed in range(3):
        warm_up(job_of(tmp_path, seed=seed, batch_size=62).spec)
    assert len(loads) == 1


def test_images_of_one_byte_are_presented_as_in_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Digits.load

    def in_bytes(images: Images) -> Images:
        return replace(images, images=(images.images * 255).to(torch.uint8))

    def load(data: Digits, device: str) -> DataSplits:
        splits = real(data, device)
        train, validation, test = map(in_bytes, (splits.train, splits.validation, splits.test))
        return replace(splits, train=train, validation=validation, test=test)

    monkeypatch.setattr(Digits, "load", load)
    augmentation = Patches(size=6, standardise=False)
    warm_up(job_of(tmp_path, augmentation=augmentation, batch_size=63).spec)


TWO_TRIALS = """
import json, sys
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker.worker_process import keep_freed_memory, prepare_environment
prepare_environment(1)
keep_freed_memory()
import torch
torch.set_num_threads(1)
from sweeps.execution.worker.trial import TrialJob, run_trial
from tests.sweeps.execution.worker.trials import (final_of, folder_of, job_of, silent)
from pathlib import Path
peaks = []
for seed in (0, 1, 2):
    job = job_of(Path(sys.argv[1]), seed=seed)
    run_trial(job, silent)
    peaks.append(final_of(folder_of(job)).peak_memory_bytes)
print(json.dumps(peaks))
"""


@LINUX
def test_the_first_trial_of_a_process_needs_no_more_memory_than_the_next(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_TRIALS, str(tmp_path)],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[4],
    )
    first, *later = json.loads(done.stdout)
    assert abs(first - min(later)) < 8 * 2**20


@LINUX
def test_a_process_whose_parent_is_gone_already_ends(tmp_path: Path) -> None:
    text = """
import os
from sweeps.execution.worker.worker_process import die_with_parent
parent = os.getppid()
die_with_parent(parent)
print("alive", flush=True)
os.getppid = lambda: 1
die_with_parent(parent)
print("still alive", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("alive\n", 1)
