"""A search is refused in one sentence before anything runs, if it cannot be."""

from contextlib import nullcontext
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices, Ints
from search_spaces import Asha, Confirm, Median, NoScheduler, Search, Space, Sweep
from search_spaces.plans.objective import losses_compare

CONDITIONAL = Space.of(TrainingConfig).only("loss.positive_margin", "batch_size")
RATE = (
    Space.of(TrainingConfig)
    .varied({"optimiser": ("adam",)})
    .only("optimiser.learning_rate", "batch_size")
)
SIZES = RATE.varied({"optimiser.learning_rate": Choices(1e-3, 1e-2)})


def search(**changes: Any) -> Search:
    return Search(**({"space": RATE, "trials": 8} | changes))


def refusal(**changes: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        search(**changes).check_together(())
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def test_an_objective_that_nobody_declares_is_refused_with_the_near_one() -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        Sweep(name="a", base=TrainingConfig(), plan=search(objective="validation_eror"))
    assert str(caught.value) == (
        "Unknown objective 'validation_eror' of a search. Did you mean 'validation_error'? "
        "Known: validation_error, validation_loss."
    )


def test_a_space_and_the_number_of_trials_are_enough() -> None:
    default = search()
    assert (default.sampler, default.objective, default.seeds) == ("tpe", "validation_error", (0,))
    assert (default.scheduler, default.confirm, default.num_startup) == (
        NoScheduler(),
        Confirm(),
        10,
    )


@pytest.mark.parametrize(
    ("scheduler", "expected"), [("asha", Asha()), ("median", Median()), (Asha(grace=0.5),) * 2]
)
def test_a_scheduler_may_be_given_by_its_kind(scheduler: Any, expected: Any) -> None:
    assert search(scheduler=scheduler).scheduler == expected


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"sampler": "tpee"},
            "Unknown sampler 'tpee'. Did you mean 'tpe'? Known: tpe, random, gp, nsga2, grid, qmc.",
        ),
        (
            {"scheduler": "ahsa"},
            "Unknown scheduler 'ahsa'. Did you mean 'asha'? Known: none, asha, promotion, "
            "hyperband, median.",
        ),
        (
            {"objective": "test_error"},
            "The objective is test_error, but selection never sees the test split: choose "
            "validation_error or validation_loss.",
        ),
        (
            {"objective": "test_error.familiar"},
            "The objective is test_error.familiar, but selection never sees the test split: choose "
            "validation_error or validation_loss.",
        ),
        (
            {"objective": "evaluation.confidence.abababab.calibration_error"},
            "The objective is evaluation.confidence.abababab.calibration_error, but selection "
            "never sees what an evaluation found, as that may be of the test split: choose "
            "validation_error or validation_loss.",
        ),
        (
            {"objective": "train_loss"},
            "Unknown objective 'train_loss' of a search. Did you mean 'validation_loss'? Known: "
            "validation_error, validation_loss.",
        ),
        ({"trials": 0}, "trials must be an integer from 1 to 100000, got 0."),
        ({"seeds": (1, 1)}, "A seed is listed twice: 1, 1."),
        (
            {"space": CONDITIONAL, "sampler": "gp"},
            "The sampler gp cannot propose conditional settings such as "
            "'loss[margin].positive_margin': choose tpe, random, grid, qmc, or leave them out of "
            "the space.",
        ),
        (
            {"sampler": "grid"},
            "The sampler grid needs values that can be counted, but 'optimiser.learning_rate' is "
            "a range without steps: give it Choices, or choose tpe, random, gp, nsga2, qmc.",
        ),
        (
            {"space": SIZES, "sampler": "grid", "trials": 9},
            "The space has 8 points, fewer than the 9 trials, and none is proposed twice: have "
            "at most 8.",
        ),
        (
            {"trials": 3},
            "The best 3 of 3 trials cannot be confirmed, as some must be left to be better than: "
            "have at least 4 trials, or set confirm=None.",
        ),
        (
            {"seeds": (0, 103)},
            "The seed 103 is one of the search and of its confirmation, which is to be on fresh "
            "ones: take others for one of them.",
        ),
        (
            {"confirm": Confirm(against_random=True)},
            "This search draws all its points at random and trains them in full, so that random "
            "points at equal compute are no other search: leave out against_random=True, or choose "
            "a sampler that learns (with more trials than its random start) or a scheduler.",
        ),
        (
            {"confirm": Confirm(random_seed=3)},
            "random_seed=3 is what random points are drawn by, and none are asked for: give "
            "against_random=True as well, or leave it out.",
        ),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], sentence: str) -> None:
    assert refusal(**changes) == sentence


def test_what_is_no_space_is_refused() -> None:
    assert refusal(space=3).startswith("space")


def test_a_sampler_gets_the_space_that_it_can_do() -> None:
    search(sampler="gp").check_together(())
    search(space=SIZES, sampler="grid").check_together(())
    for sampler in ("tpe", "random", "qmc"):
        search(space=CONDITIONAL, sampler=sampler).check_together(())


def test_without_confirmation_one_trial_is_enough() -> None:
    search(trials=1, confirm=None).check_together(())


def test_seeds_of_a_confirmation_are_each_listed_once() -> None:
    with pytest.raises(ValueError, match="A seed is listed twice: 7, 7"):
        Confirm(seeds=(7, 7))
    with pytest.raises(ValueError, match="a list of at least 1"):
        Confirm(seeds=())


def test_a_changed_search_is_held_against_the_same_rules() -> None:
    assert search().changed(trials=5, sampler=None).trials == 5
    with pytest.raises(ValueError, match="The best 3 of 2 trials"):
        search().changed(trials=2).check_together(())


def test_a_scheduler_of_the_same_kind_keeps_its_settings() -> None:
    halving = search(scheduler=Asha(grace=0.5))
    assert halving.changed(scheduler="asha") == halving
    assert halving.changed(scheduler="median").scheduler == Median()
    assert halving.changed(scheduler=Asha()).scheduler == Asha()


@pytest.mark.parametrize("path", ["loss.positive_margin", "model.reconstruction.weight"])
def test_a_loss_that_the_space_changes_is_no_objective(path: str) -> None:
    space = Space.of(TrainingConfig).varied({"model": ("capsnet",)}).only(path)
    with pytest.raises(ValueError, match="as that changes what the loss measures"):
        Search(space=space, trials=8, objective="validation_loss")


@pytest.mark.parametrize(("num_sizes", "is_refused"), [(100_000, False), (100_001, True)])
def test_a_grid_has_at_most_100_000_points(num_sizes: int, is_refused: bool) -> None:
    sizes = Ints(1, num_sizes)
    space = Space.of(TrainingConfig).varied({"batch_size": sizes}).only("batch_size")
    refused = pytest.raises(ValueError, match="more than the 100000 that can be listed")
    with refused if is_refused else nullcontext():
        Search(space=space, trials=8, sampler="grid").check_together(())


def test_a_search_that_learns_or_stops_may_be_held_against_random() -> None:
    against = Confirm(against_random=True)
    search(confirm=against, trials=11).check_together(())
    search(confirm=against, startup=4).check_together(())
    search(confirm=against, sampler="random", scheduler="asha").check_together(())
    with pytest.raises(ValueError, match="draws all its points at random"):
        search(confirm=against, sampler="random", trials=40).check_together(())


def test_a_random_start_of_its_own_decides_and_the_usual_one_leaves_all_as_it_was() -> None:
    def made(**changes: Any) -> dict[str, Any]:
        sweep = Sweep(name="a", base=TrainingConfig(), plan=search(trials=30, **changes))
        return sweep.plan.manifest_fields(sweep)["search"]

    assert made(startup=10) == made()
    assert made(startup=20)["num_startup"] == 20
    assert made(startup=20)["definition"] != made()["definition"]
    assert made(confirm=Confirm(against_random=True))["definition"] == made()["definition"]


def test_losses_do_not_compare_where_what_they_weigh_varies() -> None:
    assert losses_compare(["optimiser.learning_rate", "model.routing"])
    for path in ("loss", "loss.scale", "model", "model.reconstruction.weight"):
        assert not losses_compare(["batch_size", path])
