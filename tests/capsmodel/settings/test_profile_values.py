"""What the profiles of matrix capsules set, written out from their sources, number by number."""

import math
from typing import Any

import pytest

from capsmodel.losses import MarginLoss, SpreadLoss
from capsmodel.models import MatrixCapsNet
from capsmodel.routing import EMRouting
from capsmodel.settings.parts import Settings

BETAS_FROM_ZERO = {
    "initial_activation_bias": 0.0,
    "initial_cost_bias": 0.0,
    "class_activation_bias": 0.0,
    "class_cost_bias": 0.0,
}
AS_PRINTED = {
    "kind": "em",
    "iterations": 3,
    "inverse_temperature": {"kind": "rising", "final": 0.01, "decay": 0.95},
    "class_temperature_factor": 1.0,
    "centre_momentum": 1.0,
    "log_variance_weight": 0.5,
    "activation_bias_scale": 1.0,
    "cost_bias_scale": 1.0,
    "competition": "parents",
    "gradient": "all",
}
EM: dict[str, dict[str, Any]] = {
    "paper": {
        **AS_PRINTED,
        **BETAS_FROM_ZERO,
        "variance_floor": 1e-4,
        "scale_by_children": False,
    },
    "official": {
        "kind": "em",
        "iterations": 3,
        "inverse_temperature": {"kind": "rising", "final": 0.01, "decay": 0.95},
        "class_temperature_factor": 0.25,
        "variance_floor": 5e-4,
        "centre_momentum": 0.9,
        "log_variance_weight": 1.0,
        "activation_bias_scale": 5000.0,
        "cost_bias_scale": math.log(2 * math.pi) + 1,
        "initial_activation_bias": -0.5,
        "initial_cost_bias": 0.5,
        "class_activation_bias": -1.0,
        "class_cost_bias": 2.0,
        "competition": "places",
        "scale_by_children": False,
        "gradient": "all",
    },
    "normalised": {
        **AS_PRINTED,
        **BETAS_FROM_ZERO,
        "initial_activation_bias": -1000.0,
        "class_activation_bias": -1000.0,
        "variance_floor": 1e-9,
        "scale_by_children": True,
    },
}
# What the paper and its authors' code share: A = B = C = D = 32, a kernel of 5 and two of 3.
NETWORK = {
    "kind": "matrix_capsnet",
    "conv_channels": 32,
    "conv_kernel": 5,
    "conv_stride": 2,
    "primary_types": 32,
    "first_types": 32,
    "first_kernel": 3,
    "first_stride": 2,
    "second_types": 32,
    "second_kernel": 3,
    "second_stride": 1,
    "pose_kind": "matrix",
    "pose_size": 16,
    "init_scale": 1.0,
    "batch_norm": False,
    "dropout": 0.0,
    "reconstruction": {"kind": "none"},
}
PAPERS_BEGINNING = {
    "primary_bias": True,
    "primary_shift": 0.0,
    "coordinates": "paper",
    "initialisation": "identity",
    "initial_bias": 0.0,
}
RELEASED_BEGINNING = {
    "primary_bias": False,
    "primary_shift": 1.0,
    "coordinates": "official",
    "initialisation": "truncated",
    "initial_bias": 0.1,
}
MATRIX_CAPSULES: dict[str, dict[str, Any]] = {
    "paper": {**NETWORK, **PAPERS_BEGINNING, "routing": EM["paper"]},
    "official": {**NETWORK, **RELEASED_BEGINNING, "routing": EM["official"]},
    "normalised": {**NETWORK, **PAPERS_BEGINNING, "routing": EM["normalised"]},
}
MARGIN: dict[str, dict[str, Any]] = {
    name: {
        "kind": "margin",
        "class_weights": [],
        "positive_margin": 0.9,
        "negative_margin": 0.1,
        "down_weight": 0.5,
        "schedule": {"kind": "constant"},
        "reduction": reduction,
    }
    for name, reduction in (("paper", "sum"), ("official", "half_mean"))
}
SPREAD: dict[str, dict[str, Any]] = {
    "paper": {
        "kind": "spread",
        "class_weights": [],
        "margin": 0.9,
        "schedule": {"kind": "linear", "start": 0.2},
        "reduction": "sum",
    },
    "official": {
        "kind": "spread",
        "class_weights": [],
        "margin": 0.99,
        # 0.2 + 0.79 sigmoid(min(10, step / 50,000 - 4)), of 2,000,000 steps
        "schedule": {"kind": "sigmoid", "start": 0.2, "steepness": 40.0, "midpoint": 0.1},
        "reduction": "mean",
    },
}
TABLES: dict[type[Settings], dict[str, dict[str, Any]]] = {
    EMRouting: EM,
    MatrixCapsNet: MATRIX_CAPSULES,
    MarginLoss: MARGIN,
    SpreadLoss: SPREAD,
}
ROWS = [(owner, name) for owner, table in TABLES.items() for name in table]


def by_path(values: dict[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= (
            by_path(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
        )
    return flat


@pytest.mark.parametrize(
    ("owner", "profile"), ROWS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_profile_sets_what_its_source_says(owner: type[Settings], profile: str) -> None:
    actual = by_path(owner.of_profile(profile).model_dump(mode="json"))
    assert actual["kind"] == TABLES[owner][profile]["kind"]
    assert actual == by_path(TABLES[owner][profile])


@pytest.mark.parametrize("owner", TABLES, ids=lambda owner: owner.__name__)
def test_every_profile_has_its_table(owner: type[Settings]) -> None:
    assert set(owner.profiles) == set(TABLES[owner])
