"""NumPy's numbers and arrays are taken as the plain numbers and lists that they hold."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from capsmodel.chance import stream
from search_spaces import (
    Cell,
    Choices,
    Floats,
    FullFactorial,
    Ints,
    ListedArms,
    MatchedArm,
    OneFactor,
    Plan,
    Search,
    Space,
    Sweep,
)
from search_spaces.plans.base import Definition
from search_spaces.plans.decisions import DONE, Done
from search_spaces.plans.known import Known
from search_spaces.quickstart import SWEEP as QUICKSTART
from sweeps.execution.launch_options import options_of
from tests.golden.access import keys_of

BASE = QUICKSTART.base
RATE = float(np.float32(0.01))  # 0.009999999776482582


def sweep(plan: Plan, seeds: Any = (0, 1)) -> Sweep:
    return Sweep(name="numbers", base=BASE, plan=plan, seeds=seeds)


def listed(**settings: Any) -> ListedArms:
    paths = {name.replace("__", "."): value for name, value in settings.items()}
    return ListedArms(baseline="base", arms={"base": {}, "changed": paths})


PAIRS = {
    "whole numbers": (listed(batch_size=np.int64(64)), listed(batch_size=64)),
    "numbers in single precision": (
        listed(optimiser__learning_rate=np.float32(0.01)),
        listed(optimiser__learning_rate=RATE),
    ),
    "numbers in double precision": (
        listed(optimiser__learning_rate=np.float64(0.01)),
        listed(optimiser__learning_rate=0.01),
    ),
    "truth values": (
        listed(model__batch_norm=np.bool_(True)),
        listed(model__batch_norm=True),
    ),
    "an array": (
        listed(model__hidden_capsules=np.array([4, 6])),
        listed(model__hidden_capsules=[4, 6]),
    ),
    "numbers in a list": (
        listed(model__hidden_capsules=[np.int32(4), np.int32(6)]),
        listed(model__hidden_capsules=[4, 6]),
    ),
    "levels": (
        FullFactorial(factors={"batch_size": np.array([32, 64])}),  # type: ignore[dict-item]
        FullFactorial(factors={"batch_size": [32, 64]}),
    ),
    "levels of one factor": (
        OneFactor(factors={"optimiser.learning_rate": list(np.array([0.5, 0.25]))}),
        OneFactor(factors={"optimiser.learning_rate": [0.5, 0.25]}),
    ),
}


@pytest.mark.parametrize(("given", "plain"), PAIRS.values(), ids=PAIRS)
def test_arms_and_trial_keys_are_those_of_plain_numbers(given: Plan, plain: Plan) -> None:
    arms, expected = sweep(given).arms(), sweep(plain).arms()
    assert arms == expected
    for arm, other in zip(arms, expected, strict=True):
        assert keys_of(arm.config, [0]) == keys_of(other.config, [0])
        assert json.dumps(arm.changes) == json.dumps(other.changes)
    assert sweep(given).model_dump_json() == sweep(plain).model_dump_json()


def test_a_matched_arm_keeps_plain_numbers() -> None:
    arm = MatchedArm({"batch_size": np.int64(64)}, matched_to="base", width="model.class_dim")
    assert type(arm.settings["batch_size"]) is int


@pytest.mark.parametrize("seeds", [np.arange(2), [*np.arange(2)], (np.uint8(0), 1)], ids=repr)
def test_seeds_are_plain(seeds: Any) -> None:
    assert [type(seed) for seed in sweep(listed(), seeds).seeds] == [int, int]
    assert sweep(listed(), seeds) == sweep(listed())
    assert options_of({"seeds": seeds}).seeds == (0, 1)


def test_a_search_takes_numpys_seeds_and_ranges() -> None:
    space = Space({"batch_size": Choices(*np.array([32, 64]))})
    search = Search(space=space, trials=np.int64(2), seeds=np.arange(2), confirm=None)  # type: ignore[arg-type]
    expected = Search(
        space=Space({"batch_size": Choices(32, 64)}), trials=2, seeds=[0, 1], confirm=None
    )
    assert search == expected
    assert search.model_dump_json() == expected.model_dump_json()


def test_ranges_hold_plain_numbers() -> None:
    ints = Ints(np.int64(1), np.int16(5), step=np.int8(2))
    assert ints == Ints(1, 5, step=2)
    assert {type(end) for end in (ints.low, ints.high, ints.step)} == {int}
    floats = Floats(np.float32(0.01), np.float64(0.5))
    assert floats == Floats(RATE, 0.5)
    assert {type(end) for end in (floats.low, floats.high)} == {float}
    choices = Choices(*np.logspace(-3, -1, 3))
    assert choices == Choices(*np.logspace(-3, -1, 3).tolist())
    assert {type(value) for value in choices.values} == {float}
    assert [type(value) for value in Choices(np.bool_(False), np.str_("no")).values] == [bool, str]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Ints(np.float64(1.5), 3), r"low of Ints must be a whole number, got 1\.5\."),
        (lambda: Floats(np.float32("nan"), 1.0), "low of Floats must be a finite number, got nan"),
        (lambda: Choices(1, np.int64(1)), r"all different, got \(1, 1\)"),
        (lambda: Choices(np.arange(2), 3), r"Choices are str, int, float or bool, got \[0, 1\]"),
        (lambda: Choices(*np.array([1j, 2j])), "Choices are str, int, float or bool, got 1j"),
    ],
)
def test_what_is_refused_is_refused_as_plain_numbers_are(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


class Drawn(Plan):
    """A plan of one's own that draws its cells with NumPy."""

    kind: str = "drawn"

    def next_cells(self, definition: Definition, known: Known) -> Sequence[Cell] | Done:
        del definition
        if known.cells:
            return DONE
        seed = int(stream(0, "drawn").initial_seed() % 1000)
        sizes = np.random.default_rng(seed).choice([16, 32, 64], 2, replace=False)
        return [
            Cell(f"{size}", {"batch_size": size}, seed) for size in sizes for seed in np.arange(2)
        ]


def test_cells_of_a_plan_of_ones_own_are_plain() -> None:
    cells: Sequence[Cell] | Done = Drawn().next_cells(sweep(listed()), Known())
    assert not isinstance(cells, Done)
    settings: list[Mapping[str, Any]] = [cell.settings for cell in cells]
    assert {type(each["batch_size"]) for each in settings} == {int}
    assert {type(cell.seed) for cell in cells} == {int}
    assert len(sweep(Drawn()).arms()) == 2
