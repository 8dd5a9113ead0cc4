"""Capsule networks in plain PyTorch: parts, one tree of settings, training and prediction.

Names are loaded when they are first used, so that words about settings need no torch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig as TrainingConfig
    from capsmodel.config import build_model as build_model
    from capsmodel.config import num_parameters as num_parameters
    from capsmodel.losses import loss as loss
    from capsmodel.metrics import EpochMetrics as EpochMetrics
    from capsmodel.models import model as model
    from capsmodel.settings.parts import OneOf as OneOf
    from capsmodel.settings.parts import Part as Part
    from capsmodel.settings.parts import Settings as Settings
    from capsmodel.training.trained import Prediction as Prediction
    from capsmodel.training.trained import Trained as Trained
    from capsmodel.training.training import TestResult as TestResult
    from capsmodel.training.training import Training as Training

    __version__: str

__all__ = [
    "EpochMetrics",
    "OneOf",
    "Part",
    "Prediction",
    "Settings",
    "TestResult",
    "Trained",
    "Training",
    "TrainingConfig",
    "build_model",
    "loss",
    "model",
    "num_parameters",
]

_HOMES = {
    "EpochMetrics": "capsmodel.metrics",
    "OneOf": "capsmodel.settings.parts",
    "Part": "capsmodel.settings.parts",
    "Prediction": "capsmodel.training.trained",
    "Settings": "capsmodel.settings.parts",
    "TestResult": "capsmodel.training.training",
    "Trained": "capsmodel.training.trained",
    "Training": "capsmodel.training.training",
    "TrainingConfig": "capsmodel.config",
    "build_model": "capsmodel.config",
    "loss": "capsmodel.losses",
    "model": "capsmodel.models",
    "num_parameters": "capsmodel.config",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    from importlib import import_module

    if name == "__version__":
        return import_module("importlib.metadata").version("capsweep")
    if name not in _HOMES:
        raise AttributeError(f"module 'capsmodel' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return sorted(_HOMES)
