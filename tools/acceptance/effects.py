"""Whether tables of effects hold what they say, in tables of networks that are drawn.

    python -m tools.acceptance.effects [--draws 10000] [--processes 2] [--only null power]

Networks err on images by a law (`tools/acceptance/networks.py`), in grids of two factors or
three; the product's own functions judge what they err on, without a training. Prints a table a
criterion. The exit code is 1 if anything does not hold.
"""

import sys
from collections.abc import Iterator
from functools import partial

from tools.acceptance import effect_criteria as criteria
from tools.acceptance.counting import Job, count_and_print
from tools.acceptance.logit_networks import LOGIT_GENERATORS
from tools.acceptance.networks import GENERATORS, Generator, images_of

SEEDS = (3, 5, 10)


def null(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for grid in criteria.GRIDS:
                shape = (draws, seeds, images_of(generator))
                yield partial(criteria.under_null, generator, grid, shape)


def power(draws: int) -> Iterator[Job]:
    cases = ((criteria.SMALL, 0), (criteria.SMALL, 3), (criteria.MIXED, 1), (criteria.MIXED, 2))
    for generator in (*GENERATORS, *LOGIT_GENERATORS):
        for seeds in SEEDS:
            for grid, term in cases:
                images = images_of(generator) if isinstance(generator, Generator) else 360
                yield partial(criteria.power, generator, grid, term, (draws, seeds, images))


if __name__ == "__main__":
    sys.exit(count_and_print({"null": null, "power": power}, __doc__ or ""))
