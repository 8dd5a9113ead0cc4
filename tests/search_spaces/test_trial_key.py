"""The trial key holds all that decides a trial's result, and nothing else.

The golden file pins the key of every arm and seed of every named design, and of two proposals of
every named search: a changed key would train what is there already anew, or take a record for what
it is not. Where a change is meant, raise the `protocol_version` of the part, and write the file
again from the repository's root:

    python -c "from tests.search_spaces.test_trial_key import write_golden; write_golden()"
"""

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from capsmodel import OneOf, Part, TrainingConfig
from capsmodel.data import Digits
from capsmodel.losses import LOSSES, CrossEntropy, Loss, MarginLoss
from capsmodel.models import (
    CapsNet,
    ConvNet,
    EfficientCapsNet,
    HomogeneousCapsNet,
    InvertedAttentionNet,
    MatrixCapsNet,
    Model,
    SelfRoutingNet,
)
from capsmodel.optimisers import Adam
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import ROUTINGS, DynamicRouting, RandomRouting, Routing, UniformRouting
from capsmodel.settings.parts import Settings
from capsmodel.stopping import FixedEpochs
from search_spaces.catalogue import named_sweep, named_sweeps
from search_spaces.plans.listed import Arm
from search_spaces.plans.search import Search
from search_spaces.sweep import Sweep
from search_spaces.trial_key import differences, identity, trial_key

GOLDEN = Path(__file__).parents[1] / "golden" / "trial_keys.json"


def named_keys() -> dict[str, dict[str, dict[str, str]]]:
    """Return sweep -> arm -> seed -> key of all named sweeps."""
    keys: dict[str, dict[str, dict[str, str]]] = {}
    for entry in named_sweeps():
        named = named_sweep(entry.name)
        for sweep in (*named.columns().values(),) or (named,):
            keys[sweep.name] = {
                arm.name: {str(seed): trial_key(arm.config, seed) for seed in seeds_of(sweep)}
                for arm in arms_of(sweep)
            }
    return keys


def seeds_of(sweep: Sweep) -> tuple[int, ...]:
    """Return the seeds of every arm."""
    return sweep.arm_seeds


def arms_of(sweep: Sweep) -> tuple[Arm, ...]:
    """Return the arms of a design, and two corners of a search's space, which are exact numbers."""
    if not isinstance(sweep.plan, Search):
        return sweep.arms()
    space = sweep.plan.space
    drawn = {f"at {unit}": space.at([unit] * len(space.dimensions)) for unit in (0, 1)}
    return tuple(sweep.proposed(name, params) for name, params in drawn.items())


def write_golden() -> None:
    """Write the golden file."""
    GOLDEN.write_text(json.dumps(named_keys(), indent=1) + "\n", encoding="utf-8")


def test_every_trial_of_every_named_sweep_has_the_key_it_always_had() -> None:
    assert named_keys() == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_all_trials_of_a_named_sweep_have_distinct_keys() -> None:
    for arms in named_keys().values():
        keys = [key for seeds in arms.values() for key in seeds.values()]
        assert len(set(keys)) == len(keys)


# A later version of the settings: a new value and a new part in each class of the tree.


class NewPart(Part):
    """A family of the future."""

    family: ClassVar[str] = "future"
    kind: Literal["new"] = "new"
    depth: int = 1


class LaterDynamic(DynamicRouting):
    temperature: Annotated[float, Field(gt=0)] = 1.0
    stop: Annotated[Part, OneOf((NewPart,))] = NewPart()


class LaterUniform(UniformRouting):
    temperature: float = 1.0


LATER_ROUTINGS = (
    LaterDynamic,
    LaterUniform,
    *(part for part in ROUTINGS if part not in (DynamicRouting, UniformRouting)),
)


class LaterCapsNet(CapsNet):
    bias: bool = False
    attention: Annotated[Part, OneOf((NewPart,))] = NewPart()
    routing: Annotated[Routing, OneOf(LATER_ROUTINGS)] = LaterDynamic()


class LaterConvNet(ConvNet):
    bias: bool = False


class LaterMatrixCapsNet(MatrixCapsNet):
    bias: bool = False


class LaterEfficientCapsNet(EfficientCapsNet):
    bias: bool = False


class LaterSelfRoutingNet(SelfRoutingNet):
    bias: bool = False


class LaterInvertedAttentionNet(InvertedAttentionNet):
    bias: bool = False


class LaterHomogeneousCapsNet(HomogeneousCapsNet):
    bias: bool = False


LATER_MODELS = (
    LaterCapsNet,
    LaterMatrixCapsNet,
    LaterEfficientCapsNet,
    LaterSelfRoutingNet,
    LaterInvertedAttentionNet,
    LaterHomogeneousCapsNet,
    LaterConvNet,
)


class LaterConfig(TrainingConfig):
    precision: Literal["float32", "bfloat16"] = "float32"
    schedule: Annotated[Part, OneOf((NewPart,))] = Field(default_factory=NewPart)
    model: Annotated[Model, OneOf(LATER_MODELS)] = LaterCapsNet()


def later(config: TrainingConfig) -> LaterConfig:
    return LaterConfig.model_validate(config.model_dump(mode="json"))


@pytest.mark.parametrize("entry", named_sweeps(), ids=lambda entry: entry.name)
def test_a_new_setting_or_part_leaves_every_old_key_as_it_was(entry: Any) -> None:
    sweep = named_sweep(entry.name)
    for arm in arms_of(sweep):
        assert later(arm.config).model.model_dump()["bias"] is False
        assert trial_key(later(arm.config), 0) == trial_key(arm.config, 0)


def test_a_new_setting_that_is_used_changes_the_key() -> None:
    old = later(TrainingConfig())
    changed = [
        with_settings(old, {path: value})
        for path, value in {
            "precision": "bfloat16",
            "schedule.depth": 2,
            "model.bias": True,
            "model.attention.depth": 2,
            "model.routing.temperature": 2.0,
            "model.routing.stop.depth": 3,
        }.items()
    ]
    keys = {trial_key(config, 0) for config in (old, *changed)}
    assert len(keys) == 1 + len(changed)


# What changes a key.

BASE = TrainingConfig()
CHANGES: dict[str, Any] = {
    "batch_size": 64,
    "stopping.epochs": 51,
    "optimiser.learning_rate": 0.5,
    "model.conv_channels": 3,
    "model.routing": "uniform",
    "model.routing.iterations": 1,
    "model.reconstruction": "none",
    "model.reconstruction.hidden": [512],
    "model.reconstruction.weight": 0.1,
    "loss": "cross_entropy",
    "augmentation": "shift",
    "data.split_seed": 7,
}


@pytest.mark.parametrize("path", CHANGES)
def test_each_setting_decides_the_key(path: str) -> None:
    assert trial_key(with_settings(BASE, {path: CHANGES[path]}), 0) != trial_key(BASE, 0)


@given(seeds=st.lists(st.integers(0, 2**63 - 1), min_size=2, max_size=2, unique=True))
def test_different_seeds_have_different_keys(seeds: list[int]) -> None:
    assert trial_key(BASE, seeds[0]) != trial_key(BASE, seeds[1])


def test_the_datas_fingerprint_decides_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = trial_key(BASE, 0)
    assert identity(BASE, 0)["data"] == BASE.data.fingerprint
    monkeypatch.setattr(Digits, "fingerprint", property(lambda _: "other"))
    assert trial_key(BASE, 0) != before


@pytest.mark.parametrize("version", [2, "5f3a"])
@pytest.mark.parametrize(
    "part", [TrainingConfig, CapsNet, DynamicRouting, MarginLoss, FullyConnectedDecoder, Digits]
)
def test_the_protocol_version_of_a_part_in_use_decides_the_key(
    part: Any, version: int | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = trial_key(BASE, 0)
    monkeypatch.setattr(part, "protocol_version", version)
    assert trial_key(BASE, 0) != before


def test_the_protocol_version_of_a_part_not_in_use_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = trial_key(BASE, 0)
    for part in (RandomRouting, CrossEntropy, NoReconstruction):
        monkeypatch.setattr(part, "protocol_version", 2)
    assert trial_key(BASE, 0) == before


def test_one_part_in_two_places_has_a_version_at_each() -> None:
    class Pair(TrainingConfig):
        loss: Annotated[Loss, OneOf(LOSSES)] = CrossEntropy()
        other_loss: Annotated[Loss, OneOf(LOSSES)] = CrossEntropy()

    assert differences(Pair(other_loss=MarginLoss())) == {"other_loss": {"kind": "margin"}}
    assert differences(Pair(loss=MarginLoss())) == {"loss": {"kind": "margin"}}


# What does not.


def test_nothing_but_settings_seed_data_and_versions_enters() -> None:
    assert identity(BASE, 3) == {"settings": {}, "seed": 3, "data": BASE.data.fingerprint}
    defaults = {"model.routing": "dynamic", "model.reconstruction": "fully_connected"}
    text = json.dumps(identity(with_settings(BASE, CHANGES | defaults), 0))
    assert all(word not in text for word in ("device", "threads", "cpu", "cuda"))


def test_defaults_written_out_are_left_out() -> None:
    written_out = TrainingConfig.model_validate(BASE.model_dump(mode="json"))
    assert differences(written_out) == {}


def test_a_part_that_is_not_the_default_is_written_with_its_kind_and_its_differences() -> None:
    config = TrainingConfig(
        model=CapsNet(routing=RandomRouting(low=0.5)), stopping=FixedEpochs(epochs=2)
    )
    assert differences(config) == {
        "model": {"kind": "capsnet", "routing": {"kind": "random", "low": 0.5}},
        "stopping": {"kind": "fixed_epochs", "epochs": 2},
    }


def test_whole_numbers_and_fractions_of_one_value_give_one_key() -> None:
    as_whole = with_settings(BASE, {"optimiser.learning_rate": 1, "batch_size": 64.0})
    as_fraction = with_settings(BASE, {"optimiser.learning_rate": 1.0, "batch_size": 64})
    as_text = with_settings(BASE, {"optimiser.learning_rate": "1e0", "batch_size": "64"})
    keys = {trial_key(config, 0) for config in (as_whole, as_fraction, as_text)}
    assert len(keys) == 1


@given(st.floats(1e-300, 1e300))
def test_a_number_keeps_its_key_through_json(rate: float) -> None:
    config = TrainingConfig(optimiser=Adam(learning_rate=rate))
    read = TrainingConfig.model_validate_json(config.model_dump_json())
    assert trial_key(read, 0) == trial_key(config, 0)


def test_a_part_by_kind_by_object_and_by_json_gives_one_key() -> None:
    values = ["random", RandomRouting(), {"kind": "random"}, {"kind": "random", "low": 0.8}]
    keys = {trial_key(with_settings(BASE, {"model.routing": value}), 0) for value in values}
    assert len(keys) == 1


def test_the_order_of_json_does_not_matter() -> None:
    plain = with_settings(BASE, {"model.routing": "uniform", "batch_size": 3}).model_dump(
        mode="json"
    )
    turned = dict(reversed([(k, _turned(v)) for k, v in plain.items()]))
    assert trial_key(TrainingConfig.model_validate(turned), 0) == trial_key(
        TrainingConfig.model_validate(plain), 0
    )


def _turned(value: Any) -> Any:
    return dict(reversed(value.items())) if isinstance(value, dict) else value


def test_zero_of_either_sign_gives_one_key() -> None:
    class Signed(TrainingConfig):
        offset: float = 1.0

    assert trial_key(Signed(offset=0.0), 0) == trial_key(Signed(offset=-0.0), 0)


def test_a_setting_without_a_default_always_enters() -> None:
    class Required(Settings):
        size: int

    assert differences(Required(size=1)) == {"size": 1}


def test_built_in_routings_have_distinct_keys() -> None:
    configs = [TrainingConfig(model=CapsNet(routing=routing())) for routing in ROUTINGS]
    assert len({trial_key(config, 0) for config in configs}) == len(ROUTINGS)
