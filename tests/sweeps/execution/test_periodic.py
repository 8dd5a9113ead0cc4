"""Laws of a function that is called every few seconds."""

import contextvars
import threading

import pytest

from sweeps.execution.periodic import every

SECONDS = 0.01
LONG = 60.0


def test_it_is_called_while_the_block_runs_and_not_after() -> None:
    calls: list[int] = []
    called_twice = threading.Event()

    def call() -> None:
        calls.append(1)
        if len(calls) == 2:
            called_twice.set()

    with every(SECONDS, call):
        assert called_twice.wait(LONG)
    num_calls = len(calls)
    threading.Event().wait(5 * SECONDS)
    assert len(calls) == num_calls


def test_a_block_that_is_shorter_than_the_time_calls_nothing_and_does_not_wait() -> None:
    calls: list[int] = []
    with every(LONG, lambda: calls.append(1)):
        pass
    assert calls == []


def test_it_sees_the_context_of_the_block() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="other")
    variable.set("of the block")
    seen: list[str] = []
    called = threading.Event()

    def call() -> None:
        seen.append(variable.get())
        called.set()

    with every(SECONDS, call):
        assert called.wait(LONG)
    assert set(seen) == {"of the block"}


def test_an_error_of_the_block_passes_and_ends_the_calls() -> None:
    num_threads = threading.active_count()
    with pytest.raises(ValueError, match="of the block"), every(SECONDS, lambda: None):
        raise ValueError("of the block")
    assert threading.active_count() == num_threads


def test_the_end_does_not_wait_longer_than_asked_for_a_call_that_hangs() -> None:
    called, may_end = threading.Event(), threading.Event()

    def hang() -> None:
        called.set()
        may_end.wait(LONG)

    try:
        with every(SECONDS, hang, join_seconds=SECONDS):
            assert called.wait(LONG)
    finally:
        may_end.set()
