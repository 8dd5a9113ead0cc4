"""A sweep over splits: each cell is trained on the split of its seed, whatever happened before."""

import pytest

from capsmodel import TrainingConfig
from search_spaces import ListedArms, Sweep
from search_spaces.trial_key import trial_key
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.plan.preregistration import with_planned_seeds
from sweeps.execution.survey.surveyed_cells import CellState, check_dropped_cells, surveyed
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.capsmodel.small_config import small_config


def defined(*, splits: tuple[int, ...] = (3, 5), num_seeds: int = 4) -> SweepDefinition:
    arms = {"base": {}, "uniform": {"model.routing": "uniform"}}
    sweep = Sweep(
        name="over",
        base=small_config(),
        plan=ListedArms(baseline="base", arms=arms),
        seeds=tuple(range(num_seeds)),
        split_seeds=splits,
    )
    return define(sweep, Changes(), ())


def test_a_trial_is_told_the_split_of_its_seed_and_its_key_is_of_that_config() -> None:
    definition = defined()
    heads = [definition.spec(cell) for cell in definition.manifest.cells]
    configs = [TrainingConfig.model_validate(spec.config) for spec in heads]
    assert [config.data.split_seed for config in configs] == [3, 3, 5, 5] * 2
    assert [spec.trial_key for spec in heads] == [
        trial_key(config, spec.seed) for config, spec in zip(configs, heads, strict=True)
    ]
    assert len({spec.trial_key for spec in heads}) == 8


def test_split_0_has_the_keys_of_the_same_seeds_without_splits() -> None:
    split, plain = defined(splits=(0, 1)), defined(splits=())
    assert [cell.trial_key for cell in split.manifest.cells if cell.seed % 2 == 0] == [
        cell.trial_key for cell in plain.manifest.cells if cell.seed % 2 == 0
    ]
    assert "splits" not in plain.manifest.model_dump()


def test_a_launch_that_was_broken_off_goes_on_with_the_cells_that_are_left() -> None:
    begun = defined().manifest
    reloaded = Manifest.model_validate_json(begun.model_dump_json())
    assert reloaded == begun
    done = {
        cell.trial_key: TrialRecord(
            record_id="r", trial_key=cell.trial_key, seed=cell.seed, outcome=Outcome.FINISHED
        )
        for cell in begun.cells[:3]
    }
    resumed = with_planned_seeds(defined(), reloaded)
    check_dropped_cells(reloaded, resumed.manifest)
    states = [cell.state for cell in surveyed(resumed.manifest.cells, {}, done)]
    assert states == [CellState.RECORDED] * 3 + [CellState.NEW] * 5
    assert [resumed.spec(cell) for cell in resumed.manifest.cells] == [
        defined().spec(cell) for cell in begun.cells
    ]


def test_no_seeds_are_added_to_those_that_were_looked_at() -> None:
    with pytest.raises(BadInput, match="'over' runs over splits, and no seeds are added to these"):
        with_planned_seeds(defined(num_seeds=6), defined().manifest)


def test_other_splits_are_another_sweep() -> None:
    with pytest.raises(BadInput, match="its seeds would be trained on other splits"):
        check_dropped_cells(defined().manifest, defined(splits=(3, 4)).manifest)


def test_a_manifest_has_a_split_for_each_seed() -> None:
    content = defined().manifest.model_dump(mode="json")
    content["splits"].pop("2")
    with pytest.raises(ValueError, match="a cell's seed has no split"):
        Manifest.model_validate(content)
