"""smallNORB from its true file format: downloaded, halved and split by viewpoint."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from capsmodel import TrainingConfig, num_parameters
from capsmodel.augmentation import Patches
from capsmodel.data import DataSet, SmallNorb
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.idx_files import give_half, give_part, mirror
from tests.capsmodel.data.norb_files import PACKED, STEMS, UNPACKED, FewPhotographs, codes, images

FIRST = next(iter(PACKED))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path / "smallNORB" / "raw"


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("files", [PACKED, UNPACKED], ids=["packed", "unpacked"])
def test_the_files_are_taken_packed_or_unpacked(folder: Path, files: dict[str, bytes]) -> None:
    write_files(folder, files)
    splits = FewPhotographs().load("cpu")
    assert splits.test.images[:, :, ::4, ::4].tolist() == images("test")[:, :, ::8, ::8].tolist()
    assert splits.test.labels.tolist() == [row % 5 for row in range(len(codes(0)))]
    assert len(splits.train) + len(splits.validation) == len(codes(0))
    assert {path.name for path in folder.iterdir()} == set(files)


def test_four_pixels_become_their_mean_rounded_half_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = np.zeros((2, 2, 96, 96), np.uint8)
    block[0, 0, :2, :4] = [[0, 1, 255, 255], [0, 1, 255, 255]]
    block[1, 1, -2:, -2:] = [[0, 0], [0, 1]]
    monkeypatch.setattr("capsmodel.data.smallnorb.read_blocks", lambda *_: iter([block]))
    write_files(folder, PACKED)
    halved = FewPhotographs().pixels("train", [0, 1])
    assert halved.shape == (2, 2, 48, 48)
    assert halved[0, 0, 0, :2].tolist() == [1, 255]
    assert halved[1, 1, -1, -1] == 0
    assert halved.sum() == 256


def test_the_files_own_codes_split_it_by_viewpoint(folder: Path) -> None:
    write_files(folder, PACKED)
    rows = FewPhotographs(views="azimuth").rows()
    azimuths = codes(0)[:, 2]
    assert set(azimuths[rows.train + rows.validation].tolist()) == {0, 4, 32}
    assert set(azimuths[rows.test].tolist()) == {8, 12, 16, 20, 24, 28}
    assert set(azimuths[rows.extra_tests["familiar"]].tolist()) == {0, 4, 32}


@pytest.mark.parametrize("asking", [FewPhotographs.prepare, lambda data: data.load("cpu")])
def test_preparing_and_loading_download_what_is_lacking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, asking: Callable[[FewPhotographs], object]
) -> None:
    with mirror(give_part, PACKED) as (address, asked):
        monkeypatch.setattr(FewPhotographs, "own_mirrors", [address])
        asking(FewPhotographs())
    assert asked == list(PACKED)


def test_a_broken_download_is_gone_on_with(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mirror(give_half, PACKED) as (bad, _), mirror(give_part, PACKED) as (good, _):
        monkeypatch.setattr(FewPhotographs, "own_mirrors", [bad])
        with pytest.raises(
            ValueError, match=rf"{FIRST} of smallNORB could not be .* resumes after"
        ):
            FewPhotographs().prepare()
        half = (folder / f"{FIRST}.unfinished").read_bytes()
        assert half == PACKED[FIRST][: len(half)]
        monkeypatch.setattr(FewPhotographs, "own_mirrors", [good])
        assert len(FewPhotographs().load("cpu").test) == len(codes(0))


def test_a_corrupt_file_is_named_set_aside_and_fetched_anew_on_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(folder, PACKED | {FIRST: PACKED[FIRST][:-100]})
    with mirror(give_part, PACKED) as (address, asked):
        monkeypatch.setattr(FewPhotographs, "own_mirrors", [address])
        with pytest.raises(
            ValueError, match=rf"wrong checksum of {FIRST} \(set aside as {FIRST}\.damaged\): run"
        ):
            FewPhotographs().load("cpu")
        assert asked == []
        FewPhotographs().load("cpu")
    assert asked == [FIRST]
    assert (folder / f"{FIRST}.damaged").read_bytes() == PACKED[FIRST][:-100]


def test_planning_needs_no_data(folder: Path) -> None:
    model = CapsNet(reconstruction=NoReconstruction())
    config = TrainingConfig(data=SmallNorb(), augmentation=Patches(), model=model)
    assert num_parameters(config) > 1_000_000
    assert not folder.exists()


def test_the_published_files_are_named() -> None:
    names = [file.name for file in SmallNorb.archives.files]
    assert names == [
        f"{stem}-{kind}.mat.gz" for stem in STEMS.values() for kind in ("dat", "cat", "info")
    ]
    assert SmallNorb.mirrors() == ["https://cs.nyu.edu/~ylclab/data/norb-v1.0-small/"]
    assert SmallNorb.fingerprint == SmallNorb.archives.fingerprint


def test_the_fingerprint_is_that_which_records_are_made_with() -> None:
    assert SmallNorb.fingerprint == (
        "61f9875c94e52cd40f1fc4a1ef41edd40fc156547cc3c6a483818d82772dfa3d"
    )


class TestContract(DataSetContract):
    @pytest.fixture(params=["all", "azimuth", "elevation"])
    def data(self, request: pytest.FixtureRequest, folder: Path) -> DataSet:
        write_files(folder, PACKED)
        return FewPhotographs(views=request.param, validation_fraction=0.3)
