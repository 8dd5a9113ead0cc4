"""Small files in MNIST's format, and a server on this machine that gives them."""

import gzip
import hashlib
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import numpy as np

from capsmodel.data import Mnist
from capsmodel.data.archive import Archive, Archives

NUM_TRAIN = 200
NUM_TEST = 50
NAMES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


def contents() -> dict[str, bytes]:
    random = np.random.default_rng(0)
    unpacked = [
        part
        for number in (NUM_TRAIN, NUM_TEST)
        for part in (
            header(0x803, number, 28, 28)
            + random.integers(0, 256, (number, 28, 28), np.uint8).tobytes(),
            header(0x801, number) + (np.arange(number, dtype=np.uint8) % 10).tobytes(),
        )
    ]
    return {
        name: gzip.compress(part, compresslevel=1, mtime=0)
        for name, part in zip(NAMES, unpacked, strict=True)
    }


def header(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in numbers)


CONTENTS = contents()
ARCHIVES = Archives(
    "MNIST",
    tuple(
        Archive(name, hashlib.md5(content).hexdigest(), len(content))
        for name, content in CONTENTS.items()
    ),
)


class SmallMnist(Mnist):
    """Noise in MNIST's format, offered by the mirrors of the test."""

    archives = ARCHIVES
    own_mirrors: ClassVar[list[str]] = []

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        return cls.own_mirrors


def write_files(folder: Path, names: Sequence[str] = NAMES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(CONTENTS[name])


def give_whole(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def give_half(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.send_response(200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content[: len(content) // 2])


def give_other(request: BaseHTTPRequestHandler, content: bytes) -> None:
    give_whole(request, bytes(len(content)))


def give_more(request: BaseHTTPRequestHandler, content: bytes) -> None:
    give_whole(request, content + bytes(1 << 20))


def give_part(request: BaseHTTPRequestHandler, content: bytes) -> None:
    """Give what was asked for: everything, or from some byte on."""
    wanted = request.headers["Range"]
    if wanted is None:
        give_whole(request, content)
        return
    start = int(wanted.removeprefix("bytes=").removesuffix("-"))
    if start >= len(content):
        request.send_error(416)
        return
    request.send_response(206)
    request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    request.send_header("Content-Length", str(len(content) - start))
    request.end_headers()
    request.wfile.write(content[start:])


def refuse(request: BaseHTTPRequestHandler, content: bytes) -> None:
    request.send_error(404)


@contextmanager
def mirror(
    answer: Answer = give_whole, files: Mapping[str, bytes] = CONTENTS
) -> Generator[tuple[str, list[str]]]:
    """Serve files on loopback. Yields the address and the names asked for, in order."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.removeprefix("/")
            asked.append(name)
            answer(self, files[name])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
