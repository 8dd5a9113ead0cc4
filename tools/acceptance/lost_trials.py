"""Whether trials that diverged or failed make a table say what is not there.

The product's own `comparisons` judges each table, as its rules for lost trials are many.
"""

from collections.abc import Iterator
from typing import Literal
from zlib import crc32

import numpy as np
from jaxtyping import Bool

from sweeps.aggregation.results.comparisons import comparisons
from sweeps.records.trial_record import Outcome
from tools.acceptance.drawn_arms import BASELINE, drawn_arm, drawn_predictions
from tools.acceptance.figures import Figure, counted
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.networks import Generator

Law = Literal["in every arm", "in one arm", "the worst seeds of one arm"]

LAWS: tuple[Law, ...] = ("in every arm", "in one arm", "the worst seeds of one arm")
EQUAL = "any bold where arms are equal and trials are lost, at most .055"
BETTER = "bold-better of an arm that alone diverges, at most .055"


def lost_trials(
    generator: Generator | LogitGenerator,
    seeds: int,
    images: int,
    draws: int,
    *,
    compared: int,
    share: float,
    outcome: Outcome,
    law: Law,
) -> Iterator[Figure]:
    """Count tables with anything bold, where no arm errs more than the baseline.

    An arm that alone diverges is worse, and may be bold for that: only "better" is counted, of its
    errors. (Where few are left, the verdict is that it diverges more often.)

    Args:
        generator: Of the networks.
        seeds: Of each arm.
        images: Of the test split.
        draws: Tables.
        compared: Arms besides the baseline.
        share: Of the trials that are lost, of those that the law speaks of.
        outcome: How they end.
        law: Which trials are lost: at random in every arm, at random in one, or in one arm those
            that would err most.
    """
    is_better_alone = outcome is Outcome.DIVERGED and law != "in every arm"
    names = [BASELINE, *(f"arm {place}" for place in range(compared))]
    bold = list[bool]()
    case = f"lost {seeds} {compared} {share} {outcome} {law}"
    chance = np.random.default_rng(crc32(case.encode()))
    errors = [generator.error] * len(names)
    for part in generator.parts(case, errors, (draws, seeds, images)):
        for wrong in part:
            is_lost = _lost(wrong, share, law, chance)
            arms = [
                drawn_arm(name, rows, {int(seed): outcome for seed in np.flatnonzero(lost)})
                for name, rows, lost in zip(names, wrong, is_lost, strict=True)
            ]
            predictions = drawn_predictions(dict(zip(names, wrong, strict=True)))
            shown = [
                comparison
                for comparison in comparisons(arms, predictions)
                if comparison.is_different
            ]
            if is_better_alone:
                shown = [
                    comparison
                    for comparison in shown
                    if comparison.way and (comparison.difference.mean or 0.0) < 0
                ]
            bold.append(bool(shown))
    label = f"{generator.name}, {compared} compared, {share:.0%} {outcome.value} {law}"
    criterion = BETTER if is_better_alone else EQUAL
    yield Figure(criterion, label, seeds, images, *counted(np.array(bold)), most=0.055)


def _lost(
    wrong: Bool[np.ndarray, "arms seeds images"],
    share: float,
    law: Law,
    chance: np.random.Generator,
) -> Bool[np.ndarray, "arms seeds"]:
    is_lost = chance.random(wrong.shape[:2]) < share
    if law == "in every arm":
        return is_lost
    is_lost[:-1] = False
    if law == "the worst seeds of one arm":
        order = wrong[-1].mean(axis=-1).argsort()[::-1]
        is_lost[-1] = np.isin(np.arange(wrong.shape[1]), order[: is_lost[-1].sum()])
    return is_lost
