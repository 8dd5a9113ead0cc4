"""Whether tables of tuned arms hold what they say, where both arms are as good at their best.

    python -m tools.acceptance.tuned [--draws 2000]

The plan itself chooses, from validation errors of networks that are drawn by a law
(`tools/acceptance/networks.py`), a rate for each of two arms whose best rates are two steps
apart; fresh networks of what it chose are compared as tables do. No training. A step away from its
best an arm has more errors by a share of them: where that is small tuning often misses the best,
where it is large hardly ever. The exit code is 1 if arms of equal optimum are bold too often.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from capsmodel import TrainingConfig
from search_spaces import Sweep, TunedArms
from search_spaces.plans.decisions import CellEnded, Propose, Select, SlotFree
from search_spaces.plans.known import Known
from sweeps.aggregation.statistics.tuning_slack import p_with_slack, tuning_slack
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, judged_tables
from tools.acceptance.networks import GENERATORS, Generator, images_of

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


BEST = (1, 3)  # place of the best rate of each arm


ARMS = ("first", "second")


WORST = 0.9


NULL = "bold of two arms of equal optimum at different rates, tuned, at most .05"


POWER = "bold of two tuned arms that differ at their best, reported"


_AT_ONCE = 1_000_000  # errors in one part


PLAN = TunedArms(
    arms={"first": {}, "second": {"batch_size": 64}},
    baseline="first",
    nuisance={"optimiser.learning_rate": RATES},
    tuning_seeds=(101, 102),
)


SWEEP = Sweep(name="tuned", base=TrainingConfig(), plan=PLAN, seeds=(0, 1, 2))


TUNINGS = PLAN.initial_cells(SWEEP)


@dataclass(frozen=True)
class Valley:
    """What two arms come to at each rate.

    Attributes:
        error: Of the first arm at its best.
        step: Share of its errors that an arm has more, a rate further from its best.
        apart: Share of errors that the second arm has more at its best.
    """

    error: float
    step: float
    apart: float

    def error_at(self, arm: int, place: int) -> float:
        """Return an arm's error over all seeds and images at a rate."""
        best = self.error * (1 + self.apart * arm)
        return min(WORST, best * (1 + self.step * abs(place - BEST[arm])))

    @property
    def everywhere(self) -> list[float]:
        """Both arms, one after the other, at all rates."""
        return [self.error_at(arm, place) for arm in (0, 1) for place in range(len(RATES))]


def tuned(
    generator: Generator,
    seeds: int,
    images: int,
    draws: int,
    *,
    step: float,
    apart: float = 0.0,
) -> Figure:
    """Count tables with anything bold, of what the plan has chosen.

    Args:
        generator: How networks err.
        seeds: That compare.
        images: Of the test split, and as many of the validation split.
        draws: Of how many tables.
        step: See `Valley`.
        apart: See `Valley`.
    """
    valley = Valley(generator.error, step, apart)
    chance = generator.chance(f"tuned {seeds} {step} {apart}")
    bold, plain = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
    num_best = 0
    for places, slack in _validated(generator, valley, chance, images, draws):
        num_best += int((places == BEST).all(axis=-1).sum())
        for pair in np.unique(places, axis=0):
            pair_slack = slack[(places == pair).all(axis=-1)]
            errors = [valley.error_at(arm, int(place)) for arm, place in enumerate(pair)]
            wrong = generator.wrong(chance, errors, (len(pair_slack), seeds, images))
            tables = judged_tables(wrong, generator.objects(images))
            bold.append(_with_slack(tables, pair_slack).is_bold[:, 0])
            plain.append(tables.is_bold[:, 0])
    context = {
        "without what tuning left open": float(np.concatenate(plain).mean()),
        "both at their best": num_best / draws,
    }
    case = f"{generator.name}, {step:g} of the errors a step"
    counts = counted(np.concatenate(bold))
    return Figure(
        POWER if apart else NULL,
        case,
        seeds,
        images,
        *counts,
        most=1.0 if apart else 0.05,
        context=context,
    )


def _with_slack(tables: JudgedTables, slack: Float[np.ndarray, "draws arms"]) -> JudgedTables:
    return replace(tables, p_value=p_with_slack(tables.way, slack[:, 1:], slack[:, :1]))


def _validated(
    generator: Generator, valley: Valley, chance: np.random.Generator, images: int, draws: int
) -> Iterator[tuple[Int[np.ndarray, "draws arms"], Float[np.ndarray, "draws arms"]]]:
    """Yield which rates the plan takes by validation, and how much that leaves open, in parts."""
    num_seeds, num_rates = len(PLAN.tuning_seeds), len(RATES)
    at_once = max(1, _AT_ONCE // (2 * num_rates * num_seeds * images))
    for start in range(0, draws, at_once):
        shape = (min(at_once, draws - start), num_seeds, images)
        wrong = generator.wrong(chance, valley.everywhere, shape)
        wrong = wrong.reshape(-1, len(ARMS), num_rates, num_seeds, images)
        places = np.array([_chosen(errors) for errors in wrong.mean(axis=-1)])
        yield places, tuning_slack(wrong, places, generator.objects(images))


def _chosen(errors: Float[np.ndarray, "arms rates seeds"]) -> tuple[int, int]:
    """Return the rates that the plan takes for both arms, by their places."""
    known = Known()
    known.take(Propose(TUNINGS))
    for cell in TUNINGS:
        arm, place = cell.arm.split(", tuning ")
        seed = PLAN.tuning_seeds.index(cell.seed)
        error = float(errors[ARMS.index(arm), int(place) - 1, seed])
        last = {"validation_error": error, "validation_loss": error}
        known.take(CellEnded(known.key_of(cell.place), "finished", 1, last))
    (choice,) = PLAN.decide(SWEEP, known, SlotFree())
    assert isinstance(choice, Select)
    first, second = (int(arm.split(", tuning ")[1]) - 1 for arm in choice.arms)
    return first, second


STEPS = (0.2, 0.5, 1.0)


APART = (0.0, 1.0)


SEEDS = 5


def main() -> int:
    """Count, and print a table."""

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="tables a rate")
    draws = parser.parse_args().draws
    start, passed = time.perf_counter(), list[bool]()
    for apart in APART:
        print(f"\n**the second arm's best {'as good' if not apart else 'twice the errors'}**\n")
        print("| networks | seeds | images | bold | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for generator in GENERATORS:
            for step in STEPS:
                images = images_of(generator)
                figure = tuned(generator, SEEDS, images, draws, step=step, apart=apart)
                passed.append(figure.ends[0] <= figure.most)
                print(figure.as_line(), flush=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(not all(passed))


if __name__ == "__main__":
    raise SystemExit(main())
