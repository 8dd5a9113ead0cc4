"""A search's definition grows, and its manifest is whole at each step."""

import pytest

from search_spaces import ListedArms, Sweep
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Stopped
from sweeps.records.manifest_plan import ManifestSearch
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import (
    BATCH,
    RATE,
    confirm,
    expect_valid,
    params,
    proposed,
    searched,
)
from tests.sweeps.execution.search.grown import (
    is_growing,
    num_expected,
    search_cells,
    with_confirmation,
    with_proposal,
    with_stopped,
    without_confirmation,
)

STOPPED = Stopped(epoch=2, value=0.5)


def of(definition: SweepDefinition) -> ManifestSearch:
    assert definition.manifest.search
    return definition.manifest.search


def confirming(count: int = 3) -> SweepDefinition:
    return proposed(searched(trials=3, confirm=confirm(2, (101, 102))), count)


def test_the_manifest_is_valid_at_each_step() -> None:
    definition = searched(trials=3, seeds=(0, 1), confirm=confirm(1))
    expect_valid(definition.manifest)
    for number in range(3):
        definition = with_proposal(definition, params(number))
        expect_valid(definition.manifest)
    definition = with_stopped(definition, definition.manifest.cells[0].trial_key, STOPPED)
    expect_valid(definition.manifest)
    definition = with_confirmation(definition, ["proposal 1"], "proposal 2")
    expect_valid(definition.manifest)
    expect_valid(without_confirmation(definition).manifest)


def test_a_proposal_is_the_next_arm_with_a_cell_for_each_seed() -> None:
    definition = proposed(searched(seeds=(0, 1)), 2)
    manifest = definition.manifest
    assert [arm.name for arm in manifest.arms] == ["base", "proposal 0", "proposal 1"]
    assert [(cell.arm, cell.seed) for cell in manifest.cells] == [
        ("base", 0),
        ("base", 1),
        ("proposal 0", 0),
        ("proposal 0", 1),
        ("proposal 1", 0),
        ("proposal 1", 1),
    ]
    assert [(proposal.number, proposal.params) for proposal in of(definition).proposals] == [
        (0, params(0)),
        (1, params(1)),
    ]
    assert manifest.arms[2].config["optimiser"]["learning_rate"] == params(1)[RATE]
    assert manifest.arms[2].changes == params(1)
    assert definition.epochs == {"base": 3, "proposal 0": 3, "proposal 1": 3}


def test_a_trial_of_a_proposal_is_told_what_its_cell_needs() -> None:
    definition = proposed(searched(), 1)
    spec = definition.spec(definition.manifest.cells[1])
    assert (spec.arm, spec.config["batch_size"]) == ("proposal 0", 64)
    assert spec.data_fingerprint
    assert spec.num_parameters > 0


def test_a_grown_definition_leaves_the_one_it_grew_from() -> None:
    definition = searched()
    proposed(definition, 2)
    assert [cell.arm for cell in definition.manifest.cells] == ["base"]
    assert definition.epochs == {"base": 3}


def test_a_proposal_whose_trial_was_stopped_says_so() -> None:
    key = proposed(searched(), 1).manifest.cells[1].trial_key
    grown = with_proposal(searched(), params(0), {key: STOPPED})
    assert grown.manifest.cells[1].stopped == STOPPED


def test_a_stop_is_noted_in_every_cell_that_the_trial_fills() -> None:
    definition = with_proposal(proposed(searched(), 2), params(0))
    key = definition.manifest.cells[1].trial_key
    cells = with_stopped(definition, key, STOPPED).manifest.cells
    assert [cell.stopped for cell in cells] == [None, STOPPED, None, STOPPED]


def test_a_point_that_is_none_of_the_space_is_one_sentence() -> None:
    with pytest.raises(BadInput, match="The space holds points that are no settings"):
        with_proposal(searched(), {RATE: -1.0, BATCH: 64})


def test_the_best_and_the_reference_are_run_again_on_fresh_seeds() -> None:
    definition = with_confirmation(confirming(), ["proposal 2", "proposal 0"], "proposal 1")
    confirmed = [cell for cell in definition.manifest.cells if cell.seed > 100]
    assert [(cell.arm, cell.seed) for cell in confirmed] == [
        (f"proposal {number}", seed) for number in (2, 0, 1) for seed in (101, 102)
    ]
    chosen = of(definition).confirmation
    assert chosen
    assert (chosen.arms, chosen.reference) == (("proposal 2", "proposal 0"), "proposal 1")
    keys = [cell.trial_key for cell in definition.manifest.cells]
    assert len(set(keys)) == len(keys)
    expect_valid(definition.manifest)


def test_a_reference_among_the_best_is_run_once() -> None:
    definition = with_confirmation(confirming(), ["proposal 2", "proposal 0"], "proposal 0")
    assert len(definition.manifest.cells) == 1 + 3 + 2 * 2
    expect_valid(definition.manifest)


def test_without_a_reference_only_the_best_are_run() -> None:
    definition = with_confirmation(confirming(), ["proposal 2"], None)
    assert len(definition.manifest.cells) == 1 + 3 + 2
    expect_valid(definition.manifest)


def test_the_cells_of_the_search_are_told_from_those_of_the_confirmation() -> None:
    definition = confirming()
    grown = with_confirmation(definition, ["proposal 2"], None)
    assert search_cells(grown) == definition.manifest.cells
    assert without_confirmation(grown).manifest == definition.manifest
    assert without_confirmation(definition).manifest == definition.manifest


def test_a_search_grows_until_all_are_proposed_and_the_best_are_chosen() -> None:
    assert is_growing(confirming(2))
    assert is_growing(confirming(3))
    assert not is_growing(with_confirmation(confirming(), ["proposal 2"], None))
    assert not is_growing(with_confirmation(confirming(), [], None)), "none was worth it"
    assert is_growing(proposed(searched(trials=3), 2))
    assert not is_growing(proposed(searched(trials=3), 3))


def test_the_cells_to_come_are_counted() -> None:
    assert num_expected(searched(trials=3, seeds=(0, 1))) == 6 + 2, "and the base"
    assert num_expected(confirming(1)) == 1 + 3 + (2 + 1) * 2, "the best two and the reference"
    chosen = with_confirmation(confirming(), ["proposal 2"], None)
    assert num_expected(chosen) == len(chosen.manifest.cells)


def test_a_design_never_grows() -> None:
    plan = ListedArms(baseline="base", arms={"base": {}})
    design = define(
        Sweep(name="example", base=small_config(), plan=plan, seeds=(0, 1)), Changes(), ()
    )
    assert not is_growing(design)
    assert num_expected(design) == 2
