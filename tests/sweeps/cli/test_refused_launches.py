"""Exit code 2 means that nothing was written: no folder, no lock, no journal."""

import socket
from pathlib import Path

import pytest

from sweeps.execution.launch import train_missing
from sweeps.records.errors import BadInput, StoreUnreachable
from tests.sweeps.cli.shell import Shell


def paths(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def test_a_cluster_that_listens_is_left_to_ray() -> None:
    from sweeps.execution.launch.launch import check_cluster

    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        check_cluster(f"{host}:{port}")
        check_cluster(f"ray://{host}:{port}")
    check_cluster("auto")


@pytest.mark.parametrize("refusal", [BadInput("no token"), StoreUnreachable("away")], ids=str)
def test_what_only_the_engine_can_refuse_leaves_no_trace(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr(train_missing, "start_engine", refuse)
    before = paths(shell.folder)
    for _ in range(2):
        answer = shell("run", "quickstart", "--storage", "a/b/store")
        assert (answer.code, answer.err) == (2, f"capsweep: {refusal}\n")
        assert answer.out == "quickstart: 25 cells.\n", "which is printed before Ray is started"
        assert paths(shell.folder) == before


def test_a_refusal_takes_nothing_that_was_there(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, storage: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BadInput("no token")

    for name in ("journals", "logs"):
        (storage / name).mkdir(exist_ok=True)
        (storage / name / "other.db").write_text("kept")
    monkeypatch.setattr(train_missing, "start_engine", refuse)
    before = {path for path in paths(shell.folder) if path.is_file()}
    answer = shell("run", "quickstart")
    assert answer.code == 2
    assert before <= paths(shell.folder)
    assert not (storage / "journals/quickstart.db").exists()


@pytest.mark.usefixtures("storage")
def test_after_a_start_of_ray_that_failed_status_tells_what_it_told(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BadInput("No Ray cluster could be started here: no room")

    monkeypatch.setattr(train_missing, "start_engine", refuse)
    before = shell("status", "quickstart").out
    assert "quickstart: 25 cells" in before
    for _ in range(2):  # the same command goes on, once Ray can be started
        answer = shell("run", "quickstart")
        assert answer.code == 2
        assert answer.err == "capsweep: No Ray cluster could be started here: no room\n"
        assert shell("status", "quickstart").out == before
    assert shell("run", "routing_controls").code == 2
    assert "There is no sweep 'routing_controls'" in shell.refused("status", "routing_controls")
