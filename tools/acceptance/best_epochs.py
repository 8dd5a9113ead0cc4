"""Whether verdicts hold where trainings are tested with the weights of their best epoch.

Each epoch of a training is better or worse by chance, and its validation images choose the one
that is tested. All trainings have the same validation images, other ones than those of the test.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import judged_tables
from tools.acceptance.logit_networks import LogitGenerator, place_of

LOGIT = LogitGenerator("2 %, alike", 0.02, (0.15, 4.0), 0.5, 0.3)
EPOCHS = 8
EPOCH_SPREAD = 0.5  # logits, of one training: more than of its seed
SPREADS = {
    "alike": LOGIT,
    "unlike": replace(
        LOGIT, name="2 %, unlike", scales=(1, 5**0.5, 1, 0.3**0.5, 3**0.5, 1, 2**0.5)
    ),
}
BOLD = "any bold among arms that are as good as the baseline, at most .055"
ALONE = "bold of one arm that is as good as the baseline and compared alone, at most .06"
COVERED = "coverage of the difference of the arm where it is least, at least .92"
MOST, MOST_ALONE, LEAST = 0.055, 0.06, 0.92
_AT_ONCE = 2_500_000


class _Drawn(NamedTuple):
    """Which networks err, of the last and of the best epochs, and how many do in truth.

    Attributes:
        wrong: Tested epoch -> whether each network errs on each test image.
        errors: Tested epoch -> probability of each network to err on an image.
    """

    wrong: dict[str, Bool[np.ndarray, "draws arms seeds images"]]
    errors: dict[str, Float[np.ndarray, "draws arms seeds"]]


def best_epochs(
    spread: str, ratio: int, seeds: int, images: int, draws: int, compared: int
) -> Iterator[Figure]:
    """Count tables of last epochs and of best ones, from the same trainings.

    Every second compared arm errs `ratio` times as much as the baseline; the epochs of an arm whose
    seeds vary more vary more as well.
    """
    generator = SPREADS[spread]
    levels = [
        generator.error * (ratio if arm and arm % 2 == 0 else 1) for arm in range(compared + 1)
    ]
    scales = [generator.scale(arm) for arm in range(compared + 1)]
    is_null = np.array(
        [(levels[arm], scales[arm]) == (levels[0], scales[0]) for arm in range(1, compared + 1)]
    )
    chance = np.random.default_rng([2026, seeds, ratio, images, compared, len(spread)])
    at_once = max(1, _AT_ONCE // ((compared + 1) * seeds * images))
    parts = [
        _drawn(generator, levels, (min(at_once, draws - start), seeds, images), chance)
        for start in range(0, draws, at_once)
    ]
    for tested in ("last epoch", "best epoch"):
        case = f"{generator.name}, levels 1 : {ratio}, {compared} compared, {tested}"
        tables = [judged_tables(part.wrong[tested]) for part in parts]
        if is_null.any():
            bold = np.concatenate([table.is_bold for table in tables]) & is_null
            criterion, most = (BOLD, MOST) if compared > 1 else (ALONE, MOST_ALONE)
            yield Figure(
                criterion, case, seeds, images, *counted(np.asarray(bold.any(axis=1))), most=most
            )
        errors = np.concatenate([part.errors[tested].mean(axis=2) for part in parts]).mean(axis=0)
        true = np.where(is_null, 0.0, errors[1:] - errors[0])
        covers = np.concatenate(
            [np.abs(table.way.mean - true) <= table.way.half_width() for table in tables]
        )
        worst = int(covers.mean(axis=0).argmin())
        context = {"number of that arm": worst + 1, "error of the baseline": float(errors[0])}
        worst_covered = counted(np.asarray(covers[:, worst]))
        yield Figure(COVERED, case, seeds, images, *worst_covered, LEAST, context=context)


def _drawn(
    generator: LogitGenerator,
    levels: list[float],
    shape: tuple[int, int, int],
    chance: np.random.Generator,
) -> _Drawn:
    """Draw trainings, choose an epoch of each on validation images, and test it and the last."""
    draws, seeds, _ = shape
    arms = len(levels)
    scales = np.array([generator.scale(arm) for arm in range(arms)])
    places = np.array([place_of(generator, level, scales[arm]) for arm, level in enumerate(levels)])
    by_test_image, by_seed = generator.effects(chance, arms, shape)
    by_image, _ = generator.effects(chance, arms, shape)
    well = places[:, None, None] + by_seed  # how well each training goes
    of_epochs = chance.standard_normal((EPOCHS, draws, arms, seeds, 1))
    of_epochs *= EPOCH_SPREAD * scales[:, None, None]
    num_wrong = np.stack(
        [_errs(well + epoch + by_image, chance).sum(axis=-1) for epoch in of_epochs]
    )
    best = num_wrong.argmin(axis=0)  # the first of equals
    chosen = {
        "last epoch": of_epochs[-1],
        "best epoch": np.take_along_axis(of_epochs, best[None, ..., None], axis=0)[0],
    }
    logits = {tested: well + epoch + by_test_image for tested, epoch in chosen.items()}
    return _Drawn(
        {tested: _errs(logit, chance) for tested, logit in logits.items()},
        {tested: _probability(logit).mean(axis=-1) for tested, logit in logits.items()},
    )


def _errs(logits: Float[np.ndarray, "..."], chance: np.random.Generator) -> Bool[np.ndarray, "..."]:
    return chance.random(logits.shape, dtype=np.float32) < _probability(logits)


def _probability(logits: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    from scipy.special import expit

    return np.asarray(expit(logits))
