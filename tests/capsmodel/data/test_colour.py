"""CIFAR-10, CIFAR-100 and SVHN from files in their true formats, without a pickle."""

from pathlib import Path

import pytest
import torch

from capsmodel import TrainingConfig, num_parameters
from capsmodel.data import Cifar10, Cifar100, DataSet, Svhn
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.colour_files import (
    FILES,
    NUM_TEST,
    FewOfCifar10,
    FewOfCifar100,
    FewOfSvhn,
    pixels,
)
from tests.capsmodel.data.idx_files import give_part, mirror

ALL = pytest.mark.parametrize("kind", FILES, ids=["cifar10", "cifar100", "svhn"])
Few = type[FewOfCifar10 | FewOfCifar100 | FewOfSvhn]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


def write_files(kind: Few) -> None:
    kind.archives.folder.mkdir(parents=True)
    for name, content in FILES[kind].items():
        (kind.archives.folder / name).write_bytes(content)


@pytest.mark.parametrize("kind", [FewOfCifar10, FewOfSvhn], ids=["cifar10", "svhn"])
def test_the_test_split_is_the_test_part_in_its_order_upright_and_in_colour(
    root: Path, kind: type[FewOfCifar10 | FewOfSvhn]
) -> None:
    write_files(kind)
    test = kind().load("cpu").test
    assert test.images.numpy().tobytes() == pixels(NUM_TEST, 1).tobytes()
    assert test.labels.tolist() == [index % 10 for index in range(NUM_TEST)]


def test_the_classes_of_cifar100_are_the_fine_ones(root: Path) -> None:
    write_files(FewOfCifar100)
    test = FewOfCifar100().load("cpu").test
    assert test.images.numpy().tobytes() == pixels(200, 200).tobytes()
    assert test.labels.tolist() == [*range(100)] * 2


@pytest.mark.parametrize("kind", [FewOfCifar10, FewOfSvhn], ids=["cifar10", "svhn"])
def test_training_and_validation_share_the_training_part(
    root: Path, kind: type[FewOfCifar10 | FewOfSvhn]
) -> None:
    write_files(kind)
    splits = kind().load("cpu")
    assert [len(splits.train), len(splits.validation)] == [175, 25]
    stored = {image.tobytes() for image in pixels(200, 0)}
    loaded = torch.cat([splits.train.images, splits.validation.images])
    assert {image.numpy().tobytes() for image in loaded} == stored


@ALL
def test_what_is_missing_is_downloaded_and_nothing_is_unpacked(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: Few
) -> None:
    with mirror(give_part, FILES[kind]) as (address, asked):
        monkeypatch.setattr(kind, "own_mirrors", [address])
        kind().prepare()
    assert asked == list(FILES[kind])
    assert {path.name for path in kind.archives.folder.iterdir()} <= {*asked, "download.lock"}


@ALL
def test_a_torn_file_is_named_and_not_trained_on(root: Path, kind: Few) -> None:
    write_files(kind)
    name, content = next(iter(FILES[kind].items()))
    (kind.archives.folder / name).write_bytes(content[:-100])
    with pytest.raises(ValueError, match=rf"damaged in .*, with a wrong checksum of {name}"):
        kind().prepare()


def test_files_and_checksums_are_those_of_the_publishers() -> None:
    import torchvision.datasets

    theirs = torchvision.datasets.SVHN.split_list
    assert [(file.name, file.md5) for file in Svhn.archives.files] == [
        (theirs[part][1], theirs[part][2]) for part in ("train", "test")
    ]
    assert {theirs[part][0] for part in ("train", "test")} == {
        address + file.name for address in Svhn.mirrors() for file in Svhn.archives.files
    }
    for kind, other in (
        (Cifar10, torchvision.datasets.CIFAR10),
        (Cifar100, torchvision.datasets.CIFAR100),
    ):
        (address,), (file,) = kind.mirrors(), kind.archives.files
        assert (address + file.name).replace("binary", "python") == other.url


@pytest.mark.parametrize(("kind", "classes"), [(Cifar10, 10), (Cifar100, 100), (Svhn, 10)])
def test_planning_needs_no_data(root: Path, kind: type[DataSet], classes: int) -> None:
    assert kind().num_classes == classes
    assert num_parameters(TrainingConfig(data=kind(), model="cnn")) > 1_000_000
    assert len(kind.fingerprint) == 64
    assert list(root.iterdir()) == []


class TestContract(DataSetContract):
    @pytest.fixture(params=FILES, ids=["cifar10", "cifar100", "svhn"])
    def data(self, request: pytest.FixtureRequest, root: Path) -> DataSet:
        kind: Few = request.param
        write_files(kind)
        return kind(validation_fraction=0.5)
