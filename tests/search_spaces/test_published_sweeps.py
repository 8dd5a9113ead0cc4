"""Sweeps beside published figures: the paper's figures, factors and sizes of networks."""

from typing import Any

import pytest

from capsmodel.config import num_parameters
from capsmodel.data import Digits
from capsmodel.overrides import with_settings
from search_spaces import GridTable, ListedArms, PublishedTable, Sweep
from search_spaces.catalogue import named_sweep
from search_spaces.trial_key import trial_key

WINNER = "3 iterations"
FACTORS = {
    "Routing iterations": "model.routing.iterations",
    "Pose structure": "model.pose_kind",
    "Loss": "loss",
    "Coordinate addition": "model.coordinates",
}
SINGLE = {
    "official_vs_paper": slice(2, 7),
    "official_vs_paper_em": slice(2, None),
}


def changes_of(sweep: Sweep) -> dict[str, dict[str, Any]]:
    assert isinstance(sweep.plan, ListedArms)
    return {name: dict(changes) for name, changes in sweep.plan.arms.items()}


def table_of(name: str) -> PublishedTable:
    table = named_sweep(name).tables[0]
    assert isinstance(table, PublishedTable)
    return table


def test_table_1_of_matrix_capsules_has_the_papers_figures_and_says_of_which_data() -> None:
    table = table_of("hinton2018_table1")
    figures = {row.labels: row.published for row in table.rows}
    assert figures == {
        ("1", "Matrix", "Spread", "Yes"): 9.7,
        ("2", "Matrix", "Spread", "Yes"): 2.2,
        ("3", "Matrix", "Spread", "Yes"): 1.8,
        ("5", "Matrix", "Spread", "Yes"): 3.9,
        ("3", "Vector", "Spread", "Yes"): 2.9,
        ("3", "Matrix", "Spread", "No"): 2.6,
        ("3", "Vector", "Spread", "No"): 3.2,
        ("3", "Matrix", "Margin", "Yes"): 3.2,
        ("3", "Matrix", "CrossEnt", "Yes"): 5.8,
        ("Baseline CNN", "-", "-", "-"): 5.2,
        ("CNN of Ciresan et al. 2011", "-", "-", "-"): 2.56,
    }
    assert table.published_data == "smallNORB"
    assert all(row.trust for row in table.rows)


def test_the_rows_of_matrix_capsules_deviate_from_the_winning_row_by_what_they_say() -> None:
    sweep = named_sweep("hinton2018_table1")
    table = table_of("hinton2018_table1")
    changes = changes_of(sweep)
    rows = {row.arm: dict(zip(table.headings, row.labels, strict=True)) for row in table.rows[:9]}
    for arm, labels in rows.items():
        assert arm is not None
        deviating = {FACTORS[name] for name in labels if labels[name] != rows[WINNER][name]}
        assert set(changes[arm]) == deviating, arm
        assert len(deviating) <= 1 or arm == "vector poses, no coordinates"
    configs = {arm.name: arm.config for arm in sweep.arms()}
    for arm, labels in rows.items():
        assert arm is not None
        config = configs[arm].model_dump()
        assert str(config["model"]["routing"]["iterations"]) == labels["Routing iterations"]
        assert config["model"]["pose_kind"] == labels["Pose structure"].lower()
        assert config["loss"]["kind"].startswith(labels["Loss"].lower()[:5])
        assert (config["model"]["coordinates"] == "paper") == (
            labels["Coordinate addition"] == "Yes"
        )


def test_the_novel_viewpoints_have_the_papers_figures_and_one_target() -> None:
    sweep = named_sweep("novel_viewpoints")
    table = sweep.tables[0]
    assert isinstance(table, GridTable)
    figures = {row.label: [cell.published for cell in row.cells] for row in table.rows}
    assert figures == {
        "Novel viewpoints": [20.0, 13.5, 17.8, 12.3],
        "Familiar viewpoints": [3.7, 3.7, 4.3, 4.3],
    }
    metrics = {row.label: {cell.metric for cell in row.cells} for row in table.rows}
    assert metrics["Novel viewpoints"] == {"test_error"}
    assert metrics["Familiar viewpoints"] == {"test_error.familiar"}
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            assert cell.arm is not None
            assert column.lower() == cell.arm.lower()
    stoppings = {arm.config.stopping for arm in sweep.arms()}
    assert len(stoppings) == 1
    assert stoppings.pop().has_target


@pytest.mark.parametrize("name", ["hinton2018_table1", "novel_viewpoints", "official_vs_paper_em"])
def test_the_photographs_take_the_place_of_the_solids_in_every_arm(name: str) -> None:
    sweep = named_sweep(name)
    views = [getattr(arm.config.data, "views") for arm in sweep.arms()]  # noqa: B009
    other = sweep.changed({"data.kind": "smallnorb"}).arms()
    assert {arm.config.data.kind for arm in other} == {"smallnorb"}
    assert [getattr(arm.config.data, "views") for arm in other] == views  # noqa: B009


def test_networks_of_matrix_capsules_have_the_papers_size() -> None:
    sizes = {a.name: num_parameters(a.config) for a in named_sweep("hinton2018_table1").arms()}
    vector = {name for name in sizes if name.startswith("vector")}
    assert sizes.pop("CNN") == 4_253_349
    assert {sizes.pop(name) for name in vector} == {4_779_274}
    assert set(sizes.values()) == {317_194}
    views = [num_parameters(arm.config) for arm in named_sweep("novel_viewpoints").arms()]
    assert views == [4_253_349, 39_154, 4_253_349, 39_154]  # a network for a laptop


def test_networks_of_the_released_code_have_its_size() -> None:
    sizes = {a.name: num_parameters(a.config) for a in named_sweep("official_vs_paper").arms()}
    assert (sizes["paper"], sizes["official"]) == (8_215_568, 8_215_568 + 160)
    with_bias = {name for name, size in sizes.items() if size == sizes["official"]}
    no_bias = {name for name in sizes if name not in with_bias}
    assert "official but: biases in the class capsules" in no_bias
    assert "biases in the class capsules" in with_bias
    em = {a.name: num_parameters(a.config) for a in named_sweep("official_vs_paper_em").arms()}
    assert (em.pop("official"), em.pop("no biases in the primary capsules")) == (316_650, 316_650)
    assert set(em.values()) == {317_194}


@pytest.mark.parametrize("name", SINGLE)
def test_single_departures_together_are_the_released_code(name: str) -> None:
    sweep = named_sweep(name)
    single = list(changes_of(sweep).items())[SINGLE[name]]
    together = {path: value for _, changes in single for path, value in changes.items()}
    official = {arm.name: arm.config for arm in sweep.arms()}["official"]
    assert with_settings(sweep.base, together) == official
    assert sum(len(changes) for _, changes in single) == len(together)


def test_all_departures_but_one_are_the_released_code_less_that_one() -> None:
    sweep = named_sweep("official_vs_paper")
    configs = {arm.name: arm.config for arm in sweep.arms()}
    for name, changes in list(changes_of(sweep).items())[SINGLE["official_vs_paper"]]:
        assert with_settings(configs[f"official but: {name}"], changes) == configs["official"]


@pytest.mark.parametrize(
    ("sweep", "table", "arm"),
    [
        ("official_vs_paper", "sabour2017_table1", "3 iterations, reconstruction"),
        ("official_vs_paper_em", "hinton2018_table1", WINNER),
    ],
)
def test_the_paper_of_the_released_code_is_the_winning_row_of_its_table(
    sweep: str, table: str, arm: str
) -> None:
    keys = [
        trial_key({arm.name: arm.config for arm in named_sweep(named).arms()}[name], 0)
        for named, name in ((sweep, "paper"), (table, arm))
    ]
    assert keys[0] == keys[1]


def test_the_inverse_frequencies_are_those_of_the_training_images() -> None:
    sweep = named_sweep("best_practices")
    assert sweep.base.data == Digits(validation_fraction=0.5)
    labels = sweep.base.data.load("cpu").train.labels
    counts = labels.bincount()
    weights = changes_of(sweep)["inverse-frequency class weights"]["loss.class_weights"]
    assert weights == pytest.approx((len(labels) / 10 / counts).tolist(), abs=1e-4)


def test_the_steps_that_the_table_tells_of_are_those_of_its_epochs() -> None:
    base = named_sweep("hinton2018_table1").base
    num_train = 24_300 - round(24_300 * base.data.validation_fraction)
    steps = base.stopping.num_epochs * -(-num_train // base.batch_size)
    assert f"{steps:,}" in table_of("hinton2018_table1").notes[0]


def test_definitions_do_not_depend_on_what_lies_on_a_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def keys() -> list[str]:
        return [trial_key(arm.config, 0) for arm in named_sweep("hinton2018_table1").arms()]

    before = keys()
    (tmp_path / "viewpoints").mkdir()
    (tmp_path / "smallnorb").mkdir()
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    assert keys() == before


@pytest.mark.parametrize(
    ("name", "capsules", "networks"),
    [
        ("quickstart", "3 iterations", ("CNN of equal size",)),
        ("adversarial", "3 iterations", ("CNN of equal size", "CNN, longer")),
        ("capsnet_vs_cnn", "capsules", ("CNN, kernel 3", "CNN, kernel 5", "CNN, kernel 9")),
        ("multimnist", "3 iterations, reconstruction", ("CNN of equal size",)),
        ("affnist", "capsules", ("CNN of equal size",)),
        ("same_class_pairs", "3 iterations", ("CNN of equal size", "CNN, longer")),
    ],
)
def test_a_cnn_of_equal_size_has_the_capsules_number_of_parameters(
    name: str, capsules: str, networks: tuple[str, ...]
) -> None:
    sizes = {arm.name: num_parameters(arm.config) for arm in named_sweep(name).arms()}
    for network in networks:
        assert sizes[network] == pytest.approx(sizes[capsules], rel=0.003), network


def test_the_cnn_of_the_papers_pairs_has_its_size() -> None:
    (cnn,) = (arm for arm in named_sweep("multimnist").arms() if arm.name == "CNN of the paper")
    assert num_parameters(cnn.config) == pytest.approx(24.56e6, rel=1e-3)
