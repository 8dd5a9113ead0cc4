"""`capsweep plan` says which settings of a search will have enough trials for an importance."""

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from capsmodel.search_range import Choices, Floats
from search_spaces import Search, Space, Sweep
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.cli.commands.planned_importances import PlannedImportances, planned_importances
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.within_limits import WithinLimits
from tests.capsmodel.small_config import small_config
from tests.sweeps.cli.shell import Shell

LOSS, SCHEDULE = "loss", "loss[margin].schedule"
SPACE = Space(
    {
        LOSS: ("margin", "spread"),
        SCHEDULE: ("constant", "linear", "sigmoid"),
        "optimiser.learning_rate": Floats(1e-4, 1e-2, log=True),
        "batch_size": Choices(32, 64),
    }
)
FILE = """\
from capsmodel.search_range import Floats
from search_spaces import Search, Space, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SPACE = Space({"loss": ("margin", "spread"), "loss[margin].schedule": ("constant", "linear"),
               "optimiser.learning_rate": Floats(1e-4, 1e-2, log=True)})
SWEEP = Sweep(name="mine", base=QUICKSTART.base,
              plan=Search(space=SPACE, trials=20, sampler="random", confirm=None))
"""


def planned(**fields: object) -> tuple[PlannedImportances, Sweep]:
    given = {"space": SPACE, "trials": 20, "confirm": None, "sampler": "random", **fields}
    sweep = Sweep(name="example", base=small_config(), plan=Search(**given))  # pyright: ignore[reportArgumentType]
    search = define(sweep, Changes(), ()).manifest.search
    assert isinstance(sweep.plan, Search)
    assert search
    return planned_importances(sweep.plan, search), sweep


@pytest.mark.parametrize("sampler", ["random", "qmc"])
@pytest.mark.parametrize("seed", range(20))
def test_a_search_of_twenty_counts_what_its_plan_expects(sampler: str, seed: int) -> None:
    expected, sweep = planned(sampler=sampler, sampler_seed=seed)
    plan, points = sweep.plan, list[Mapping[str, object]]()
    assert isinstance(plan, Search)
    proposer = WithinLimits(plan, sweep)
    while len(points) < 20:
        point = proposer.propose(points, [Observation("open")] * len(points))
        assert point
        points.append(point)
    counted = Counter(name for point in points for name in point)
    assert expected.expected == dict(counted)
    assert expected.expected[SCHEDULE] == 10
    assert expected.lacking == [SCHEDULE]


def test_without_balance_it_expects_the_mean() -> None:
    expected, _ = planned(balance=False)
    assert expected.expected[SCHEDULE] == 10
    assert expected.num_trials == 2 * FEWEST_TRIALS
    assert next(expected.sentences()).endswith("so that these numbers are means.")


def test_the_number_of_trials_that_it_advises_is_enough() -> None:
    expected, sweep = planned()
    assert expected.num_trials
    assert isinstance(sweep.plan, Search)
    longer, _ = planned(trials=expected.num_trials)
    assert longer.lacking == []
    shorter, _ = planned(trials=expected.num_trials - 1)
    assert shorter.lacking == [SCHEDULE]
    assert f"--trials {expected.num_trials} reaches it" in " ".join(expected.sentences())


def test_of_a_sampler_that_learns_its_start_counts_if_that_is_enough() -> None:
    start, _ = planned(sampler="tpe", startup=FEWEST_TRIALS, trials=90)
    assert start.expected[SCHEDULE] == FEWEST_TRIALS / 2
    said = " ".join(start.sentences())
    assert f"the first {FEWEST_TRIALS} proposals alone count" in said
    assert f"Search(startup={start.fewest}) with --trials" in said
    assert start.fewest
    enough, _ = planned(sampler="tpe", startup=start.fewest, trials=90)
    assert enough.lacking == []
    every, _ = planned(sampler="tpe", trials=90)
    assert every.expected[SCHEDULE] == pytest.approx(45)
    assert "there will be no verdict" in " ".join(every.sentences())
    assert (start.startup, enough.startup) == (start.fewest, None)
    assert (start.num_trials, enough.num_trials) == (None, 90)


def test_a_choice_of_many_kinds_needs_two_trials_a_kind() -> None:
    many = Space({"model.class_dim": Choices(*range(2, 14)), "batch_size": Choices(32, 64)})
    expected, _ = planned(space=many, trials=22)
    assert expected.needed == {"model.class_dim": 24, "batch_size": FEWEST_TRIALS}
    assert expected.lacking == ["model.class_dim"]
    assert expected.num_trials == 24
    assert "and up to 24 for choices of many kinds" in " ".join(expected.sentences())


def test_the_plan_shows_it_as_text_and_as_json(shell: Shell) -> None:
    (shell.folder / "mine.py").write_text(FILE)
    said = " ".join(shell("plan", "mine.py").out.split())
    assert "1 setting of 3 will have fewer (loss[margin].schedule). --trials" in said
    assert f"{FEWEST_TRIALS} trials that have the setting" in said
    answer = json.loads(shell("plan", "mine.py", "--json").out)["importances"]
    row = {"setting": SCHEDULE, "expected_trials": 10.0, "needed_trials": FEWEST_TRIALS}
    assert row in answer["settings"]
    advice = str(answer["num_trials"])
    longer = json.loads(shell("plan", "mine.py", "--trials", advice, "--json").out)["importances"]
    assert all(row["expected_trials"] >= FEWEST_TRIALS for row in longer["settings"])
    assert json.loads(shell("plan", "quickstart", "--json").out)["importances"] is None
