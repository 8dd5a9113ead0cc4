"""What tests of capsmodel share."""

import jaxtyping
import pytest


@pytest.fixture
def unchecked() -> None:
    """Leave shapes unchecked, as they are outside of tests."""
    jaxtyping.config.update("jaxtyping_disable", True)


@pytest.fixture
def checked() -> None:
    """Check shapes, which is done in every fifth test otherwise."""
    jaxtyping.config.update("jaxtyping_disable", False)
