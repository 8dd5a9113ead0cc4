"""A sweep over splits deals them to its seeds, or is refused in one sentence."""

from typing import Any, ClassVar, Literal

import pytest

from capsmodel import TrainingConfig
from capsmodel.data import DataSplits, Digits
from capsmodel.data.base import DataSet
from capsmodel.routing import UniformRouting
from search_spaces import AblationTable, FullFactorial, ListedArms, TunedArms
from tests.search_spaces.declared import ARMS, refusal, searching, sweep


class Given(DataSet):
    """Images that come with their validation images, never loaded here."""

    kind: Literal["given"] = "given"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10
    is_split_by_seed: ClassVar[bool] = False

    def load(self, device: Any) -> DataSplits:
        raise NotImplementedError


FACTORS = {"model.routing": ("dynamic", "uniform"), "loss": ("margin", "cross_entropy")}
TUNED = TunedArms(
    arms={"base": {}, "uniform": {"model.routing": UniformRouting()}},
    baseline="base",
    nuisance={"optimiser.learning_rate": (1e-3, 1e-2)},
    tuning_seeds=(101, 102),
)


def test_splits_are_dealt_to_the_seeds_in_turn() -> None:
    assert sweep(seeds=range(5), split_seeds=(3, 7)).splits == {0: 3, 1: 7, 2: 3, 3: 7, 4: 3}
    assert sweep().splits == {}


def test_seeds_that_follow_leave_those_before_on_their_splits() -> None:
    few, more = (sweep(seeds=range(count), split_seeds=(3, 7, 5)).splits for count in (4, 9))
    assert few.items() <= more.items()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"split_seeds": (4,)}, "split_seeds lists one split, 4: give at least 2, better 5 or"),
        ({"split_seeds": (4, 1, 4)}, "A split is listed twice in split_seeds: 4, 1, 4."),
        ({"split_seeds": (0, -1)}, "an integer at least 0 below 9223372036854775808, got -1 at"),
        ({"split_seeds": range(5)}, "5 splits want at least as many seeds, as each has seeds of"),
        (
            {"base": TrainingConfig(data=Digits(split_seed=2))},
            "The base sets data.split_seed to 2 and the sweep lists split_seeds: give one of them.",
        ),
        (
            {"base": TrainingConfig(data=Given()), "parts": (Given,)},
            "The validation images of 'given' are given with the data, so that there is no other",
        ),
        ({"plan": TUNED}, "The plan 'tuned' chooses as it runs, by the validation images of"),
        (
            {"plan": FullFactorial(factors=FACTORS)},
            "A table of the kind 'effects' reckons with one split: leave split_seeds out, or",
        ),
    ],
    ids=["one", "twice", "negative", "few seeds", "base", "given", "tuned", "effects"],
)
def test_what_cannot_be_dealt_is_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(**({"split_seeds": (0, 1)} | changes))


def test_a_search_is_on_one_split() -> None:
    with pytest.raises(ValueError, match="The plan 'search' chooses as it runs"):
        searching(split_seeds=(0, 1))


def test_factors_are_there_without_their_table() -> None:
    plan, tables = FullFactorial(factors=FACTORS), (AblationTable(),)
    assert len(sweep(plan=plan, tables=tables, split_seeds=(0, 1)).arms()) == 4


@pytest.mark.parametrize("split", [0, 1])
def test_an_arm_cannot_set_a_split(split: int) -> None:
    arms = {**ARMS, "other": {"data.split_seed": split, "batch_size": 5}}
    plan = ListedArms(baseline="base", arms=arms)
    with pytest.raises(ValueError, match=r"The arm 'other' sets data\.split_seed itself and the"):
        sweep(plan=plan, split_seeds=(0, 1)).arms()


def test_a_launch_sets_no_split_of_all_arms_beside_them() -> None:
    over = sweep(split_seeds=(0, 1))
    assert over.changed({"stopping.epochs": 9}).splits == {0: 0, 1: 1}
    with pytest.raises(ValueError, match=r"The base sets data\.split_seed to 3"):
        over.changed({"data.split_seed": 3})
