"""affNIST from files in its true format: orientation, splits, clusters, and damaged files."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from capsmodel.data import AffNist, DataSet, facts_of, load_checked
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.affnist_files import (
    FewDigits,
    digits,
    mapped,
    struct,
    write_affnist,
    write_struct,
)

TESTS = "transformed/test_batches"
CENTRED = "just_centered/training_and_validation.mat"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    return write_affnist(tmp_path)


def few(trained_on: Literal["centred", "mnist", "transformed"] = "centred") -> FewDigits:
    return FewDigits(trained_on=trained_on, num_files=2)


def test_centred_images_are_mnists_own_with_a_margin_to_the_bit(folder: Path) -> None:
    centred, of_mnist = few("centred").load("cpu"), few("mnist").load("cpu")
    for name in ("train", "validation", "test"):
        padded, original = getattr(centred, name), getattr(of_mnist, name)
        assert torch.equal(padded.images, original.images)
        assert torch.equal(padded.labels, original.labels)
    assert torch.equal(
        centred.extra_tests["centred"].images, of_mnist.extra_tests["centred"].images
    )
    assert centred.train.images[:, 0].numpy().tobytes() == digits("train")[:167].tobytes()


def test_the_last_sixth_of_the_originals_is_for_validation(folder: Path) -> None:
    splits = few().load("cpu")
    assert [len(splits.train), len(splits.validation)] == [167, 33]
    assert splits.validation.images[:, 0].numpy().tobytes() == digits("train")[167:].tobytes()
    assert splits.train.objects is None


def test_each_test_file_has_every_original_and_its_column_is_the_cluster(folder: Path) -> None:
    test = few().load("cpu").test
    assert test.objects is not None
    for number in (1, 2):
        of_file = slice(50 * (number - 1), 50 * number)
        assert test.images[of_file, 0].numpy().tobytes() == mapped("t10k", number).tobytes()
        assert test.objects[of_file].tolist() == list(range(50))
        assert test.labels[of_file].tolist() == [index % 10 for index in range(50)]


def test_training_on_transformed_images_has_every_map_of_an_original_in_one_split(
    folder: Path,
) -> None:
    splits = few("transformed").load("cpu")
    train, validation = splits.train.objects, splits.validation.objects
    assert train is not None
    assert validation is not None
    assert [len(train), len(validation)] == [2 * 167, 2 * 33]
    assert not set(train.tolist()) & set(validation.tolist())
    assert splits.train.images[167, 0].numpy().tobytes() == mapped("train", 2)[0].tobytes()


def test_a_fraction_takes_all_files_of_some_originals(folder: Path) -> None:
    test = few().model_copy(update={"fraction": 0.5}).load("cpu").test
    assert test.objects is not None
    assert test.objects.unique(return_counts=True)[1].tolist() == [2] * (len(test) // 2)


def test_only_as_many_files_are_read_as_are_asked_for(folder: Path) -> None:
    (folder / TESTS / "2.mat").unlink()
    assert len(AffNist(num_files=1).load("cpu").test) == 50


def test_the_fingerprint_is_that_of_the_files_that_are_read(folder: Path) -> None:
    data = AffNist(num_files=1)
    before = data.fingerprint
    assert facts_of(data, load_checked(data, "cpu")).fingerprint == before
    write_struct(folder / TESTS / "2.mat", struct(mapped("t10k", 5)))
    assert data.fingerprint == before
    write_struct(folder / TESTS / "1.mat", struct(mapped("t10k", 5)))
    assert data.fingerprint != before


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def pickled(path: Path) -> None:
    path.write_bytes(b"\x80\x04\x95" + bytes(200))


def with_field(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        values = struct(mapped("t10k", 1))
        write_struct(path, values | {name: change(values[name])})

    return write


def without_labels(path: Path) -> None:
    write_struct(path, {"image": struct(mapped("t10k", 1))["image"]})


READ = r"1\.mat cannot be read as a MATLAB file \(.+\): put a whole file in its place\.$"


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (torn, READ),
        (empty, READ),
        (pickled, READ),
        (without_labels, r"1\.mat has no field 'label_int' in a single structure: put"),
        (
            with_field("image", lambda image: image[:784]),
            r"^'image' of .*1\.mat has the dimensions 784 x 50, not 1600 x any: put",
        ),
        (
            with_field("label_int", lambda labels: labels[:, :40]),
            r"^'label_int' of .*1\.mat has the dimensions 1 x 40, not 1 x 50: put",
        ),
        (
            with_field("image", lambda image: image.astype(np.int16) - 1),
            r"^'image' of .*1\.mat must have grey values or labels from 0 to 255: put",
        ),
        (
            with_field("label_int", lambda labels: labels + 1),
            r"1\.mat has a label of 10, and the labels of affNIST are 0 to 9: put",
        ),
        (
            with_field("label_int", lambda labels: labels[:, ::-1]),
            r"^The labels of .*1\.mat are not those of the other files, and .*: put",
        ),
    ],
    ids=[
        "torn",
        "empty",
        "pickled",
        "no labels",
        "small images",
        "fewer labels",
        "negative",
        "labels from 1",
        "other labels",
    ],
)
def test_a_bad_file_is_named_in_one_sentence_before_training(
    folder: Path, damage: Callable[[Path], None], sentence: str
) -> None:
    damage(folder / TESTS / "1.mat")
    with pytest.raises(ValueError, match=sentence):
        few().prepare()


def test_a_missing_file_is_named_with_what_to_do(folder: Path) -> None:
    (folder / CENTRED).unlink()
    for asking in (AffNist.prepare, lambda data: data.load("cpu"), lambda data: data.fingerprint):
        with pytest.raises(ValueError, match=rf"^affNIST lacks 1 of 4 files in .*{CENTRED}: take"):
            asking(AffNist(num_files=2))


@pytest.mark.parametrize("setting", [{"validation_fraction": 0.2}, {"split_seed": 1}])
def test_another_validation_split_is_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"last 10,000 originals: leave (val|split_seed at 0)"):
        AffNist.model_validate(setting)


class TestContract(DataSetContract):
    @pytest.fixture(params=["centred", "mnist", "transformed"])
    def data(self, request: pytest.FixtureRequest, folder: Path) -> DataSet:
        return few(request.param)
