"""A search that weighs its objective against a cost is refused in a sentence where it cannot be."""

from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.config import num_parameters
from search_spaces import (
    AfterEpochs,
    AtTarget,
    Confirm,
    ConfirmationTable,
    FrontTable,
    NoImprovement,
    Search,
    SensitivityTable,
    Space,
    Sweep,
)
from tests.capsmodel.small_config import small_config

WHOLE = Space.of(TrainingConfig).varied({"model": ("capsnet",), "optimiser": ("adam",)})
SIZES = WHOLE.only("model.primary_types", "optimiser.learning_rate")
RATE = WHOLE.only("optimiser.learning_rate")


def search(**changes: Any) -> Search:
    known: dict[str, Any] = {"space": SIZES, "trials": 12, "cost": "num_parameters"}
    return Search(**(known | changes))


def sweep(**changes: Any) -> Sweep:
    return Sweep(name="a", base=small_config(), plan=search(**changes))


def refusal(**changes: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        search(**changes).check_together(())
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"cost": "num_parameter"},
            "Unknown cost 'num_parameter' of a search. Did you mean 'num_parameters'? Known: "
            "num_parameters.",
        ),
        (
            {"cost": "epoch_seconds"},
            "The cost of a search cannot be 'epoch_seconds': what a trial takes depends on the "
            "machine and on what else runs there, not on its trial key, so a resumed search would "
            "not be the one that was begun; choose num_parameters, and bound what a trial takes by "
            "a limit, whose measures the search's log keeps: limits=Limit('seconds_per_epoch', "
            "at_most=2.5) or Limit('peak_memory_bytes', at_most=2_000_000_000).",
        ),
        (
            {"scheduler": "asha"},
            "A search with the cost num_parameters cannot have the scheduler asha, which goes by "
            "the objective alone and would stop the cheap ones: choose promotion, hyperband or "
            "none, or leave out the cost.",
        ),
        (
            {"confirm": Confirm(against_random=True)},
            "A search with the cost num_parameters cannot be compared with random points, of which "
            "the best by the objective alone is taken: leave out against_random, or the cost.",
        ),
        (
            {"stop": NoImprovement(proposals=4)},
            "A search with the cost num_parameters cannot end at 'no improvement for 4', which "
            "asks for the best of one objective, and a front has no best: choose AfterEpochs, or "
            "fewer trials.",
        ),
        (
            {
                "sampler": "nsga2",
                "space": WHOLE.only("loss.positive_margin", "model.primary_types"),
            },
            "The sampler nsga2 cannot propose conditional settings such as "
            "'loss[margin].positive_margin': choose tpe, random, grid, qmc, or leave them out of "
            "the space.",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    assert refusal(**changes) == sentence


def test_memory_is_no_cost_and_a_target_no_end() -> None:
    assert "cannot be 'peak_memory_bytes'" in refusal(cost="peak_memory_bytes")
    assert "cannot end at 'target 0.01'" in refusal(stop=AtTarget(value=0.01))


def test_an_end_by_epochs_may_be() -> None:
    search(stop=AfterEpochs(epochs=100)).check_together(())


@pytest.mark.parametrize("scheduler", ["promotion", "hyperband", "none"])
def test_what_the_refusal_advises_is_accepted(scheduler: str) -> None:
    changed = search().with_options(None, {"scheduler": scheduler})
    changed.check_together(())
    assert changed.scheduler.kind == scheduler


def test_a_scheduler_that_stops_cannot_be_given_at_launch_either() -> None:
    with pytest.raises(ValueError, match="cannot have the scheduler median, which goes"):
        search().with_options(None, {"scheduler": "median"}).check_together(())


def test_a_cost_that_nothing_changes_is_refused() -> None:
    unweighed = sweep(space=RATE)
    with pytest.raises(ValueError, match="nothing to weigh against the objective") as caught:
        unweighed.plan.check_all(unweighed)
    assert "\n" not in str(caught.value)
    size = f"{num_parameters(small_config()):,}"
    assert f"is {size} at all of 64 points" in str(caught.value)
    weighed = sweep()
    weighed.plan.check_all(weighed)


def test_a_front_is_shown_first_and_of_one_objective_refused() -> None:
    assert search().default_tables() == (FrontTable(), ConfirmationTable(), SensitivityTable())
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        search(cost=None).check_together((FrontTable(),))
    assert str(caught.value) == (
        "The search has one objective, so there is no FrontTable: leave it out, or give a second "
        "one, Search(cost='num_parameters')."
    )


def test_a_cost_decides_what_is_proposed_and_its_absence_changes_nothing() -> None:
    with_cost, without = (
        declared.plan.manifest_fields(declared) for declared in (sweep(), sweep(cost=None))
    )
    assert with_cost["search"]["definition"] != without["search"]["definition"]
    assert "cost" not in search(cost=None).model_dump()
    assert search().objective_names() == ("validation_error", "num_parameters")
