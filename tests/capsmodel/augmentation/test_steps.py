"""Steps: padding, flips, rotations, crops, changes of colour and standardising."""

import math

import pytest
import torch
from torch.testing import assert_close
from torchvision.transforms import functional as theirs

from capsmodel import Training, TrainingConfig
from capsmodel.augmentation import Steps
from capsmodel.config import build_model
from capsmodel.data import Cifar10, Digits
from capsmodel.functional.images import channel_moments
from capsmodel.reconstruction import NoReconstruction
from tests.capsmodel.small_config import small_config, small_model


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noise(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=seeded(1))


def draws(
    flip: float = 0.9,
    angle: float = 0.5,
    shear: float = 0.5,
    scales: tuple[float, float] = (0.5, 0.5),
    top: float = 0.0,
    left: float = 0.0,
    colour: float = 0.5,
) -> torch.Tensor:
    return torch.tensor([[angle, shear, *scales, flip, top, left, colour, colour, colour]])


def test_without_a_step_images_stay_as_they_are() -> None:
    images, steps = noise(4, 2, 8, 8), Steps()
    assert torch.equal(steps.apply(images, steps.draw(4, seeded())), images)
    assert torch.equal(steps.plain(images), images)


def test_padding_is_black_and_is_there_outside_training_too() -> None:
    images, steps = noise(2, 1, 8, 8), Steps(padding=2)
    assert steps.shape((1, 8, 8)) == (1, 12, 12)
    for presented in (steps.plain(images), steps.apply(images, draws().expand(2, 10))):
        assert torch.equal(presented[:, :, 2:-2, 2:-2], images)
        assert_close(presented.sum(), images.sum())


def test_a_crop_of_a_padded_image_lies_anywhere_in_training_and_is_the_image_outside() -> None:
    images, steps = noise(1, 1, 6, 6), Steps(padding=2, crop=6)
    padded = Steps(padding=2).plain(images)
    assert torch.equal(steps.plain(images), images)
    assert torch.equal(steps.apply(images, draws(top=0.99, left=0)), padded[..., 4:, :6])
    ones = steps.apply(torch.ones(400, 1, 6, 6), steps.draw(400, seeded()))
    assert len({image.numpy().tobytes() for image in ones}) == 25


def test_every_second_image_by_chance_is_flipped_and_none_outside_training() -> None:
    images, steps = noise(1, 2, 5, 5).expand(1000, 2, 5, 5), Steps(flip=True)
    flipped = (steps.apply(images, steps.draw(1000, seeded())) == images.flip(3)).all((1, 2, 3))
    assert 440 < int(flipped.sum()) < 560
    assert torch.equal(steps.plain(images), images)


def test_an_image_is_turned_by_its_own_angle_up_to_the_largest() -> None:
    images = torch.nn.functional.avg_pool2d(noise(1, 3, 40, 40), 5, stride=1)
    for draw, degrees in ((0.75, 15.0), (0.0, -30.0)):
        turned = Steps(rotation=30).apply(images, draws(angle=1 - draw))
        of_torchvision = theirs.rotate(images, degrees, theirs.InterpolationMode.BILINEAR)
        assert_close(turned, of_torchvision, atol=1e-3, rtol=0)


def test_images_are_scaled_sheared_and_rotated_as_torchvision_does() -> None:
    images = torch.nn.functional.avg_pool2d(noise(1, 3, 40, 40), 5, stride=1)
    steps = Steps(rotation=20, shear=0.2, scaling=0.25)
    mapped = steps.apply(images, draws(angle=1.0, shear=1.0, scales=(0.7, 0.7)))
    of_torchvision = theirs.affine(
        images,
        angle=20,
        translate=[0, 0],
        scale=1.1,
        shear=[-math.degrees(math.atan(0.2)), 0.0],
        interpolation=theirs.InterpolationMode.BILINEAR,
    )
    assert_close(mapped, of_torchvision, atol=1e-3, rtol=0)
    rows = (torch.arange(9.0) / 9).view(1, 1, 9, 1).expand(1, 1, 9, 9)
    assert_close(steps.apply(rows, draws(scales=(1.0, 0.5))), rows)  # wider, and as high as before
    assert torch.equal(steps.plain(images), images)


@pytest.mark.parametrize("draw", [0.0, 0.3, 0.9])
def test_colours_are_changed_as_torchvision_does(draw: float) -> None:
    images = noise(1, 3, 7, 7)
    steps = Steps(brightness=0.4, contrast=0.6, saturation=0.8)
    ours = steps.apply(images, draws(colour=draw))
    change = 2 * draw - 1
    expected = theirs.adjust_brightness(images, 1 + 0.4 * change)
    expected = theirs.adjust_contrast(expected, 1 + 0.6 * change)
    expected = theirs.adjust_saturation(expected, 1 + 0.8 * change)
    assert_close(ours, expected, atol=1e-5, rtol=0)
    assert torch.equal(steps.plain(images), images)


def test_images_standardised_by_their_own_moments_have_mean_zero_and_deviation_one() -> None:
    images = noise(50, 3, 6, 6) * torch.tensor([1.0, 0.5, 0.2]).view(3, 1, 1)
    mean, deviation = channel_moments(images)
    steps = Steps(mean=mean, deviation=deviation)
    assert not steps.keeps_range
    for presented in (steps.plain(images), steps.apply(images, draws().expand(50, 10))):
        assert_close(presented.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
        assert_close(presented.transpose(0, 1).flatten(1).std(1, correction=0), torch.ones(3))


def test_one_mean_is_for_all_channels() -> None:
    images = noise(2, 3, 4, 4)
    assert_close(Steps(mean=(0.5,), deviation=(0.25,)).plain(images), (images - 0.5) / 0.25)


def test_all_settings_share_their_draws() -> None:
    assert torch.equal(Steps().draw(9, seeded()), Steps(crop=4, flip=True).draw(9, seeded()))


@pytest.mark.parametrize("setting", ["brightness", "contrast", "saturation"])
def test_changes_of_colour_of_grey_images_are_refused_in_one_sentence(setting: str) -> None:
    steps = Steps.model_validate({setting: 0.2})
    model = small_model(reconstruction=NoReconstruction())
    with pytest.raises(
        ValueError,
        match=r"^Changes of colour are for images of 3 channels, red, green and blue, and these "
        r"have 1: set augmentation\.brightness, augmentation\.contrast and "
        r"augmentation\.saturation to 0\.$",
    ):
        build_model(TrainingConfig(data=Digits(), model=model, augmentation=steps))


@pytest.mark.parametrize(
    ("settings", "shape", "sentence"),
    [
        (
            {"crop": 13, "padding": 2},
            (1, 8, 20),
            r"^A crop of 13 x 13 pixels does not fit into images of 12 x 24, padding included: set "
            r"augmentation\.crop to at most 12\.$",
        ),
        (
            {"mean": [0.1, 0.2], "deviation": [0.1, 0.2]},
            (3, 8, 8),
            r"^augmentation\.mean has 2 numbers, and the images have 3 channels: give one",
        ),
    ],
    ids=["a large crop", "two means"],
)
def test_a_step_for_other_images_is_refused(
    settings: dict[str, object], shape: tuple[int, int, int], sentence: str
) -> None:
    steps = Steps.model_validate(settings)
    for asking in (lambda: steps.shape(shape), lambda: steps.plain(noise(1, *shape))):
        with pytest.raises(ValueError, match=sentence):
            asking()


def test_a_mean_without_a_deviation_is_refused() -> None:
    with pytest.raises(ValueError, match=r"as many numbers as each other, got 1 and 0: give both"):
        Steps(mean=(0.5,))


def test_the_profile_of_cifar_crops_flips_and_standardises() -> None:
    steps = Steps.of_profile("cifar10")
    assert steps.shape(Cifar10.image_shape) == (3, 32, 32)
    assert (steps.padding, steps.flip, len(steps.mean)) == (4, True, 3)


def test_a_training_on_steps_is_evaluated_on_plain_images() -> None:
    model = small_model(reconstruction=NoReconstruction())
    steps = Steps(padding=1, rotation=15, crop=9, mean=(0.3,), deviation=(0.4,))
    training = Training(small_config(model=model, augmentation=steps), seed=0)
    images = noise(2, 1, 8, 8)
    trained = training.trained()
    padded = Steps(padding=1, mean=(0.3,), deviation=(0.4,)).plain(images)[:, :, :9, :9]
    with torch.inference_mode():
        direct = trained.network(padded, None, seeded()).lengths
    assert_close(trained.predict(images).lengths, direct)
