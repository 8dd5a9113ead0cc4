"""What a driver has its recorder's process write: each method, what it raises, and deaths."""

import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.driver.launch_guards import make_folders
from sweeps.execution.recorder import client as recorder_client
from sweeps.execution.recorder.calls import _TYPES, Failure, answered, call, result_of
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.distant_writer import DistantWriter
from sweeps.execution.recorder.recorder_session import RecorderSession
from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.storage.locations import Storage
from sweeps.tracking.opening import open_store
from sweeps.tracking.shown_sweep import ShownArm, ShownSweep, ShownTrial
from sweeps.tracking.store import FoundSweep, FreedWeights, LaunchWriter
from tests.sweeps.execution.examples import manifest

SHOWN = ShownSweep(
    sweep="example",
    description="ä \x1b",
    numbers={"best.a": math.nan, "b": -math.inf, "c": 0.1 + 0.2},
    best="base",
    arms=(ShownArm("base", {"mean": math.inf}, "note", True),),
    trials=(ShownTrial("1", "base", "digits", "f", "r"),),
)


class Heard:
    """A writer that returns what it is told to, and notes what it is asked."""

    def __init__(self, returned: Any = None, raised: Exception | None = None) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self._returned = returned
        self._raised = raised

    def __getattr__(self, method: str) -> Any:
        def called(*arguments: Any) -> Any:
            self.heard.append((method, *arguments))
            if self._raised:
                raise self._raised
            return self._returned

        return called


def through(writer: Any) -> DistantWriter:
    """Return what calls a writer's methods by messages as they go through a pipe."""

    def begin_call(method: Any, arguments: tuple[Any, ...], *, is_anew: bool = False) -> Any:
        sent = call(7, method, arguments, is_anew=is_anew)
        answer = answered(type(sent).model_validate_json(sent.model_dump_json()), lambda: writer)
        assert answer.number == 7
        return lambda: result_of(method, type(answer).model_validate_json(answer.model_dump_json()))

    return DistantWriter(begin_call)


@pytest.mark.parametrize(
    ("method", "arguments", "returned"),
    [
        ("find_sweep", ("example",), FoundSweep("12", True)),
        ("find_sweep", ("example",), None),
        ("open_sweep", ("example", "what for"), "12"),
        ("set_manifest", ("12", '{"a": "ä"}'), None),
        ("settle_sweep", ("12", 3), None),
        ("settle_sweep", ("12", None), None),
        ("show_sweep", ("12", SHOWN), None),
        ("set_aside", (("a", "b"),), None),
        ("delete_weights", ("12",), FreedWeights(2**60, "why")),
        ("publish_files", ("12", (Path("/a b"), Path("/ä"))), None),
        ("refuse_absence", (), None),
    ],
)
def test_each_method_gets_what_it_is_given_and_returns_what_it_returns(
    method: str, arguments: tuple[Any, ...], returned: Any
) -> None:
    writer = Heard(returned)
    assert getattr(through(writer), method)(*arguments) == returned
    assert repr(writer.heard) == repr([(method, *arguments)])


def test_every_method_of_a_launch_can_be_called() -> None:
    own = {name for name in dir(LaunchWriter) if not name.startswith("_")}
    assert own | {"publish_manifest"} == set(_TYPES)
    assert own <= set(dir(DistantWriter))


@pytest.mark.parametrize(
    "raised",
    [
        StoreRefused("a sentence", "its reason"),
        StoreUnreachable("away"),
        BadInput("no such thing"),
        PermissionError(13, "Permission denied", "/artifacts"),
        OSError(28, "No space left on device"),
    ],
)
def test_what_is_raised_there_is_raised_here(raised: Exception) -> None:
    with pytest.raises(type(raised)) as caught:
        through(Heard(raised=raised)).find_sweep("example")
    assert type(caught.value) is type(raised)
    assert str(caught.value) == str(raised)
    assert vars(caught.value) == vars(raised)


def test_what_nobody_expects_is_told_with_its_kind() -> None:
    failure = Failure.of(KeyError("x"))
    assert str(failure.error()) == "KeyError: 'x'"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RecorderClient]:
    make_folders(Storage(tmp_path))
    client = RecorderClient(Storage(tmp_path), f"sqlite:///{tmp_path}/mlflow.db", "example")
    yield client
    client.stop()


def test_a_sweep_is_published_by_the_process_and_survives_its_death(
    client: RecorderClient, tmp_path: Path
) -> None:
    """Real processes: one is killed with a call unanswered, and another one answers."""
    os.kill(client.pid, signal.SIGSTOP)
    published = client.writer.begin_to_publish(manifest())
    os.kill(client.pid, signal.SIGKILL)
    sweep_id = published()
    assert published() == sweep_id, "an answer is kept"
    store = open_store(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    assert store.sweep_id("example") == sweep_id
    assert store.current_manifest("example") == manifest()
    os.kill(client.pid, signal.SIGKILL)
    assert client.writer.find_sweep("example") == FoundSweep(sweep_id, True)
    assert client.finish(30), client.complaint
    client.writer.settle_sweep(sweep_id, 0)
    assert client.writer.find_sweep("example") == FoundSweep(sweep_id, False)


def test_a_call_is_answered_while_records_are_carried_and_ended_calls_are_passed_over(
    client: RecorderClient,
) -> None:
    client.writer.begin_to_publish(manifest())  # nobody waits for it
    client.carry()
    found = client.writer.find_sweep("example")
    assert found is not None
    assert found.is_running


def test_one_that_dies_whenever_it_is_called_is_told_of(
    client: RecorderClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_client, "RecorderSession", lambda log: ended(RecorderSession(log)))
    ended(client._session)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(StoreUnreachable, match=r"ended 5 times in a row: see .*recorder-example"):
        client.writer.find_sweep("example")


def test_one_that_is_never_told_for_whom_it_is_ends_at_once() -> None:
    session = RecorderSession()
    session.end()
    assert session.process.returncode == -signal.SIGKILL
    with pytest.raises(BrokenPipeError):
        session.send(call(1, "refuse_absence", ()))
    with pytest.raises(EOFError):
        session.receive(0.0)


def ended(session: RecorderSession) -> RecorderSession:
    session.process.kill()
    session.process.wait()
    return session
