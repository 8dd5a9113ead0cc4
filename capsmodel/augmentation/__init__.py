"""Augmentations: how training images are varied."""

from capsmodel.augmentation.base import Augmentation as Augmentation
from capsmodel.augmentation.none import NoAugmentation as NoAugmentation
from capsmodel.augmentation.shift import Shift as Shift

AUGMENTATIONS = (NoAugmentation, Shift)
