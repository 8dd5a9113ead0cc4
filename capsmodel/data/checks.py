"""Checks of a data set at each load, before training and before evaluation."""

from dataclasses import replace

import torch

from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.functional.labels import check_label_range, check_label_type


def load_checked(data: DataSet, device: str | torch.device) -> DataSplits:
    """Return the splits of a data set on a device, its labels checked and as 64-bit integers.

    Raises:
        ValueError: As in `DataSet.load`, or if the labels of a split are not one integer an
            image from 0 to `num_classes - 1`.
    """
    splits = data.load(device)
    extra = {
        name: _checked(images, f"the extra test '{name}'", data)
        for name, images in splits.extra_tests.items()
    }
    return replace(
        splits,
        train=_checked(splits.train, "the training split", data),
        validation=_checked(splits.validation, "the validation split", data),
        test=_checked(splits.test, "the test split", data),
        extra_tests=extra,
    )


def _checked(images: Images, split: str, data: DataSet) -> Images:
    name = f"{split} of data '{data.kind}'"
    try:
        check_label_type(images.labels)
    except ValueError as error:
        raise ValueError(f"In {name}: {error}") from error
    labels = images.labels.long()
    if not labels.is_meta:
        check_label_range(labels.cpu(), data.num_classes, name)
    return replace(images, labels=labels)
