"""Which arms gave equal results is said of every pair, and found without comparing every pair."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.tables.ablation import _fingerprint, _identity_notes
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import finished, manifest_of, trial_key


def literally(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Compare each pair, as the sentences say."""
    for first, second in combinations(arms, 2):
        if _fingerprint(first) and _fingerprint(first) == _fingerprint(second):
            yield (
                f"Arms {first.arm.name} and {second.arm.name} gave identical results on every "
                "seed: losses and errors of the last epoch are exactly equal."
            )


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
def test_the_sentences_are_those_of_every_pair_in_the_same_order(wrong: Any) -> None:
    arms = arms_of(wrong)
    assert list(_identity_notes(arms)) == list(literally(arms))


def test_each_arm_is_looked_at_as_often_however_many_there_are() -> None:
    looks: list[str] = []

    class Watched(ArmResults):
        @property
        def counted(self) -> dict[int, TrialRecord]:
            looks.append(self.arm.name)
            return ArmResults.counted.fget(self)  # pyright: ignore[reportOptionalCall]

    for number in (3, 30):
        looks.clear()
        arms = arms_of([(place, place) for place in range(number)])
        list(_identity_notes([Watched(one.arm, one.is_baseline, one.trials) for one in arms]))
        assert len(looks) == 2 * number
