"""A tracking store to copy from."""

from tests.sweeps.execution.test_recorder import empty_store as empty_store
