"""A search in the manifest before anything was proposed."""

import re
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import model_validator

from capsmodel.losses import MarginLoss
from capsmodel.search_range import Choices, Floats
from search_spaces import Limit, Median, Space, Sweep
from search_spaces.tables import ConfirmationTable, SensitivityTable
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.records.errors import BadInput
from sweeps.records.manifest import ManifestCell
from sweeps.records.manifest_plan import ManifestSearch
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import (
    BATCH,
    CONDITIONAL,
    FEW_POINTS,
    RATE,
    SCHEDULER,
    SPACE,
    confirm,
    proposed,
    search,
    searched,
    sweep,
)


def declared(**changes: Any) -> ManifestSearch:
    declaration = searched(**changes).manifest.search
    assert declaration
    return declaration


def test_a_search_begins_with_its_base_alone() -> None:
    manifest = searched(seeds=(0, 1), confirm=confirm()).manifest
    assert ([arm.name for arm in manifest.arms], manifest.baseline) == (["base"], "base")
    assert [(cell.arm, cell.seed) for cell in manifest.cells] == [("base", 0), ("base", 1)]
    assert manifest.seeds == (0, 1)
    assert manifest.tables == (ConfirmationTable(), SensitivityTable())
    assert searched().manifest.tables == (SensitivityTable(),)


def test_it_holds_what_varies_and_how() -> None:
    declaration = declared(sampler="qmc", confirm=confirm(2, (7, 8)))
    assert (declaration.sampler, declaration.objective, declaration.num_trials) == (
        "qmc",
        "validation_error",
        6,
    )
    assert declaration.scheduler == SCHEDULER.model_dump(mode="json")
    assert declaration.confirmation
    assert (declaration.confirmation.best, declaration.confirmation.seeds) == (2, (7, 8))
    rate, batch = declaration.dimensions
    assert (rate.name, rate.kind, rate.low, rate.high, rate.log) == (
        RATE,
        "floats",
        1e-4,
        1e-2,
        True,
    )
    assert (batch.name, batch.kind, batch.choices) == (BATCH, "choices", (32, 64, 128, 256))


def test_it_holds_where_a_setting_is_there() -> None:
    dimensions = {dimension.name: dimension for dimension in declared(space=CONDITIONAL).dimensions}
    assert dimensions["loss[spread].margin"].conditions == {"loss": "spread"}
    assert dimensions["loss[spread].margin"].path == "loss.margin"


@pytest.mark.parametrize(
    "changes",
    [
        {"sampler": "random"},
        {"sampler_seed": 1},
        {"objective": "validation_loss"},
        {"scheduler": Median()},
        {"seeds": (0, 1)},
        {"space": FEW_POINTS, "trials": 4},
    ],
)
def test_what_decides_proposals_makes_another_definition(changes: dict[str, Any]) -> None:
    assert declared(**changes).definition != declared().definition


def test_another_base_makes_another_definition() -> None:
    other = define(sweep(base=small_config(batch_size=100)), Changes(), ())
    assert other.manifest.search
    assert other.manifest.search.definition != declared().definition


@pytest.mark.parametrize("changes", [{"trials": 9}, {"confirm": confirm(2)}])
def test_a_longer_search_or_another_confirmation_is_the_same_definition(
    changes: dict[str, Any],
) -> None:
    assert declared(**changes).definition == declared().definition


class Hollow(MarginLoss):
    """A loss whose two settings may each be anything, but not both be near a half."""

    kind: Literal["hollow"] = "hollow"  # pyright: ignore[reportIncompatibleVariableOverride]
    first: Annotated[float, Floats(0, 1)] = 0.0
    second: Annotated[float, Floats(0, 1)] = 0.0

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        if abs(self.first - 0.5) < 0.4 and abs(self.second - 0.5) < 0.4:
            raise ValueError("not both")
        return self


def test_settings_that_exclude_each_other_are_refused_before_anything_runs() -> None:
    base = small_config(loss=Hollow())
    space = Space.of(Hollow, at="loss").only("loss.first", "loss.second")
    hollow = sweep(base=base, parts=(Hollow,), plan=search(space=space))
    with pytest.raises(ValueError, match="not both") as caught:
        hollow.plan.check_all(hollow)
    assert str(caught.value).startswith("The space holds points that are no settings (loss.first")
    assert str(caught.value).endswith("Narrow the space.")
    sweep().plan.check_all(sweep())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sampler": "random"}, "its sampler would change"),
        ({"space": FEW_POINTS, "trials": 4}, "its space would change"),
        ({"limits": Limit("num_parameters", at_most=10**9)}, "its limits would change"),
        ({"limits": Limit("seconds_per_epoch", at_most=1)}, "its limits would change"),
        ({"seeds": (1,)}, "its seeds would change"),
        ({"trials": 1}, "it proposed 2, and 1 are asked"),
    ],
)
def test_another_search_over_one_that_is_there_is_refused_by_what_differs(
    changes: dict[str, Any], message: str
) -> None:
    existing = proposed(searched(), 2).manifest
    with pytest.raises(BadInput, match=message):
        check_dropped_cells(existing, searched(**changes).manifest)


def few_points(*order: str, rates: tuple[float, ...] = (1e-3, 1e-2)) -> Sweep:
    """Return a search whose space is declared in an order."""
    values = {RATE: Choices(*rates), BATCH: Choices(100, 200)}
    parts = [SPACE.varied(values).only(path) for path in order]
    return sweep(plan=search(space=sum(parts[1:], parts[0]), trials=4))


def test_a_search_stays_the_same_where_its_choices_stand_in_another_order() -> None:
    first = define(few_points(RATE, BATCH), Changes(), ())
    for again in (few_points(BATCH, RATE), few_points(RATE, BATCH, rates=(1e-2, 1e-3))):
        assert define(again, Changes(), ()).decided_by != first.decided_by
        assert define(again, Changes(), (), first.manifest.search).manifest == first.manifest
    other = few_points(RATE, BATCH, rates=(1e-2, 2e-3))
    assert define(other, Changes(), (), first.manifest.search).decided_by != first.decided_by


def test_what_a_changed_search_would_drop_is_all_that_is_not_in_it() -> None:
    existing = proposed(searched(seeds=(0,), confirm=confirm()), 2).manifest
    places = [("base", 101, "a" * 20), (existing.arms[1].name, 101, "b" * 20)]
    cells = [ManifestCell(arm=arm, seed=seed, trial_key=key) for arm, seed, key in places]
    current = existing.model_copy(update={"cells": (*existing.cells, *cells)})
    new = searched(space=FEW_POINTS, trials=4, confirm=confirm()).manifest
    assert new.cells == existing.cells[:1], "plan finds the base alone"
    sentence = (
        "this launch leaves out 4 of its 5 cells: its space would change. No record is deleted, "
        "but those cells would no longer be in the sweep's table. --name NEW keeps both tables, "
        "and NEW may --warm-start example; --replace goes on"
    )
    with pytest.raises(BadInput, match=re.escape(sentence)):
        check_dropped_cells(current, new)


def test_a_search_by_other_rules_is_refused() -> None:
    current = proposed(searched(), 2).manifest
    assert current.search
    other = current.search.model_copy(update={"rules": 1, "definition": "other"})
    with pytest.raises(BadInput, match="its rules would change"):
        check_dropped_cells(current.model_copy(update={"search": other}), searched().manifest)
