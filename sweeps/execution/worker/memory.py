"""Memory that a trial holds, told while it runs: one that is killed for it cannot tell any more."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sweeps.execution.cells.pulse import CellPulse

_SECONDS = 0.5
_WORDS = ("can't allocate memory", "not enough memory", "out of memory")  # of torch's allocators


@contextmanager
def telling_memory(pulse: CellPulse) -> Generator[None]:
    """Note the most bytes that this process holds while the block runs. Linux only.

    What it held before, for another trial, is forgotten: a trial is not blamed for its forerunner.
    """
    reset_high_water_mark()
    over = threading.Event()
    thread = threading.Thread(target=_tell, args=(pulse, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def status_bytes(name: str) -> int | None:
    """Return a size that the kernel tells of this process, such as VmHWM, its peak."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith(name + ":")]
    return int(sizes[0]) * 1024 if sizes else None


def reset_high_water_mark() -> bool:
    """Have the kernel count VmHWM from now on; return whether it does that here."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory was refused, on a GPU or a CPU."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in text for word in _WORDS)
    )


def _tell(pulse: CellPulse, over: threading.Event) -> None:
    while (peak := status_bytes("VmHWM")) is not None:
        pulse.note_peak_memory(peak)
        if over.wait(_SECONDS):
            return
