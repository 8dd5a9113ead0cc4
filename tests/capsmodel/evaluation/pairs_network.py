"""A small network for pairs of digits that a test writes."""

from pathlib import Path

import pytest

from capsmodel import Trained, Training
from capsmodel.losses import MarginLoss
from tests.capsmodel.data.idx_files import write_files
from tests.capsmodel.data.test_multi_mnist import SmallPairs
from tests.capsmodel.small_config import small_config, small_model


def pairs_network(folder: Path, monkeypatch: pytest.MonkeyPatch, epochs: int = 0) -> Trained:
    """Return the network, trained on files in a folder, for pairs of 18 by 18 pixels."""
    monkeypatch.setenv("CAPSWEEP_DATA", str(folder))
    write_files(folder / "MNIST" / "raw")
    data = SmallPairs(halved=True, shift=2)
    model = small_model(primary_stride=4)
    config = small_config(data=data, loss=MarginLoss(), model=model)
    training = Training(config, seed=0, data=data.load("cpu"))
    for _, _ in zip(range(epochs), training, strict=False):
        pass
    return training.trained()
