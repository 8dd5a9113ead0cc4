"""Grids and paths by the constructors of a sweep, and the changes that a path is made of."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces import (
    FractionalFactorial,
    FullFactorial,
    OneFactor,
    Path,
    PlackettBurman,
    Search,
    Sweep,
)
from search_spaces.catalogue import named_sweep, named_sweeps
from search_spaces.plans.path_changes import changes_between, named_changes, settings_between

SEARCH = named_sweep("capsule_search")
BASE = SEARCH.base
ROUTING, RATE = "model.routing", "optimiser.learning_rate"
AXES: dict[str, tuple[Any, ...]] = {
    f"{ROUTING}.iterations": (1, 3),
    "batch_size": (32, 64),
    "loss": ("margin", "cross_entropy"),
}


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ({}, FullFactorial(factors=AXES)),
        ({"skip_unbuildable": True}, FullFactorial(factors=AXES, skip_unbuildable=True)),
        ({"design": OneFactor}, OneFactor(factors=AXES)),
        (
            {"design": FractionalFactorial, "resolution": 3},
            FractionalFactorial(factors=AXES, resolution=3),
        ),
        ({"design": PlackettBurman}, PlackettBurman(factors=AXES)),
    ],
    ids=["full", "skipping", "one factor", "fractional", "screen"],
)
def test_a_grid_is_a_sweep_with_a_design_of_its_axes(options: Any, plan: Any) -> None:
    rest: Any = {"name": "grid", "base": BASE, "seeds": range(3)}
    assert Sweep.grid(axes=AXES, **options, **rest) == Sweep(plan=plan, **rest)


def test_a_path_to_settings_has_a_change_for_each() -> None:
    target = {"loss": "spread", "loss.margin": 0.5, RATE: 0.0012345}
    changes = {
        "loss=spread": {"loss": "spread", "loss.margin": 0.5},
        "learning_rate=0.00123": {RATE: 0.0012345},
    }
    rest: Any = {"name": "path", "base": BASE, "seeds": range(3)}
    path = Sweep.path_to(target=target, choosing_seeds=range(7, 9), **rest)
    assert path == Sweep(plan=Path(changes=changes, choosing_seeds=(7, 8)), **rest)


def test_a_path_of_what_hangs_together_or_of_one_change_is_refused() -> None:
    together = {
        "model.reconstruction": "none",
        "augmentation": {"kind": "patches", "standardise": True},
    }
    with pytest.raises(ValueError, match="cannot be changed alone"):
        Sweep.path_to(target=together, name="path", base=BASE, seeds=(0,))


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        (
            {RATE: 0.01},
            "at least 2 settings of the base, got learning_rate=0.01",
        ),
        ({}, "at least 2 settings of the base, got none"),
        (3, "target must be a dict, path -> value, got 3"),
    ],
)
def test_a_target_that_makes_no_path_is_refused_by_its_name(target: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Sweep.path_to(target=target, name="path", base=BASE, seeds=(0,))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"design": "full"}, "design must be a class such as FullFactorial, got 'full'"),
        (
            {"design": FractionalFactorial, "resolutoin": 5},
            r"argument 'resolutoin' of Sweep\.grid\. Did you mean 'resolution'",
        ),
        ({"plan": FullFactorial(factors=AXES)}, r"argument 'plan' of Sweep\.grid"),
    ],
)
def test_arguments_that_make_no_grid_are_refused_by_their_names(
    options: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        Sweep.grid(axes=AXES, name="grid", base=BASE, seeds=(0,), **options)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_changes_of_any_proposal_give_it_alone_and_are_made_from_its_base(data: Any) -> None:
    assert isinstance(SEARCH.plan, Search)
    space = SEARCH.plan.space
    cube = st.lists(st.floats(0, 1), min_size=(n := len(space.dimensions)), max_size=n)
    one, other = (space.config(BASE, space.at(data.draw(cube))) for _ in range(2))
    assert with_settings(one, settings_between(one, other)) == other
    changes = list(changes_between(one, other))
    paths = [path for change in changes for path in change]
    assert len(paths) == len(set(paths))
    for change in changes:
        assert with_settings(one, change) != one, "each can be made alone"


@pytest.mark.parametrize("name", [entry.name for entry in named_sweeps()])
def test_the_base_of_every_named_sweep_is_changes_of_the_default(name: str) -> None:
    base, default = named_sweep(name).base, TrainingConfig()
    assert with_settings(default, settings_between(default, base)) == base


@pytest.mark.parametrize(
    ("changed", "changes"),
    [
        (
            {"loss.schedule": "sigmoid", "loss.schedule.steepness": 5.0, "loss.down_weight": 1.0},
            {
                "down_weight=1": {"loss.down_weight": 1.0},
                "schedule=sigmoid": {"loss.schedule": "sigmoid", "loss.schedule.steepness": 5.0},
            },
        ),
        (
            {"loss": "spread", "loss.schedule": "constant", "model.batch_norm": True},
            {
                "batch_norm=true": {"model.batch_norm": True},
                "loss=spread": {"loss": "spread", "loss.schedule": "constant"},
            },
        ),
        (
            {"optimiser.schedule": {"kind": "cosine"}},
            {"schedule=cosine": {"optimiser.schedule": "cosine"}},
        ),
        ({ROUTING: "uniform"}, {"routing=uniform": {ROUTING: "uniform"}}),
        ({}, {}),
    ],
)
def test_another_kind_is_one_change_with_its_settings_and_a_setting_is_one_alone(
    changed: Any, changes: Any
) -> None:
    assert named_changes(BASE, with_settings(BASE, changed)) == changes
