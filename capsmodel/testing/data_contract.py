"""The laws of every data set."""

from itertools import combinations

import pytest
import torch

from capsmodel.data import DataSet, DataSplits, Images, facts_of, load_checked
from capsmodel.testing.part_contract import PartContract

_LOADED: list[tuple[DataSet, dict[str, Images]]] = []


class DataValuesContract:
    """The laws of what is loaded.

    They are enough for other files of a data set that keeps all of `DataSetContract` in some.
    """

    @pytest.fixture
    def data(self) -> DataSet:
        """Return the data set under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `data`.")

    def test_its_images_have_the_declared_shape(self, data: DataSet) -> None:
        """A network is built before anything is loaded."""
        for images in _loaded_once(data).values():
            assert images.take(slice(2)).images.shape[1:] == data.image_shape
            assert len(images.labels) == len(images)

    def test_it_gives_single_precision_from_zero_to_one(self, data: DataSet) -> None:
        """Whether bytes or numbers are stored."""
        for images in _loaded_once(data).values():
            taken = images.take(slice(None)).images
            assert taken.dtype == torch.float32
            assert 0 <= taken.min() < taken.max() <= 1

    def test_every_split_has_every_declared_class(self, data: DataSet) -> None:
        """A class that no image shows can be neither learnt nor tested."""
        for images in _loaded_once(data).values():
            checked = data.task.checked(images.labels, data.num_classes, "the split")
            assert checked.dtype == images.labels.dtype
            assert bool((data.task.counts(checked, data.num_classes) > 0).all())

    def test_no_image_is_in_two_splits(self, data: DataSet) -> None:
        """Training images must not reappear in validation or test."""
        splits = [_bytes(images) for images in _loaded_once(data).values()]
        assert all(not split & other for split, other in combinations(splits, 2))

    def test_two_loads_are_the_same_to_the_last_bit(self, data: DataSet) -> None:
        """Their order is the same too."""
        first, second = _loaded_once(data), _splits(data.load("cpu"))
        assert first.keys() == second.keys()
        for name, images in first.items():
            assert torch.equal(images.images, second[name].images)
            assert torch.equal(images.labels, second[name].labels)

    def test_it_has_a_fingerprint(self, data: DataSet) -> None:
        """A SHA-256 in hex, declared by the data sets of capsmodel, computed for others."""
        assert len(bytes.fromhex(facts_of(data, load_checked(data, "cpu")).fingerprint)) == 32


class DataSetContract(DataValuesContract, PartContract):
    """The laws of every data set.

    class TestMyData(DataSetContract):
        @pytest.fixture
        def data(self) -> DataSet:
            return MyData(fraction=0.1)

    The data are loaded more than once: use a fraction that is small, but whose half still has an
    image of each class.
    """

    @pytest.fixture
    def part(self, data: DataSet) -> DataSet:
        """Return the data set, for the laws of every part."""
        return data

    def test_writing_to_one_load_leaves_the_next_as_it_is(self, data: DataSet) -> None:
        """Trials of one process share no tensor."""
        first = data.load("cpu").train.images
        before = first.clone()
        first.zero_()
        assert torch.equal(data.load("cpu").train.images, before)

    def test_the_global_generator_is_left_alone(self, data: DataSet) -> None:
        """All random numbers come from the settings."""
        before = torch.get_rng_state()
        data.load("cpu")
        assert torch.equal(torch.get_rng_state(), before)

    def test_the_split_seed_leaves_the_tests_as_they_are(self, data: DataSet) -> None:
        """Results of different seeds are compared on the same images."""
        other = data.model_copy(update={"split_seed": data.split_seed + 1})
        first, second = _loaded_once(data), _splits(other.load("cpu"))
        for name in first.keys() - {"train", "validation"}:
            assert torch.equal(first[name].images, second[name].images)
        is_other = _bytes(first["validation"]) != _bytes(second["validation"])
        assert is_other == data.is_split_by_seed

    def test_a_smaller_fraction_is_a_part_of_a_larger_one(self, data: DataSet) -> None:
        """This holds for every split."""
        half = data.model_copy(update={"fraction": data.fraction / 2})
        full, part = _loaded_once(data), _splits(half.load("cpu"))
        for name, images in full.items():
            assert _bytes(part[name]) < _bytes(images)

    def test_a_train_fraction_is_of_the_training_images_alone(self, data: DataSet) -> None:
        """Arms of fewer training images are compared on the same others."""
        half = data.model_copy(update={"train_fraction": 0.5})
        full, part = _splits(load_checked(data, "cpu")), _splits(load_checked(half, "cpu"))
        train, fewer = full.pop("train"), part.pop("train")
        assert abs(len(fewer) / len(train) - 0.5) < 0.1
        assert set(fewer.labels.flatten().tolist()) == set(train.labels.flatten().tolist())
        for name, images in full.items():
            assert torch.equal(images.images, part[name].images)

    def test_the_images_lie_on_the_device_that_is_asked_for(self, data: DataSet) -> None:
        """Labels too; the device of shapes alone stands for a GPU."""
        for images in _splits(data.load("meta")).values():
            assert images.images.device.type == images.labels.device.type == "meta"

    def test_preparing_twice_does_no_harm(self, data: DataSet) -> None:
        """Each sweep prepares the data of its arms."""
        data.prepare()
        data.prepare()


def _loaded_once(data: DataSet) -> dict[str, Images]:
    """Return the splits, loaded once for all laws that only read those of one object."""
    if not any(known is data for known, _ in _LOADED):
        _LOADED[:] = [(data, _splits(data.load("cpu")))]
    return _LOADED[0][1]


def _splits(splits: DataSplits) -> dict[str, Images]:
    main_splits = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    return main_splits | {f"test.{name}": images for name, images in splits.extra_tests.items()}


def _bytes(images: Images) -> set[bytes]:
    return {image.numpy().tobytes() for image in images.images}
