"""Every arm of every named sweep trains, made very small, in one process."""

import math
from functools import cache
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.augmentation import NoAugmentation, Steps
from capsmodel.data import Digits, Viewpoints
from capsmodel.models import (
    CapsNet,
    ConvNet,
    EfficientCapsNet,
    InvertedAttentionNet,
    MatrixCapsNet,
    Model,
    SelfRoutingNet,
)
from capsmodel.overrides import with_settings
from capsmodel.stopping import TargetMetric
from capsmodel.training.training import Training
from search_spaces.catalogue import named_sweep, named_sweeps
from tests.search_spaces.test_trial_key import arms_of

DIVERGING = {"em_pitfalls": ["one child a parent, no floor"]}
"""Arms whose point is that they cannot be trained."""


def small(config: TrainingConfig) -> TrainingConfig:
    """Return a config with one epoch of few images, and a network of few channels and capsules.

    Images of archives, which a test has not, give way to digits.
    """
    changes: dict[str, Any] = {f"stopping.{config.stopping.length_setting}": 1, "batch_size": 64}
    if isinstance(config.stopping, TargetMetric):
        changes["stopping.window"] = None  # few images cannot have an error in a narrow one
    if isinstance(config.data, Viewpoints):
        changes["data.fraction"] = 0.001 if config.data.views == "all" else 0.003
    else:
        has_windows = isinstance(config.model, InvertedAttentionNet)
        changes["data"] = Digits(fraction=0.06, padding=4 if has_windows else 0)
        if isinstance(config.augmentation, Steps):
            changes["augmentation"] = NoAugmentation()  # it may be made for colours
    return with_settings(config, changes | small_model(config.model))


def small_model(model: Model) -> dict[str, Any]:
    """Return what makes a model small and leaves what its arm is about."""
    match model:
        case CapsNet():
            changes: dict[str, Any] = {
                "conv_channels": 4,
                "conv_kernel": 3,
                "primary_types": 2,
                "primary_dim": 4,
                "primary_kernel": 3,
                "class_dim": 4,
            }
            if model.reconstruction.kind != "none":
                changes["reconstruction.hidden"] = [4]
        case MatrixCapsNet():
            changes = {
                "conv_channels": 4,
                "primary_types": min(2, model.primary_types),
                "first_types": 2,
                "second_types": min(2, model.second_types),
                "pose_size": 4,
            }
        case EfficientCapsNet():
            changes = {
                "conv_channels": [4, 8],
                "conv_kernel": 3,
                "conv_stride": 1,
                "primary_dim": 4,
                "primary_kernel": 4,
                "class_dim": 4,
            }
            if model.reconstruction.kind != "none":
                changes["reconstruction.hidden"] = [4]
        case SelfRoutingNet() | InvertedAttentionNet():
            changes = {"channels": 2, "types": 2, "pose_size": 4}
        case ConvNet():
            changes = {
                "conv_channels": [2] * len(model.conv_channels),
                "hidden": [4] * len(model.hidden),
            }
        case _:
            raise AssertionError(f"say how a {type(model).__name__} is made small")
    return {f"model.{name}": value for name, value in changes.items()}


NAMES = [entry.name for entry in named_sweeps()]


@pytest.mark.parametrize("name", NAMES)
def test_the_first_arm_of_a_named_sweep_trains(name: str) -> None:
    first, *_ = arms_of(named_sweep(name))
    assert is_trained(small(first.config).model_dump_json())


# tests/golden/trial_keys.json holds the settings of each arm in .ci/run
@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_every_arm_of_a_named_sweep_trains_but_those_that_are_to_diverge(name: str) -> None:
    arms = arms_of(named_sweep(name))
    diverged = [arm.name for arm in arms if not is_trained(small(arm.config).model_dump_json())]
    assert diverged == DIVERGING.get(name, [])


@cache  # made small, arms of several sweeps are the same
def is_trained(config_json: str) -> bool:
    """Return whether the one epoch of a config ends with losses that are finite."""
    config = TrainingConfig.model_validate_json(config_json)
    training = Training(config, seed=0)
    (metrics,) = training
    extra = {"familiar"} if getattr(config.data, "views", "all") != "all" else set[str]()
    assert set(training.test().extra_errors) == extra
    return math.isfinite(metrics.train_loss + metrics.validation_loss)
