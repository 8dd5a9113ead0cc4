"""A tracking store to copy from."""

from tests.sweeps.execution.recorder.test_recorder import empty_store as empty_store
