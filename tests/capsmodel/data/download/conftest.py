"""What the tests of downloads share: a root of their own, and an address where nobody answers."""

import socket
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "data"


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "MNIST" / "raw"


@pytest.fixture
def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"
