"""The process in which a trial runs: its environment, its end, its memory, what it loads first.

Processes are reused, so all of it is set or reset when a trial starts. What only Linux has is left
out elsewhere, where the peak memory is None.
"""

import ctypes
import json
import os
import platform
import signal
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from search_spaces.user_code import line_in_sweep_file
from sweeps.execution.cells.worker_stats import WorkerStats
from sweeps.execution.periodic import every
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.trial_record import Json

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig

_OF_CLUSTERS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def without_token() -> dict[str, str]:
    """Return the environment of this process without the token of a cluster."""
    return {name: value for name, value in os.environ.items() if name not in _OF_CLUSTERS}


def training_config(config: Json, source: str | None, name: str = "") -> "TrainingConfig":
    """Return a training config, with the parts of a user from the text of their file.

    Args:
        config: As a record holds it.
        source: The text, None for parts of the package.
        name: The file's name, for messages.

    Raises:
        ValueError: If the config does not fit its parts, or the source cannot be run.
    """
    from capsmodel.config import TrainingConfig
    from search_spaces.sweep_file import custom_parts, module_from_text

    parts = custom_parts(module_from_text(source, name or "<sweep>")) if source else ()
    return TrainingConfig.model_validate(config, context={"parts": parts})


def refuse_other_code(source: str | None, code: Mapping[str, str]) -> None:
    """Refuse to go on where modules that the sweep's parts reach are not those of the launch.

    Args:
        source: The text of the user's file, None for parts of the package.
        code: As the launch has found it, see `TrialSpec.code`.

    Raises:
        ValueError: If any differs.
    """
    from search_spaces.sweep_file import code_outside

    here = code_outside(source).by_name
    names = sorted(name for name in {*here, *code} if here.get(name) != code.get(name))
    if names:
        more = len(names) - _MOST_NAMED
        listed = ", ".join(names[:_MOST_NAMED]) + f" and {more} more" * (more > 0)
        raise ValueError(
            f"Code on {platform.node()} is not what the sweep was launched with ({listed}): "
            f"install the same on each machine, edit nothing meanwhile, and launch again."
        )


_MOST_NAMED = 5  # modules in one sentence
_BUGS = (
    *(TypeError, NameError, AttributeError, LookupError, ArithmeticError, AssertionError),
    *(ValueError, NotImplementedError, ImportError),
)
_PEAK_SECONDS = 0.5
_GPU = "CAPSWEEP_GPU"  # of a worker whose GPU the launch has chosen
_WORDS = ("can't allocate memory", "not enough memory", "out of memory")  # of torch's allocators


@contextmanager
def recorded_peak_memory(stats: WorkerStats, device: str = "cpu") -> Generator[None]:
    """Note the GPU of this process, and the peak memory of both while the block runs. Linux only.

    The peak of an earlier trial in this process is not counted.
    """
    reset_high_water_mark()
    is_on_gpu = device.startswith("cuda")
    stats.note_gpu(name_of_gpu() if is_on_gpu else "")
    if is_on_gpu:
        stats.note_peak_gpu(0)  # of an earlier attempt

    def note_peak() -> None:
        if (peak := status_bytes("VmHWM")) is not None:
            stats.note_peak_memory(peak)
        if peak := peak_of_gpu(device):
            stats.note_peak_gpu(peak)

    note_peak()
    with every(_PEAK_SECONDS, note_peak):
        yield


def peak_of_gpu(device: str) -> int | None:
    """Return what this process's allocator has held of a GPU at most, None where it has none."""
    if not device.startswith("cuda"):
        return None
    import torch

    if not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.max_memory_reserved(device))


def name_of_gpu() -> str:
    """Return the GPU of this process, as `plan` names it or, if Ray chose it, as CUDA does."""
    return os.environ.get(_GPU, "") or os.environ.get("CUDA_VISIBLE_DEVICES", "")


def use_card(visible_as: str, name: str, memory_fraction: float) -> None:
    """Have this process see one GPU alone, and allocate no more than its part of it.

    Call it before the process has used a GPU; again only for the same one.

    Args:
        visible_as: The GPU's name for CUDA.
        name: Its name for people.
        memory_fraction: Part of the GPU's memory.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = visible_as
    os.environ[_GPU] = name
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory_fraction))


def release_card() -> None:
    """Return what this process's allocator holds of its GPU and no tensor uses; forget its peak."""
    import torch

    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def status_bytes(name: str) -> int | None:
    """Return a size of this process in bytes, such as VmHWM, its peak; None if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith(name + ":")]
    return int(sizes[0]) * 1024 if sizes else None


def reset_high_water_mark() -> bool:
    """Reset VmHWM; return whether the kernel can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory ran out, on a GPU or a CPU."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in text for word in _WORDS)
    )


def is_out_of_gpu_memory(error: BaseException) -> bool:
    """Return whether an error says that the memory of a GPU ran out, or a process's part of it."""
    import torch

    return isinstance(error, torch.OutOfMemoryError)


def is_deterministic(error: BaseException) -> bool:
    """Return whether another attempt would raise an error again, as the code has a bug.

    An error of torch counts if it passed a line of the user's file: shapes that do not fit, not
    what a driver, a disk or another process did.
    """
    if isinstance(error, (SystemExit, KeyboardInterrupt, *_BUGS)):
        return True
    is_of_torch = isinstance(error, RuntimeError) and not is_out_of_memory(error)
    is_of_device = any(word in str(error) for word in ("CUDA", "cuDNN", "NCCL"))
    return is_of_torch and not is_of_device and line_in_sweep_file(error) is not None


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of mallopt's parameters in glibc's malloc.h
_KEEP_BYTES = 1 << 30
_WARM_UP_IMAGES = 8
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


def prepare_environment(threads: int) -> None:
    """Set what OpenMP reads when torch is loaded. Call it before the first import of torch."""
    os.environ.update(environment_of(threads))


def environment_of(threads: int = 1) -> dict[str, str]:
    """Return what OpenMP and BLAS read when torch and numpy are loaded.

    One thread by default: with more, trials that run at once slow each other down many times over,
    and results could depend on how many run. Waiting threads sleep instead of spinning.
    """
    number = str(threads)
    libraries = ("OMP", "MKL", "OPENBLAS")
    return {f"{library}_NUM_THREADS": number for library in libraries} | {
        "OMP_WAIT_POLICY": "PASSIVE"
    }


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when the one that started it ends. Linux only.

    Args:
        parent: Id of that process. In a container it may be 1.
    """
    if sys.platform == "linux":
        _libc().prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel knew
            os._exit(1)


def enter_trial_folder(folder: str) -> None:
    """Have this process run in another folder, as a trial does, which finds the launch's data.

    Args:
        folder: The folder.
    """
    from capsmodel.launch_folder import LAUNCH_FOLDER

    os.environ[LAUNCH_FOLDER] = str(Path.cwd())
    os.chdir(folder)


def keep_freed_memory() -> None:
    """Make malloc keep freed tensors, whose pages would otherwise be faulted in at every step."""
    if _has_glibc():
        _libc().mallopt(_TRIM_THRESHOLD, _KEEP_BYTES)
        _libc().mallopt(_MMAP_THRESHOLD, _KEEP_BYTES)


def warm_up(spec: TrialSpec) -> None:
    """Load and use what every trial of a config shares, so that no peak memory counts it.

    This is done once for a process and config: libraries, data, device, and one training step on a
    few images. The global random generators stay as they are.
    """
    config = json.dumps(spec.config, sort_keys=True)
    _take_first_step(config, spec.source, spec.source_name, spec.device)


@cache
def _take_first_step(config_text: str, source: str | None, name: str, device: str) -> None:
    import torch
    from safetensors.torch import save

    from capsmodel.data import load_checked
    from capsmodel.training.learner import Learner, presented

    config = training_config(json.loads(config_text), source, name)
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        learner = Learner(config, 0, torch.device(device))
        few = load_checked(config.data, device).train.take(slice(_WARM_UP_IMAGES))
        few = presented(few, config.augmentation.plain)
        loss = learner.differentiate(few, 0.0)
        learner.step()
        save({"loss": loss})


class PeakMemory:
    """Measures the peak memory of one trial, above what its process used before.

    On a GPU it is the peak of the allocator, else the high-water mark of the kernel.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._level_at_start: int | None = None
        if device.startswith("cuda"):
            import torch

            torch.cuda.reset_peak_memory_stats(device)
        elif _has_glibc():
            _libc().malloc_trim(0)
            self._level_at_start = status_bytes("VmRSS") if reset_high_water_mark() else None

    def bytes(self) -> int | None:
        """Return the peak so far in bytes, None if the machine cannot measure it."""
        if self._device.startswith("cuda"):
            import torch

            return int(torch.cuda.max_memory_allocated(self._device))
        peak = status_bytes("VmHWM")
        if self._level_at_start is None or peak is None:
            return None
        return max(0, peak - self._level_at_start)


def _has_glibc() -> bool:
    return sys.platform == "linux" and hasattr(_libc(), "malloc_trim")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
