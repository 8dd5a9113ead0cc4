"""Capsule networks in plain PyTorch: parts, one tree of settings, training and prediction."""

from capsmodel.config import TrainingConfig as TrainingConfig
from capsmodel.config import build_model as build_model
from capsmodel.config import num_parameters as num_parameters
from capsmodel.settings.parts import OneOf as OneOf
from capsmodel.settings.parts import Part as Part
from capsmodel.settings.parts import Settings as Settings
from capsmodel.training.trained import Prediction as Prediction
from capsmodel.training.trained import Trained as Trained
from capsmodel.training.training import EpochMetrics as EpochMetrics
from capsmodel.training.training import TestResult as TestResult
from capsmodel.training.training import Training as Training
