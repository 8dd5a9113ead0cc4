"""How often healthy tables have an alarm about their splits, and tables of wrong labels none.

    python -m tools.acceptance.split_alarms [--only healthy] [--draws 2000]

Networks err by a law (`tools/acceptance/networks.py`) on test images and three quarters as many
validation images. Images are as hard for all arms and seeds in part, seeds go well or badly, and
an error mostly takes an image for the class that looks like its own, unless the network guesses.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.split_alarms import split_alarms
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.trial_record import Outcome, TrialRecord
from tools.acceptance.counting import Job, count_and_print
from tools.acceptance.figures import Figure
from tools.acceptance.networks import (
    BOTH_MATTER,
    HEAVY_TAILS,
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    Generator,
)

UNLIKE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.9)
SIZES = (100, 1000, 10_000)
SHIFTED = (0.01, 0.02, 0.05)
LEVELS = (0.01, 0.05, 0.2)
MOST = 0.01
_CLASSES = 10
_SEEDS = 3
_ALIKE = 0.6  # of errors, that take an image for the class that looks most like its own
_UNLIKE_ODDS = 1.2  # the most by which the odds of an error differ between splits of one kind


class Drawn(NamedTuple):
    """One drawn table.

    Attributes:
        wrong: Whether each network errs on each image, those of the test first.
        labels: Of these images.
        classes: What a network of each arm that errs takes them for.
        num_test: Number of the test images.
    """

    wrong: Bool[np.ndarray, "arms seeds images"]
    labels: Int[np.ndarray, " images"]
    classes: Int[np.ndarray, "arms 1 images"]
    num_test: int


Fault = Callable[[np.random.Generator, Drawn], Drawn]


def no_fault(chance: np.random.Generator, table: Drawn) -> Drawn:
    """Return a table as it is."""
    del chance
    return table


def one_split_easier(chance: np.random.Generator, table: Drawn) -> Drawn:
    """Return a table one of whose splits has lower odds of an error, by one factor for all."""
    num_images = len(table.labels)
    is_test = np.arange(num_images) < table.num_test
    is_easier = is_test if chance.random() < 1 / 2 else ~is_test
    error = table.wrong.mean(axis=-1, keepdims=True)
    factor = _UNLIKE_ODDS ** -chance.random()
    remaining = factor / (1 - error + factor * error)  # the share of errors that are still made
    is_kept = ~is_easier | (chance.random(num_images) < remaining)
    return table._replace(wrong=table.wrong & is_kept)


def shifted_labels(share: float, chance: np.random.Generator, table: Drawn) -> Drawn:
    """Return a table in which the labels of a share of the test images are one too high."""
    num = round(share * table.num_test)
    labels = table.labels.copy()
    labels[chance.permutation(table.num_test)[:num]] += 1
    return table._replace(labels=labels % _CLASSES)


def swapped_labels(chance: np.random.Generator, table: Drawn) -> Drawn:
    """Return a table in which the test labels 3 and 6 are exchanged."""
    labels = table.labels.copy()
    test = labels[: table.num_test]
    test[:] = np.where(np.isin(test, (3, 6)), 9 - test, test)
    return no_fault(chance, table._replace(labels=labels))


def drawn_table(
    chance: np.random.Generator,
    wrong: Bool[np.ndarray, "arms seeds images"],
    errors: Sequence[float],
    num_test: int,
) -> Drawn:
    """Return a table whose images have classes of equal frequency."""
    labels = chance.permutation(wrong.shape[-1]) % _CLASSES
    alike = labels ^ 1  # 0 and 1 look alike, 2 and 3, and so on
    anything = (labels + chance.integers(1, _CLASSES, len(labels))) % _CLASSES
    knows_some = np.array(errors).reshape(-1, 1, 1) < 1 / 2
    classes = np.where(knows_some & (chance.random(len(labels)) < _ALIKE), alike, anything)
    return Drawn(wrong, labels, classes, num_test)


def alarms(table: Drawn, true_labels: Int[np.ndarray, " images"]) -> tuple[str, ...]:
    """Return the alarms of a table, as its report has them."""
    num_arms, num_seeds, _ = table.wrong.shape
    keys = {
        (arm, seed): f"{arm * num_seeds + seed:020x}"
        for arm in range(num_arms)
        for seed in range(num_seeds)
    }
    manifest = Manifest(
        sweep="drawn",
        baseline="0",
        arms=tuple(
            ManifestArm(name=str(arm), config={}, num_parameters=1) for arm in range(num_arms)
        ),
        seeds=tuple(range(num_seeds)),
        cells=tuple(
            ManifestCell(arm=str(arm), seed=seed, trial_key=key)
            for (arm, seed), key in keys.items()
        ),
    )
    classes = np.where(table.wrong, table.classes, true_labels).astype(np.uint8)
    labels, num = table.labels.astype(np.uint8), table.num_test
    predictions = {
        key: Predictions(
            "drawn",
            SplitPredictions(classes[arm, seed, :num], labels[:num]),
            SplitPredictions(classes[arm, seed, num:], labels[num:]),
        )
        for (arm, seed), key in keys.items()
    }
    records = {
        key: TrialRecord(
            record_id=key,
            trial_key=key,
            outcome=Outcome.FINISHED,
            seed=seed,
            metrics={"test_error": float(predictions[key].test.errors.mean())},
        )
        for (_, seed), key in keys.items()
    }
    return split_alarms(manifest, arm_results(manifest, records), predictions)


def share_with_alarm(
    generator: Generator, errors: Sequence[float], num_test: int, draws: int, fault: Fault
) -> tuple[int, int]:
    """Return how many tables have an alarm, and of how many."""
    chance = generator.chance(f"splits {num_test}")
    num_images = num_test + round(0.75 * num_test)
    count = 0
    for wrong in generator.parts(f"{errors} {num_test}", errors, (draws, _SEEDS, num_images)):
        for of_table in wrong:
            table = drawn_table(chance, of_table, errors, num_test)
            count += bool(alarms(fault(chance, table), table.labels))
    return count, draws


def _healthy(generator: Generator, num_test: int, draws: int) -> Iterator[Figure]:
    faults = {"alike": no_fault, "one split a little easier": one_split_easier}
    for name, fault in faults.items():
        figures = share_with_alarm(generator, UNLIKE, num_test, draws, fault)
        case = f"{generator.name}, arms of 1 to 90 %, {name}"
        yield Figure("an alarm in healthy tables", case, _SEEDS, num_test, *figures, most=MOST)


def _power(level: float, num_test: int, draws: int) -> Iterator[Figure]:
    for share in SHIFTED:
        fault = partial(shifted_labels, share)
        figures = share_with_alarm(BOTH_MATTER, [level] * 5, num_test, draws, fault)
        case = f"error {level:.0%}, labels shifted {share:.0%}"
        yield Figure("an alarm where labels are shifted", case, _SEEDS, num_test, *figures)


def _permuted(level: float, num_test: int, draws: int) -> Iterator[Figure]:
    faults = {"all shifted by one": partial(shifted_labels, 1.0), "two swapped": swapped_labels}
    for name, fault in faults.items():
        figures = share_with_alarm(BOTH_MATTER, [level] * 5, num_test, draws, fault)
        case = f"error {level:.0%}, {name}"
        yield Figure("an alarm where labels are permuted", case, _SEEDS, num_test, *figures)


def healthy(draws: int) -> Iterator[Job]:
    """Yield tables of six arms of unlike levels, three seeds each, without a fault.

    Those of 10,000 images are a quarter as many.
    """
    for num_test in SIZES:
        for generator in (BOTH_MATTER, SEEDS_DOMINATE, IMAGES_DOMINATE, HEAVY_TAILS):
            yield partial(_healthy, generator, num_test, draws // (4 if num_test > 1000 else 1))


def power(draws: int) -> Iterator[Job]:
    """Yield tables of five arms with wrong test labels, a tenth as many."""
    for num_test in SIZES:
        for level in LEVELS:
            yield partial(_power, level, num_test, draws // 10)


def permuted(draws: int) -> Iterator[Job]:
    """Yield tables of five arms with permuted test labels, a tenth as many."""
    for num_test in SIZES[:2]:
        for level in (*LEVELS, 0.4):
            yield partial(_permuted, level, num_test, draws // 10)


PARTS = {"healthy": healthy, "power": power, "permuted": permuted}

if __name__ == "__main__":
    sys.exit(count_and_print(PARTS, __doc__ or ""))
