"""The package says what it offers and which version it is."""

from importlib.metadata import version

import capsmodel


def test_what_is_offered_is_listed() -> None:
    assert capsmodel.__all__ == dir(capsmodel)
    assert all(hasattr(capsmodel, name) for name in capsmodel.__all__)


def test_the_version_is_that_of_the_distribution() -> None:
    assert capsmodel.__version__ == version("capsweep")
