"""Augmentations: how training images are varied, and all images presented to the network."""

from capsmodel.augmentation.base import Augmentation as Augmentation
from capsmodel.augmentation.none import NoAugmentation as NoAugmentation
from capsmodel.augmentation.patches import Patches as Patches
from capsmodel.augmentation.shift import Shift as Shift

AUGMENTATIONS = (NoAugmentation, Shift, Patches)
