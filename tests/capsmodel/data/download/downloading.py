"""What the tests of downloads look at: the files that came, and the refusal."""

import time
from pathlib import Path

import pytest

from capsmodel.data.download import ensure
from tests.capsmodel.data.idx_files import ARCHIVES, NAMES
from tests.waiting import PATIENCE_SECONDS

FIRST = NAMES[0]


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.name != "download.lock"
    }


def refusal(*mirrors: str) -> str:
    with pytest.raises(ValueError, match=r"\S") as caught:
        ensure(ARCHIVES, lambda: mirrors)
    return str(caught.value)


WAITING = "Waiting for another process that downloads MNIST.\n"


def wait_for(captured: pytest.CaptureFixture[str], line: str) -> str:
    output, end = "", time.monotonic() + PATIENCE_SECONDS
    while line not in output:
        assert time.monotonic() < end, output
        time.sleep(0.01)
        output += captured.readouterr().err
    return output
