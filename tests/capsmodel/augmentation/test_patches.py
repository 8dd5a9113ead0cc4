import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from capsmodel import Trained, Training, build_model
from capsmodel.augmentation import Patches
from capsmodel.overrides import with_settings
from capsmodel.reconstruction import NoReconstruction
from tests.capsmodel.small_config import small_config, small_model

PLAIN_LIGHT = {"brightness": 0.0, "contrast_low": 1.0, "contrast_high": 1.0}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noise(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=seeded(1))


def unstandardised(**settings: float | bool) -> Patches:
    return Patches.model_validate({"standardise": False, **PLAIN_LIGHT, **settings})


def draws(
    top: float = 0, left: float = 0, brightness: float = 0.5, contrast: float = 0.5, flip: float = 0
) -> torch.Tensor:
    return torch.tensor([[top, left, brightness, contrast, flip]])


def test_a_patch_is_cut_where_its_draw_says() -> None:
    images = noise(1, 2, 6, 8)
    patch = unstandardised(size=4).apply(images, draws(top=0.4, left=0.99))
    assert torch.equal(patch, images[:, :, 1:5, 4:8])


def test_patches_come_from_every_place() -> None:
    images = (torch.arange(36.0).view(1, 1, 6, 6) / 36).expand(2000, 1, 6, 6)
    patches = unstandardised(size=4)
    corners = patches.apply(images, patches.draw(2000, seeded()))[:, 0, 0, 0]
    places = (corners * 36).round().long().bincount(minlength=36).view(6, 6)
    assert (places[3:] == 0).all()
    assert (places[:, 3:] == 0).all()
    assert places[:3, :3].min() > 150  # of 222 to be expected


def test_all_channels_of_an_image_are_cut_at_one_place() -> None:
    images = noise(50, 1, 9, 9).expand(50, 2, 9, 9)
    patches = Patches(size=5)
    first, second = patches.apply(images, patches.draw(50, seeded())).unbind(1)
    assert torch.equal(first, second)


def test_outside_training_a_patch_is_the_middle() -> None:
    images = noise(2, 2, 48, 48)
    assert torch.equal(unstandardised().plain(images), images[:, :, 8:40, 8:40])
    assert torch.equal(unstandardised(size=4).plain(images[:, :, :9, :7]), images[:, :, 2:6, 1:5])


@pytest.mark.parametrize(("draw", "offset"), [(0.0, -0.2), (0.5, 0.0), (0.75, 0.1)])
def test_brightness_is_added_to_every_value(draw: float, offset: float) -> None:
    images = 0.3 + 0.4 * noise(1, 2, 4, 4)
    lit = unstandardised(size=4, brightness=0.2).apply(images, draws(brightness=draw))
    assert_close(lit, images + offset)


@pytest.mark.parametrize(("draw", "factor"), [(0.0, 0.2), (0.5, 1.0), (0.75, 1.4)])
def test_contrast_is_about_the_mean_of_each_channel_of_the_whole_image(
    draw: float, factor: float
) -> None:
    images = 0.4 + 0.2 * noise(1, 2, 6, 6)
    patches = unstandardised(size=4, contrast_low=0.2, contrast_high=1.8)
    mean = images.mean(dim=(2, 3), keepdim=True)
    lit = patches.apply(images, draws(contrast=draw))
    assert_close(lit, ((images - mean) * factor + mean)[:, :, :4, :4])


def test_values_that_are_not_standardised_stay_from_zero_to_one() -> None:
    patches = Patches(size=4, standardise=False)
    assert patches.keeps_range
    lit = patches.apply(noise(200, 1, 6, 6), patches.draw(200, seeded()))
    assert (lit.min(), lit.max()) == (0, 1)


def test_only_images_that_chance_names_are_flipped() -> None:
    images = noise(1, 2, 5, 5)
    patches = unstandardised(size=5, flip=True)
    assert torch.equal(patches.apply(images, draws(flip=0.49)), images.flip(3))
    assert torch.equal(patches.apply(images, draws(flip=0.5)), images)
    assert torch.equal(unstandardised(size=5).apply(images, draws(flip=0.49)), images)


@given(st.integers(0, 1000))
def test_a_standardised_patch_has_mean_zero_and_deviation_one(seed: int) -> None:
    patches = Patches(size=8)
    cut = patches.apply(noise(4, 2, 12, 12), patches.draw(4, seeded(seed)))
    assert_close(cut.mean(dim=(1, 2, 3)), torch.zeros(4), atol=1e-5, rtol=0)
    assert_close(cut.std(dim=(1, 2, 3), correction=0), torch.ones(4))
    assert not patches.keeps_range


def test_standardising_takes_pixels_and_channels_together() -> None:
    first, second = [0.1, 0.2, 0.3, 0.2], [1.0, 0.4, 0.9, 0.9]
    values = first + second
    mean = sum(values) / 8
    deviation = (sum((value - mean) ** 2 for value in values) / 8) ** 0.5
    expected = [(value - mean) / deviation for value in values]
    actual = Patches(size=2).plain(torch.tensor(values).view(1, 2, 2, 2))
    assert_close(actual, torch.tensor(expected).view(1, 2, 2, 2))


def test_standardising_is_that_of_grey_values_with_its_floor() -> None:
    image = torch.zeros(1, 1, 4, 4)
    image[..., 0, 0] = 0.5 / 255  # in grey values: deviation 0.12, below 1 / sqrt(16)
    expected = (image - image.mean()) * 255 * 4
    assert_close(Patches(size=4).plain(image), expected)
    assert torch.equal(Patches(size=4).plain(torch.ones(1, 1, 4, 4)), torch.zeros(1, 1, 4, 4))


def test_standardising_takes_back_brightness_and_contrast_of_one_channel() -> None:
    images = noise(1, 1, 6, 6)
    lit = Patches(size=6).apply(images, draws(brightness=0.9, contrast=0.1))
    assert_close(lit, Patches(size=6).plain(images), atol=1e-5, rtol=1e-5)


def test_all_settings_share_their_draws() -> None:
    assert torch.equal(Patches().draw(9, seeded()), Patches(size=4, flip=True).draw(9, seeded()))


@pytest.mark.parametrize("present", ["apply", "plain", "shape"])
def test_a_patch_larger_than_the_image_is_refused(present: str) -> None:
    patches, image = Patches(size=32), noise(1, 1, 28, 40)
    asking = {
        "apply": lambda: patches.apply(image, draws()),
        "plain": lambda: patches.plain(image),
        "shape": lambda: patches.shape((1, 28, 40)),
    }[present]
    with pytest.raises(
        ValueError,
        match=r"^A patch of 32 x 32 pixels does not fit into images of 28 x 40: set "
        r"augmentation\.size to at most 28\.$",
    ):
        asking()


def test_contrasts_come_in_order() -> None:
    with pytest.raises(ValueError, match=r"contrast_low must be at most contrast_high, got 2"):
        Patches(contrast_low=2)


def test_the_network_is_built_for_the_patch() -> None:
    model = small_model(reconstruction=NoReconstruction())
    config = small_config(model=model, augmentation=Patches(size=7))
    assert (
        build_model(config).state_dict().keys()
        == build_model(small_config(model=model)).state_dict().keys()
    )
    with pytest.raises(ValueError, match=r"A patch of 9 x 9 pixels does not fit into images of 8"):
        build_model(small_config(model=model, augmentation=Patches(size=9)))


def test_a_decoder_of_patches_draws_patches() -> None:
    config = small_config(augmentation=Patches(size=7, standardise=False))
    prediction = Training(config, seed=0).trained().predict(noise(2, 1, 8, 8))
    assert prediction.reconstructions is not None
    assert prediction.reconstructions.shape == (2, 1, 7, 7)


def test_standardised_images_are_not_reconstructed() -> None:
    with pytest.raises(
        ValueError,
        match=r"^The decoder 'fully_connected' draws values from 0 to 1, which standardised images "
        r"do not have: set model\.reconstruction=none, or let the augmentation 'patches' not "
        r"standardise\.$",
    ):
        with_settings(small_config(), {"augmentation": "patches"})


def test_a_training_on_patches_is_evaluated_on_middles() -> None:
    config = small_config(
        model=small_model(reconstruction=NoReconstruction()), augmentation=Patches(size=7)
    )
    training = Training(config, seed=0)
    assert len(list(training)) == 3
    trained, images = training.trained(), config.data.load("cpu").test.images
    assert isinstance(trained, Trained)
    assert torch.equal(trained.predict(images).classes, training.test().predictions.long())
