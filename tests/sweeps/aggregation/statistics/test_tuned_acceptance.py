"""Arms of equal optimum at different rates are hardly ever bold: a few draws of each.

`python -m tools.acceptance.tuned` counts them at length. Chance is the same in every run.
`tables/test_tuned_arms.py` has the law.
"""

import pytest

from tools.acceptance.networks import BOTH_MATTER, IMAGES_DOMINATE, SEEDS_DOMINATE, Generator
from tools.acceptance.tuned import tuned

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    ("generator", "step"),
    [(IMAGES_DOMINATE, 0.5), (BOTH_MATTER, 0.2), (SEEDS_DOMINATE, 1.0)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_two_arms_as_good_at_their_best_are_hardly_ever_bold(
    generator: Generator, step: float
) -> None:
    figure = tuned(generator, 5, 360, 300, step=step)
    assert figure.rate <= figure.most, figure.as_line()
    assert figure.context["without what tuning left open"] > figure.rate


def test_an_arm_that_is_worse_at_its_best_is_still_found() -> None:
    figure = tuned(IMAGES_DOMINATE, 5, 360, 150, step=1.0, apart=1.0)
    assert figure.rate > 0.8, figure.as_line()
