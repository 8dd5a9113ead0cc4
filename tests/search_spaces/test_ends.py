"""Ends say when a search proposes no more, and are refused where they never come."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel import TrainingConfig
from capsmodel.metrics import VALIDATION_ERROR, Metric, Objective
from search_spaces import AfterEpochs, AtTarget, NoImprovement, Search, Space, Sweep
from search_spaces.plans.ends import SearchProgress

SPACE = Space.of(TrainingConfig).varied({"optimiser": ("adam",)}).only("optimiser.learning_rate")
SMALL, LARGE = VALIDATION_ERROR, Metric(name="accuracy", direction="larger", unit="fraction")
values = st.lists(st.none() | st.floats(0, 1), max_size=30)


def progress(*values: float | None, epochs: int = 0, metric: Metric = SMALL) -> SearchProgress:
    return SearchProgress(Objective(metric), values, epochs)


def refusal(**changes: Any) -> str:
    plan: dict[str, Any] = {"space": SPACE, "trials": 12, "seeds": (0, 1)} | changes
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        Sweep(name="a", base=TrainingConfig(), plan=Search(**plan)).plan.check_together(())
    return str(caught.value)


def test_a_target_is_reached_by_a_value_at_full_length() -> None:
    end = AtTarget(value=0.2)
    assert end.reason(progress(0.5, None, 0.3)) == ""
    assert end.reason(progress(0.5, 0.2)) == "validation_error 0.2 has reached the target 0.2"
    assert end.reason(progress(0.1, metric=LARGE)) == ""
    assert end.reason(progress(0.3, metric=LARGE)) == "accuracy 0.3 has reached the target 0.2"


def test_no_improvement_is_counted_from_the_best() -> None:
    end = NoImprovement(proposals=3)
    assert end.reason(progress(0.5, 0.4, 0.4, None)) == ""
    assert end.reason(progress(0.5, 0.4, 0.4, None, 0.9)) == "no improvement for 3"
    assert end.reason(progress(0.5, 0.4, 0.4, None, 0.39)) == ""
    assert end.reason(progress(0.5, 0.4, 0.4, None, 0.6, metric=LARGE)) == ""
    assert end.reason(progress(0.5, 0.4, 0.4, None, metric=LARGE)) == "no improvement for 3"


def test_what_improves_by_less_than_asked_is_no_improvement() -> None:
    values = progress(0.5, 0.45, 0.42, 0.41)
    assert NoImprovement(proposals=3).reason(values) == ""
    least = NoImprovement(proposals=3, by=0.1)
    assert least.reason(values) == "no improvement by 0.1 for 3"
    assert least.reason(progress(0.5, 0.45, 0.42, 0.39)) == "", "small steps add up"


@given(values, st.integers(1, 10))
def test_an_end_without_improvement_comes_with_the_proposal_that_makes_it_so(
    values: list[float | None], most: int
) -> None:
    end = NoImprovement(proposals=most)
    first = next((n for n in range(len(values) + 1) if end.reason(progress(*values[:n]))), None)
    if first is not None:
        since = values[first - most : first]
        known = [value for value in values[: first - most] if value is not None]
        best = min(known, default=2.0)
        assert all(value is None or value >= best for value in since)


def test_epochs_are_counted_in_all() -> None:
    assert AfterEpochs(epochs=30).reason(progress(epochs=29)) == ""
    assert AfterEpochs(epochs=30).reason(progress(epochs=32)) == "32 epochs were trained, of 30"


@pytest.mark.parametrize(
    ("stop", "sentence"),
    [
        (
            NoImprovement(proposals=12),
            "The search cannot end after 12 proposals without improvement, as it makes 12 in all: "
            "have at least 13 trials, or give NoImprovement fewer proposals.",
        ),
        (
            AtTarget(value=2),
            "The search cannot end at validation_error 2, as that is a fraction: give AtTarget a "
            "value from 0 to 1.",
        ),
        (
            AfterEpochs(epochs=7),
            f"The search cannot end after 7 epochs in all, as its base alone takes "
            f"{2 * TrainingConfig().stopping.num_epochs}: give AfterEpochs more.",
        ),
    ],
)
def test_an_end_that_never_comes_is_refused(stop: Any, sentence: str) -> None:
    assert refusal(stop=stop) == sentence
    assert refusal(stop=(AtTarget(value=0.5), stop)) == sentence


def test_ends_are_no_part_of_what_decides_the_proposals() -> None:
    def fields(**changes: Any) -> dict[str, Any]:
        plan = Search(space=SPACE, trials=12, **changes)
        sweep = Sweep(name="a", base=TrainingConfig(), plan=plan)
        return sweep.plan.manifest_fields(sweep)["search"]

    plain, ended = fields(), fields(stop=(NoImprovement(proposals=3), AtTarget(value=0.1)))
    assert plain["definition"] == ended["definition"]
    assert (plain["until"], ended["until"]) == ("", "no improvement for 3, target 0.1")
