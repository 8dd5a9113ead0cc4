"""Which arms are one in truth, found without comparing every pair."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.results.arms import ArmResults, arm_results, identical_groups
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import finished, manifest_of, trial_key


def arms_of(wrong: Sequence[Sequence[int | None]]) -> tuple[ArmResults, ...]:
    """Return arms of two seeds by their wrong images, None where a seed has no record."""
    names = [f"arm {place}" for place in range(len(wrong))]
    records: dict[str, TrialRecord] = {
        trial_key(name, seed): finished(name, seed, number)
        for name, numbers in zip(names, wrong, strict=True)
        for seed, number in enumerate(numbers)
        if number is not None
    }
    return arm_results(manifest_of(names, (0, 1)), records)


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([1, 2, None]), min_size=2, max_size=2), min_size=1, max_size=9
    )
)
def test_two_arms_are_in_one_group_where_every_seed_of_both_is_equal(wrong: Any) -> None:
    arms = arms_of(wrong)
    groups = [[arm.arm.name for arm in group] for group in identical_groups(arms)]
    assert sorted(name for names in groups for name in names) == sorted(a.arm.name for a in arms)
    assert [names[0] for names in groups] == sorted(names[0] for names in groups)
    for (first, first_wrong), (second, second_wrong) in combinations(
        zip(arms, wrong, strict=True), 2
    ):
        together = any({first.arm.name, second.arm.name} <= {*names} for names in groups)
        assert together == (first_wrong == second_wrong and None not in first_wrong)


def test_each_arm_is_looked_at_as_often_however_many_there_are() -> None:
    looks: list[str] = []

    class Watched(ArmResults):
        @property
        def counted(  # pyright: ignore[reportIncompatibleVariableOverride]
            self,
        ) -> Mapping[int, TrialRecord]:
            looks.append(self.arm.name)
            return ArmResults.counted.func(self)

    for number in (3, 30):
        looks.clear()
        arms = arms_of([(place, place) for place in range(number)])
        identical_groups([Watched(arm.arm, arm.is_baseline, arm.trials) for arm in arms])
        assert len(looks) == 2 * number
