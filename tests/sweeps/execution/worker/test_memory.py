"""A trial's memory is told while it runs, and a refusal of memory is told from other faults."""

import os
from pathlib import Path

import pytest
import torch

from sweeps.execution.cells.worker_stats import WorkerStats
from sweeps.execution.worker.trial import run_trial
from sweeps.execution.worker.worker_process import (
    is_out_of_gpu_memory,
    is_out_of_memory,
    name_of_gpu,
    recorded_peak_memory,
    status_bytes,
    use_card,
)
from sweeps.storage.folder import Folder
from tests.sweeps.execution.worker.trials import folder_of, job_of, silent
from tests.waiting import wait_until


def test_the_peak_is_told_while_a_trial_runs_and_gone_when_it_is_filled(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    cell = folder_of(job)
    peaks: list[int | None] = []

    def report(_: object) -> None:
        wait_until(cell.stats.peak_memory_bytes)
        peaks.append(cell.stats.peak_memory_bytes())

    bytearray(2**30)  # another trial of this process: what it held is not this one's
    earlier = status_bytes("VmHWM")
    assert earlier is not None
    run_trial(job, report)
    assert all(peak is not None and earlier / 100 < peak < earlier for peak in peaks)
    assert cell.stats.peak_memory_bytes() is None
    run_trial(job, silent)


def test_stats_that_cannot_be_written_or_read_end_nothing(tmp_path: Path) -> None:
    stats = WorkerStats(Folder(tmp_path, "nowhere"))
    with recorded_peak_memory(stats):
        stats.note_wanted_disk(7)
    assert (stats.peak_memory_bytes(), stats.wanted_disk_bytes()) == (None, 0)
    damaged = WorkerStats(Folder(tmp_path))
    damaged.path.write_bytes(b"\xff" * 42)
    assert (damaged.peak_memory_bytes(), damaged.wanted_disk_bytes()) == (None, 0)
    link = WorkerStats(Folder(tmp_path, "other").make())
    link.path.symlink_to(tmp_path / "target")
    link.note_peak_memory(7)
    assert not (tmp_path / "target").exists(), "no link is followed"


def test_torchs_own_refusal_of_memory_is_one() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(refused.value)


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (MemoryError(), True),
        (torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("the model is out of memory cells"), False),
        (OSError("No space left on device"), False),
    ],
    ids=["python", "cuda", "shapes", "value", "disk"],
)
def test_others_are_told_apart(error: Exception, is_one: bool) -> None:
    assert is_out_of_memory(error) is is_one


def test_a_gpu_that_has_no_memory_left_is_told_from_a_machine_that_has_none() -> None:
    assert is_out_of_gpu_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory."))
    assert not is_out_of_gpu_memory(RuntimeError("can't allocate memory"))


def test_the_peak_of_the_gpu_is_told_while_a_trial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stats = WorkerStats(Folder(tmp_path))
    stats.note_peak_gpu(9)  # of an earlier attempt
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    with recorded_peak_memory(stats, "cuda"):
        assert stats.gpu() == "3"
        assert stats.peak_gpu_bytes() is None, "nothing has been allocated there yet"
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.cuda, "max_memory_reserved", {"cuda": 5 * 2**30}.get)
        wait_until(stats.peak_gpu_bytes)
    assert stats.peak_gpu_bytes() == 5 * 2**30
    assert stats.peak_memory_bytes()
    with recorded_peak_memory(stats, "cpu"):
        assert not stats.gpu()


def test_a_process_sees_the_card_that_it_is_bound_to_and_uses_its_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = list[float]()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_per_process_memory_fraction", parts.append)
    monkeypatch.delenv("CAPSWEEP_GPU", raising=False)
    assert name_of_gpu() == "0,1"
    use_card("GPU-f00", "1", 0.25)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-f00"
    assert name_of_gpu() == "1"
    assert parts == [0.25]
