"""What the tests of reports share: importances that take a tenth of the time."""

from collections.abc import Iterator

import pytest

from sweeps.aggregation.sensitivity import importance, pair_importance


@pytest.fixture(scope="module")
def rough_importances() -> Iterator[None]:
    """Take importances of few shuffles, for tests that do not ask what matters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importance, "NUM_SHUFFLES", 99)
        patch.setattr(pair_importance, "NUM_SHUFFLES", 2)
        yield
