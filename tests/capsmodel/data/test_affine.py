"""Images under affine maps: laws of the maps, of the places, and the fixed test images."""

from pathlib import Path
from typing import ClassVar, Literal

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from capsmodel.data import AffineDigits, AffineMnist, DataSet, DataSplits, Digits, Viewpoints
from capsmodel.data.affine import PlacedImages
from capsmodel.functional.images import mapped_by
from capsmodel.testing import DataSetContract
from tests.capsmodel.data.idx_files import SmallMnist, write_files
from tests.capsmodel.data.test_mnist import needs_images

# Of test and extra test, up to the last bits of sines: other ones need another protocol_version.
FIXED = {"digits": [0.12781547, 0.02208893], "mnist": [-0.00758482, -0.00546713]}


class FewMapped(AffineMnist):
    """Of 250 digits that a test writes."""

    source: ClassVar[type[DataSet]] = SmallMnist
    kind: Literal["few_mapped"] = "few_mapped"


def placed(images: object) -> PlacedImages:
    assert isinstance(images, PlacedImages)
    return images


def noise(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def map_of(*rows: list[float]) -> torch.Tensor:
    return torch.tensor([rows])


class TestMaps:
    def test_whole_pixels_move_an_image_right_and_down_to_the_bit(self) -> None:
        images = noise(1, 2, 5, 7)
        moved = mapped_by(images, map_of([1.0, 0], [0, 1]), torch.tensor([[2.0, 1]]))
        assert_close(moved[..., 1:, 2:], images[..., :-1, :-2])
        assert moved[..., 0, :].sum() + moved[..., :2].sum() == 0

    def test_a_quarter_turn_is_that_of_the_pixels(self) -> None:
        images = noise(1, 1, 6, 6)
        turned = mapped_by(images, map_of([0.0, -1], [1, 0]), torch.zeros(1, 2))
        assert_close(turned, images.rot90(-1, dims=(2, 3)))  # right goes down: clockwise

    def test_a_place_goes_where_the_map_sends_it(self) -> None:
        image = torch.zeros(1, 1, 41, 41)
        image[0, 0, 22, 25] = 1  # 5 to the right of the centre, 2 down
        matrix = map_of([1.2, 0.2], [0.1, 0.9])
        mapped = mapped_by(image, matrix, torch.tensor([[3.0, -4]]))[0, 0]
        places = torch.arange(41.0) - 20
        centre = [(mapped.sum(dim) * places).sum() / mapped.sum() for dim in (0, 1)]
        expected = [1.2 * 5 + 0.2 * 2 + 3, 0.1 * 5 + 0.9 * 2 - 4]
        assert_close(torch.stack(centre), torch.tensor(expected), atol=0.05, rtol=0)

    def test_every_channel_is_mapped_alike_and_an_image_alone_as_in_a_batch(self) -> None:
        images, matrices = noise(5, 3, 9, 9), torch.eye(2) + 0.2 * (noise(5, 2, 2) - 0.5)
        mapped = mapped_by(images, matrices, noise(5, 2))
        for index in range(5):
            position = slice(index, index + 1)
            of_image = matrices[position], noise(5, 2)[position]
            for channel in range(3):
                alone = mapped_by(images[position, [channel]], *of_image)
                assert torch.equal(alone, mapped[position, [channel]])


class TestPlaces:
    @pytest.fixture
    def splits(self) -> DataSplits:
        return AffineDigits(trained_on="mapped").load("cpu")

    def test_nothing_of_a_mapped_digit_is_cut_off(self) -> None:
        """On so large a ground that nothing can be, the ink is the same."""
        splits = AffineDigits(trained_on="mapped", rotation=0, shear=0, scaling=0).load("cpu")
        train = placed(splits.train)
        assert_close(train.take(slice(None)).images.sum((1, 2, 3)), train.images.sum((1, 2, 3)))

    def test_maps_reach_the_edges_and_cut_nothing_of_a_square_off(self) -> None:
        square = F.pad(torch.ones(500, 1, 4, 4), [2] * 4)
        train = placed(AffineDigits(trained_on="mapped").load("cpu").train)
        squares = PlacedImages(
            images=square,
            labels=torch.zeros(500),
            margin=3,
            draws=train.draws[:500],
            ranges=train.ranges,
        )
        mapped = squares.take(slice(None)).images
        wide = mapped_by(F.pad(square, [20] * 4), *squares.maps(slice(None)))
        assert_close(mapped.sum((1, 2, 3)), wide.sum((1, 2, 3)), rtol=1e-4, atol=1e-4)
        edges = [mapped[..., 0, :], mapped[..., -1, :], mapped[..., 0], mapped[..., -1]]
        assert all(edge.sum() > 0 for edge in edges)
        assert not torch.equal(mapped.sum((1, 2, 3)).round(), mapped.new_full((500,), 16))

    def test_an_image_without_ink_stays_black(self) -> None:
        train = placed(AffineDigits(trained_on="mapped").load("cpu").train)
        black = PlacedImages(**{**vars(train), "images": torch.zeros_like(train.images)})
        assert black.take(slice(0, 9)).images.sum() == 0

    def test_digits_of_training_lie_at_every_place_and_keep_every_pixel(self) -> None:
        train = placed(AffineDigits().load("cpu").train)
        taken = train.take(slice(None)).images
        assert taken.shape[1:] == AffineDigits().image_shape == (1, 14, 14)
        assert_close(taken.sum((1, 2, 3)), train.images.sum((1, 2, 3)))
        assert bool((taken.sum((0, 1, 2)) > 0).all())
        assert bool((taken.sum((0, 1, 3)) > 0).all())

    def test_each_epoch_draws_other_places_and_the_same_seed_the_same(
        self, splits: DataSplits
    ) -> None:
        first, repeated, other = (splits.train.of_epoch(*of) for of in ((3, 1), (3, 1), (4, 1)))
        assert torch.equal(first.take(slice(None)).images, repeated.take(slice(None)).images)
        assert not torch.equal(first.take(slice(None)).images, other.take(slice(None)).images)
        assert torch.equal(first.labels, other.labels)
        assert splits.test.of_epoch(3, 1) is splits.test

    def test_the_extra_test_has_the_same_digits_unmapped(self, splits: DataSplits) -> None:
        test, extra = splits.test, splits.extra_tests["placed"]
        assert torch.equal(test.labels, extra.labels)
        assert_close(extra.images.sum((1, 2, 3)), Digits().load("cpu").test.images.sum((1, 2, 3)))
        assert not torch.equal(test.images, extra.images)

    def test_the_way_of_training_leaves_the_tests_as_they_are(self, splits: DataSplits) -> None:
        other = AffineDigits().load("cpu")
        assert torch.equal(splits.test.images, other.test.images)
        assert not torch.equal(splits.validation.images, other.validation.images)


def weighed(splits: DataSplits) -> list[float]:
    """Return a mean of each test's pixels, in which each pixel of each image has its own weight."""
    tests = (splits.test.images, splits.extra_tests["placed"].images)
    weights = torch.arange(tests[0].numel(), dtype=torch.float64).cos()
    return [1000 * (images.flatten() * weights).mean().item() for images in tests]


def test_the_test_digits_are_those_of_ever() -> None:
    assert weighed(AffineDigits().load("cpu")) == pytest.approx(FIXED["digits"], abs=1e-6)


@needs_images
def test_the_test_images_of_mnist_are_those_of_ever() -> None:
    splits = AffineMnist().load("cpu")
    assert weighed(splits) == pytest.approx(FIXED["mnist"], abs=1e-6)
    assert [len(splits.train), len(splits.validation), len(splits.test)] == [52_500, 7_500, 10_000]


def test_colour_images_are_refused_in_one_sentence_before_training() -> None:
    class MappedPairs(AffineMnist):
        source: ClassVar[type[DataSet]] = Viewpoints
        kind: Literal["mapped_pairs"] = "mapped_pairs"

    with pytest.raises(
        ValueError,
        match=r"'mapped_pairs' map grey images on black ground, and those of 'viewpoints' have 2 "
        r"channels: let `source` be of one\.",
    ):
        MappedPairs()


class TestContract(DataSetContract):
    @pytest.fixture(params=["placed", "mapped"])
    def data(
        self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> DataSet:
        monkeypatch.setenv("CAPSWEEP_DATA", str(tmp_path))
        write_files(tmp_path / "MNIST" / "raw")
        return FewMapped(trained_on=request.param)
