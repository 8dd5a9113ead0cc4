"""A large .npz file is read with little more memory than its images take."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capsmodel.data import Arrays, facts_of, load_checked
from capsmodel.data import arrays as arrays_file
from tests.capsmodel.data.pictures import noise

NUM = 3000
IMAGES = noise(0, NUM, 64, 64)
LABELS = np.arange(NUM) % 3
SPLIT = {
    "x_train": IMAGES[600:],
    "y_train": LABELS[600:],
    "x_val": IMAGES[:300],
    "y_val": LABELS[:300],
    "x_test": IMAGES[300:600],
    "y_test": LABELS[300:600],
}
FLOATS = (IMAGES / 255).astype(np.float32)


@pytest.mark.parametrize(
    "arrays",
    [
        {"images": IMAGES, "labels": LABELS},
        SPLIT,
        {"images": FLOATS[:750], "labels": LABELS[:750]},
        {"x": np.moveaxis(IMAGES.reshape(-1, 3, 64, 64), 1, 3), "y": LABELS[: NUM // 3]},
    ],
    ids=["one array", "splits of the file", "numbers", "channels last"],
)
def test_loading_takes_little_more_memory_than_the_images(
    tmp_path: Path, arrays: dict[str, Any]
) -> None:
    num_bytes = sum(array.nbytes for array in arrays.values())
    np.savez(tmp_path / "large.npz", **arrays)
    tracemalloc.start()
    try:
        data = Arrays(tmp_path / "large.npz")
        facts_of(data, load_checked(data, "cpu"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * num_bytes


@pytest.mark.parametrize(
    ("save", "images", "is_noted"),
    [
        (np.savez, IMAGES[:30], False),
        (np.savez, FLOATS[:30], False),
        (np.savez, FLOATS[:30].astype(np.float64), True),
        (np.savez_compressed, IMAGES[:30], True),
    ],
    ids=["bytes", "single precision", "double precision", "compressed"],
)
def test_a_large_file_that_is_read_whole_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save: Any, images: Any, is_noted: bool
) -> None:
    save(tmp_path / "large.npz", images=images, labels=LABELS[:30])
    data = Arrays(tmp_path / "large.npz")
    assert not any("memory" in note for note in data.notes_on_files())
    monkeypatch.setattr(arrays_file, "_LARGE", 1000)
    assert any("two to four times" in note for note in data.notes_on_files()) == is_noted
