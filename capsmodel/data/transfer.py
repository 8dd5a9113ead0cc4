"""One file from one address, gone on with where an earlier attempt was broken off."""

import hashlib
import os
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from capsmodel.data.archive import Archive

TIMEOUT_SECONDS = 20.0
_CHUNK_BYTES = 1 << 16
_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416

Advance = Callable[[int, int | None], None]


def receive(address: str, path: Path, archive: Archive, advance: Advance) -> str:
    """Write what an address gives, after what is there of it already.

    Where the file is not whole afterwards, what may still become it stays for the next attempt,
    and what cannot is removed. A server that gives no parts gives it from the start.

    Args:
        address: Where the file is.
        path: Where to write.
        archive: What the file should be.
        advance: Told after each piece how many bytes are there, and of how many, None if unknown.

    Returns:
        What is wrong with it, empty if nothing is.
    """
    is_continued = path.exists()
    if wrong := _append(address, path, archive, advance):
        return wrong
    with path.open("rb") as file:
        if hashlib.file_digest(file, "md5").hexdigest() == archive.md5:
            return ""
    path.unlink()
    if is_continued:  # the beginning may have been of another file
        return receive(address, path, archive, advance)
    return "it gave a file with another checksum"


def _append(address: str, path: Path, archive: Archive, advance: Advance) -> str:
    """Write until the answer ends. Returns what is wrong, empty if no byte is known to lack."""
    num_kept = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "capsweep"} | ({"Range": f"bytes={num_kept}-"} if num_kept else {})
    try:
        with urlopen(Request(address, headers=headers), timeout=TIMEOUT_SECONDS) as response:
            if response.status != _PARTIAL_CONTENT:
                num_kept = 0
            total = archive.num_bytes
            if total is None and response.length is not None:
                total = num_kept + response.length
            return _write(response, path, num_kept, total=total, advance=advance)
    except HTTPError as error:
        if num_kept and error.code == _RANGE_NOT_SATISFIABLE:  # there is no more than was kept
            return ""
        return f"it answers {error.code} {error.reason}"
    except (OSError, HTTPException) as error:
        return str(error.reason if isinstance(error, URLError) else error)


def _write(
    response: HTTPResponse, path: Path, num_kept: int, *, total: int | None, advance: Advance
) -> str:
    num_bytes = num_kept
    with path.open("ab" if num_kept else "wb") as file:
        while (total is None or num_bytes <= total) and (chunk := response.read(_CHUNK_BYTES)):
            file.write(chunk)
            num_bytes += len(chunk)
            advance(num_bytes, total)
        file.flush()
        os.fsync(file.fileno())
    if total is None or num_bytes == total:
        return ""
    if num_bytes < total:
        return f"it gave less than the {total} bytes expected"
    path.unlink()
    return f"it gave more than the {total} bytes expected"
