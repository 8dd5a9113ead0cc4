"""Trainings that differ by chance alone: how many a scheduler stops, and what that saves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from search_spaces import Asha, Median, Search
from search_spaces.plans.decisions import Cell
from search_spaces.plans.scheduler import Scheduler
from tools.acceptance.figures import Figure, counted
from tools.acceptance.search_runs import PLAIN, SearchRun

PROPOSALS = 40
OF_ARMS = 0.7  # share of the variance that configurations make, seeds the rest
NOISE = 0.02
IMAGES = 359
RUNG_SURVIVAL = "share that ASHA keeps at a rung, within .05 of what it says"
TIED = "the same where errors are of few images, so that many tie: ties go on, reported"
SURVIVE = "share that survives the median rule, at least .7"
OF_STOPPED = "full-length trainings that belong to stopped proposals, reported"

Curve = Callable[[np.random.Generator], Callable[[Cell], list[float]]]


@dataclass(frozen=True)
class Stops:
    """What became of the proposals of one search.

    Attributes:
        judged: Whether each that was judged went on, in the order of the verdicts; by ASHA's rule
            the first have no rivals and go on.
        survived: Whether each ran to full length.
        full: Whether each full-length training belongs to a proposal that was stopped.
        epochs: Trained, as a share of those without a scheduler.
    """

    judged: tuple[bool, ...]
    survived: tuple[bool, ...]
    full: tuple[bool, ...]
    epochs: float


@dataclass(frozen=True)
class Drawn:
    """Searches of one kind.

    Attributes:
        scheduler: That stops.
        seeds: Of a proposal.
        num_epochs: Of a full training.
        slots: Trainings at once.
    """

    scheduler: Scheduler
    seeds: int
    num_epochs: int
    slots: int

    def stops(self, curves: Curve, case: int) -> Stops:
        """Return the outcome of one search. Its sampler does not matter and is random."""
        plan = Search(
            space=PLAIN,
            trials=PROPOSALS,
            seeds=tuple(range(self.seeds)),
            sampler="random",
            scheduler=self.scheduler,
            confirm=None,
        )
        train = curves(np.random.default_rng([2026, case]))
        run = SearchRun(plan, train, self.num_epochs, self.slots)
        run.to_its_end()
        trials = [[run.known.by_key(key) for key in keys] for keys in run.proposals()]
        stopped = [any(trial.stopped for trial in seeds) for seeds in trials]
        full = [
            is_stopped
            for seeds, is_stopped in zip(trials, stopped, strict=True)
            for trial in seeds
            if trial.ended == "finished"
        ]
        return Stops(
            judged=tuple(run.verdicts),
            survived=tuple(not is_stopped for is_stopped in stopped),
            full=tuple(full),
            epochs=run.epochs / (PROPOSALS * self.seeds * self.num_epochs),
        )


def by_arm_and_seed(chance: np.random.Generator) -> Callable[[Cell], list[float]]:
    """Return trainings that stay where they begin: a part of their arm's, a part of their own."""
    by_arm: dict[str, float] = {}

    def train(cell: Cell) -> list[float]:
        arm_effect = by_arm.setdefault(cell.arm, float(chance.normal()))
        value = np.sqrt(OF_ARMS) * arm_effect + np.sqrt(1 - OF_ARMS) * chance.normal()
        return [0.5 + NOISE * float(value)] * _LONGEST

    return train


def by_images(chance: np.random.Generator) -> Callable[[Cell], list[float]]:
    """Return the same in whole images, about 7 wrong of 359, give or take two: many tie."""
    train = by_arm_and_seed(chance)
    return lambda cell: [round(7 + 110 * (value - 0.5)) / IMAGES for value in train(cell)]


def noisy(falls_by: float) -> Curve:
    """Return trainings whose epochs differ by chance alone, from where all of them are."""

    def curves(chance: np.random.Generator) -> Callable[[Cell], list[float]]:
        trend = 0.3 + falls_by * np.exp(-np.arange(_LONGEST) / 5)
        return lambda cell: (trend + NOISE * chance.normal(size=_LONGEST)).tolist()

    return curves


def rung_survivors(reduction: int, seeds: int, at_once: int, draws: int) -> Iterator[Figure]:
    """Count who goes on at the one rung of a search whose proposals differ little.

    Args:
        reduction: One in so many goes on.
        seeds: Of a proposal, all trained at once.
        at_once: Proposals that are trained at once.
        draws: Searches.
    """
    scheduler = Asha(grace=1 / reduction, reduction_factor=reduction)
    kind = Drawn(scheduler, seeds, reduction, seeds * at_once)
    searches = [kind.stops(by_arm_and_seed, case) for case in range(draws)]
    judged = np.array(
        [going for search in searches for going in search.judged[scheduler.min_rivals :]]
    )
    share = scheduler.surviving_share
    context = {"of all": float(np.mean([search.survived for search in searches]))}
    case = f"1 in {reduction} goes on, {at_once} proposals at once"
    yield Figure(
        RUNG_SURVIVAL, case, seeds, 0, *counted(judged), share - 0.05, share + 0.05, context=context
    )
    full = np.array([is_stopped for search in searches for is_stopped in search.full])
    yield Figure(OF_STOPPED, case, seeds, 0, *counted(full))


def tied(seeds: int, draws: int) -> Iterator[Figure]:
    """Report who goes on at a rung of half where errors differ by two of few images or so."""
    scheduler = Asha(grace=0.5, reduction_factor=2)
    kind = Drawn(scheduler, seeds, 2, seeds)
    searches = [kind.stops(by_images, case) for case in range(draws)]
    judged = np.array(
        [going for search in searches for going in search.judged[scheduler.min_rivals :]]
    )
    yield Figure(TIED, "1 in 2 goes on", seeds, IMAGES, *counted(judged))


def survivors(num_epochs: int, falls_by: float, seeds: int, draws: int) -> Iterator[Figure]:
    """Count the survivors of the median rule where all proposals are equally good."""
    kind = Drawn(Median(), seeds, num_epochs, seeds)
    searches = [kind.stops(noisy(falls_by), case) for case in range(draws)]
    survived = np.array([survives for search in searches for survives in search.survived])
    case = f"{num_epochs} epochs, {'falling' if falls_by else 'flat'}"
    yield Figure(SURVIVE, case, seeds, 0, *counted(survived), least=0.7)


def saved(scheduler: Scheduler, seeds: int, slots: int, draws: int) -> Iterator[Figure]:
    """Report what is trained of proposals that differ, where few of their seeds run at once."""
    kind = Drawn(scheduler, seeds, 27, slots)
    searches = [kind.stops(by_arm_and_seed, case) for case in range(draws)]
    full = np.array([is_stopped for search in searches for is_stopped in search.full])
    context = {
        "epochs trained": float(np.mean([search.epochs for search in searches])),
        "proposals stopped": 1 - float(np.mean([search.survived for search in searches])),
    }
    at_once = f"{slots} training{'s' * (slots > 1)} at once"
    case = f"{scheduler.kind}, {scheduler.surviving_share:.2g} go on, {at_once}"
    yield Figure(OF_STOPPED, case, seeds, 0, *counted(full), context=context)


_LONGEST = 30
