"""Lines added to a file whole, or not at all."""

import errno
import os
from typing import BinaryIO


def append_whole(file: BinaryIO, data: bytes) -> None:
    """Add lines to a file by one write; a line that a crash has torn is closed off first.

    Args:
        file: Opened without a buffer, to read and to append.
        data: Ends in a line end.

    Raises:
        OSError: If not all of it could be written, as where the disk is full. The file is then as
            it was.
    """
    size = file.seek(0, os.SEEK_END)
    if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
        data = b"\n" + data
    if file.write(data) != len(data):
        file.truncate(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
