"""Memory that a trial holds, told while it runs: one that is killed for it cannot tell any more."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS = 0.5
_WORDS = ("can't allocate memory", "not enough memory", "out of memory")  # of torch's allocators


@contextmanager
def telling_memory(file: Path) -> Generator[None]:
    """Keep the most bytes that this process has held in a file while the block runs.

    Nothing is told where there is no Linux. What cannot be written is left out.
    """
    over = threading.Event()
    thread = threading.Thread(target=_tell, args=(file, over), daemon=True)
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


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory was refused, on a GPU or a CPU."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(word in text for word in _WORDS)
    )


def _tell(file: Path, over: threading.Event) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags, 0o644)
    except OSError:
        return
    try:
        while (peak := status_bytes("VmHWM")) is not None:
            with suppress(OSError):  # the disk may be full
                os.pwrite(descriptor, b"%20d\n" % peak, 0)
            if over.wait(_SECONDS):
                return
    finally:
        os.close(descriptor)
