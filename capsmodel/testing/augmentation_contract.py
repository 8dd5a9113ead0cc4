"""The laws of every augmentation."""

from typing import ClassVar

import pytest
import torch
from torch import Tensor

from capsmodel.augmentation import Augmentation
from capsmodel.testing.part_contract import PartContract

_BATCH = 5


class AugmentationContract(PartContract):
    """The laws of every augmentation.

    class TestMyAugmentation(AugmentationContract):
        @pytest.fixture
        def augmentation(self) -> Augmentation:
            return MyAugmentation()

    Attributes:
        image_shape: Channels, height and width of the images, for one that takes only some.
    """

    image_shape: ClassVar[tuple[int, int, int]] = (2, 48, 40)

    @pytest.fixture
    def augmentation(self) -> Augmentation:
        """Return the augmentation under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `augmentation`.")

    @pytest.fixture
    def part(self, augmentation: Augmentation) -> Augmentation:
        """Return the augmentation, for the laws of every part."""
        return augmentation

    def test_each_image_has_one_row_of_draws_on_the_cpu(self, augmentation: Augmentation) -> None:
        """Rows follow the images into their batches."""
        draws = _draws(augmentation)
        assert draws.ndim == 2
        assert len(draws) == _BATCH
        assert draws.device.type == "cpu"

    def test_all_chance_comes_from_the_generator(self, augmentation: Augmentation) -> None:
        """The same state gives the same draws; the global generator is not used."""
        before = torch.get_rng_state()
        first, second = (
            _varied(augmentation, _images(self.image_shape)),
            _varied(augmentation, _images(self.image_shape)),
        )
        assert torch.equal(first, second)
        assert torch.equal(torch.get_rng_state(), before)

    def test_images_have_the_stated_shape_and_are_single_precision(
        self, augmentation: Augmentation
    ) -> None:
        """A network is built for it before any image is loaded."""
        for presented in _presented(augmentation, _images(self.image_shape)):
            assert presented.shape == (_BATCH, *augmentation.shape(self.image_shape))
            assert presented.dtype == torch.float32

    def test_values_are_finite_and_keep_their_range_where_it_says_so(
        self, augmentation: Augmentation
    ) -> None:
        """This includes images of one grey."""
        for images in (
            _images(self.image_shape),
            torch.zeros(_BATCH, *self.image_shape),
            torch.ones(_BATCH, *self.image_shape),
        ):
            for presented in _presented(augmentation, images):
                assert bool(presented.isfinite().all())
                if augmentation.keeps_range:
                    assert bool(((presented >= 0) & (presented <= 1)).all())

    def test_an_image_is_the_same_alone_as_in_a_batch(self, augmentation: Augmentation) -> None:
        """No image affects another one."""
        images, draws = _images(self.image_shape), _draws(augmentation)
        alone = [
            augmentation.apply(image, draw)
            for image, draw in zip(images.split(1), draws.split(1), strict=True)
        ]
        assert torch.equal(torch.cat(alone), augmentation.apply(images, draws))
        alone = [augmentation.plain(image) for image in images.split(1)]
        assert torch.equal(torch.cat(alone), augmentation.plain(images))

    def test_the_images_are_not_written_to(self, augmentation: Augmentation) -> None:
        """They are used again in the next epoch."""
        images = _images(self.image_shape)
        _presented(augmentation, images)
        assert torch.equal(images, _images(self.image_shape))


def _images(shape: tuple[int, int, int]) -> Tensor:
    return torch.rand(_BATCH, *shape, generator=torch.Generator().manual_seed(1))


def _draws(augmentation: Augmentation) -> Tensor:
    return augmentation.draw(_BATCH, torch.Generator().manual_seed(2))


def _varied(augmentation: Augmentation, images: Tensor) -> Tensor:
    return augmentation.apply(images, _draws(augmentation))


def _presented(augmentation: Augmentation, images: Tensor) -> tuple[Tensor, Tensor]:
    return _varied(augmentation, images), augmentation.plain(images)
