"""Files that are written atomically."""

import os
import platform
import zlib
from pathlib import Path

UNFINISHED = "unfinished"
"""What the name of a file ends in while it is written."""


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file atomically: readers and crashes leave the old or the new file, complete.

    It is written to the same folder under a name of this process, flushed to the disk, then moved.
    A process that is killed meanwhile leaves `NAME.MACHINE-PID.unfinished`. No link is
    followed.

    Raises:
        OSError: If it cannot be written. The old file is left as it was.
    """
    unfinished = path.with_name(f"{path.name}.{this_machine()}-{os.getpid()}.{UNFINISHED}")
    try:
        unfinished.unlink(missing_ok=True)  # of a killed process of this number, or planted
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def this_machine() -> str:
    """Return a short name of this machine, to qualify a process id."""
    return f"{zlib.crc32(platform.node().encode()):08x}"
