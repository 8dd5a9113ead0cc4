"""What tests of capsmodel share."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Leave shapes unchecked, as they are outside of tests."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
