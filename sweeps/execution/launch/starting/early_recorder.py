"""The recorder's process begun before the rest of a launch is loaded: what it needs takes long."""

from collections.abc import Generator
from contextlib import contextmanager

from sweeps.execution.recorder.recorder_session import RecorderSession


@contextmanager
def early_recorder(*, is_needed: bool) -> Generator[RecorderSession | None]:
    """Have a process begin that waits to be told for whom; end it with the block.

    Args:
        is_needed: Whether a launch is likely to fill cells.
    """
    if not is_needed:
        yield None
        return
    session = RecorderSession()
    try:
        yield session
    finally:
        session.end()
