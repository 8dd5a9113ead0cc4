from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from capsmodel import Trained, Training, tensor_file
from capsmodel.data import Digits
from capsmodel.models import CapsNet, MatrixCapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import RandomRouting
from tests.capsmodel.small_config import small_config, small_model

RANDOM = small_config(model=small_model(routing=RandomRouting()))
MATRIX = MatrixCapsNet(
    conv_channels=2,
    conv_kernel=3,
    conv_stride=1,
    primary_types=2,
    first_types=2,
    first_stride=1,
    second_types=0,
)
IMAGES = Digits().load("cpu").test.images[:300]


@pytest.fixture(scope="module")
def training() -> Training:
    trained = Training(RANDOM, seed=3)
    for _ in trained:
        pass
    return trained


@pytest.fixture(scope="module")
def trained(training: Training) -> Trained:
    return training.trained()


def test_predictions_are_those_of_the_test(training: Training, trained: Trained) -> None:
    classes = trained.predict(IMAGES).classes
    assert torch.equal(classes, training.test().predictions[:300].long())


def test_a_prediction_has_lengths_and_reconstructions_of_every_image(trained: Trained) -> None:
    prediction = trained.predict(IMAGES)
    assert prediction.lengths.shape == (300, 10)
    assert torch.equal(prediction.classes, prediction.lengths.argmax(dim=1))
    assert prediction.reconstructions is not None
    assert prediction.reconstructions.shape == IMAGES.shape


def test_without_a_decoder_there_are_no_reconstructions() -> None:
    config = small_config(model=small_model(reconstruction=NoReconstruction()))
    assert Training(config, seed=0).trained().predict(IMAGES[:2]).reconstructions is None


def test_an_image_is_predicted_the_same_alone_as_among_others(trained: Trained) -> None:
    # Random routing included: in evaluation its one draw belongs to the seed.
    together = trained.predict(IMAGES).lengths
    assert_close(trained.predict(IMAGES[299:]).lengths, together[299:])


@pytest.mark.parametrize(
    "form",
    [
        lambda image: image,
        lambda image: image[0],
        lambda image: image[0, 0],
        lambda image: image[:, 0],
        lambda image: image.numpy(),
        lambda image: image[0, 0].double().numpy(),
    ],
    ids=["batch", "channels", "plain", "plain batch", "array", "plain double array"],
)
def test_images_come_in_several_forms(trained: Trained, form: object) -> None:
    assert callable(form)
    prediction = trained.predict(form(IMAGES[:1]))
    assert torch.equal(prediction.lengths, trained.predict(IMAGES[:1]).lengths)


@pytest.mark.parametrize(
    "shape", [(0, 8, 8), (0, 1, 8, 8), (8,), (), (2, 2, 2, 2), (1, 1, 1, 8, 8)]
)
def test_what_is_no_image_is_refused(trained: Trained, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="is no image: hand in "):
        trained.predict(torch.zeros(shape))


@pytest.mark.parametrize("value", [16.0, -0.1, np.nan, np.inf])
@pytest.mark.parametrize("shape", [(8, 8), (9, 9)])
def test_numbers_that_are_not_from_zero_to_one_are_refused(
    trained: Trained, value: float, shape: tuple[int, int]
) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 1, got"):
        trained.predict(np.full(shape, value))


def test_a_network_whose_size_must_fit_predicts_images_of_any_size() -> None:
    trained = Training(small_config(model=MATRIX), seed=0).trained()
    for side in (7, 8, 9, 32):
        assert trained.predict(torch.zeros(2, 1, side, side)).lengths.shape == (2, 10)


def test_a_trained_network_stays_as_it_is_when_its_training_goes_on() -> None:
    training = Training(RANDOM, seed=3)
    trained = training.trained()
    before = trained.predict(IMAGES).lengths
    next(iter(training))
    assert torch.equal(trained.predict(IMAGES).lengths, before)


def test_saved_weights_predict_the_same(trained: Trained, tmp_path: Path) -> None:
    path = str(tmp_path / "weights.safetensors")  # a text or a `Path`
    trained.save(path)
    loaded = Trained.load(path, RANDOM, seed=3)
    assert torch.equal(loaded.predict(IMAGES).lengths, trained.predict(IMAGES).lengths)


def test_saved_weights_state_their_schema_version(trained: Trained, tmp_path: Path) -> None:
    trained.save(tmp_path / "weights.safetensors")
    assert tensor_file.read_facts(tmp_path / "weights.safetensors") == {"schema_version": 1}


def test_weights_of_another_shape_are_refused_by_name(trained: Trained, tmp_path: Path) -> None:
    trained.save(tmp_path / "weights.safetensors")
    other = small_config(model=small_model(conv_channels=16))
    with pytest.raises(ValueError, match=r"convolution\.\w+ is torch.float32 of shape \[8.*\[16"):
        Trained.load(tmp_path / "weights.safetensors", other, seed=3)


def test_weights_that_the_model_lacks_are_refused_by_name(trained: Trained, tmp_path: Path) -> None:
    trained.save(tmp_path / "weights.safetensors")
    other = small_config(model=small_model(reconstruction=NoReconstruction()))
    with pytest.raises(ValueError, match=r"holds 'decoder\.layers"):
        Trained.load(tmp_path / "weights.safetensors", other, seed=3)


def test_weights_of_another_number_type_are_refused(tmp_path: Path) -> None:
    network = small_model().build((1, 8, 8), 10).double()
    (tmp_path / "weights").write_bytes(
        tensor_file.encoded(network.state_dict(), {"schema_version": 1})
    )
    with pytest.raises(ValueError, match=r"is torch.float64 of .*, expected torch.float32"):
        Trained.load(tmp_path / "weights", RANDOM, seed=3)


def test_a_model_too_large_for_memory_is_refused_before_it_is_allocated(
    trained: Trained, tmp_path: Path
) -> None:
    trained.save(tmp_path / "weights.safetensors")
    huge = CapsNet(conv_channels=10**8, conv_kernel=3, primary_kernel=3)
    with pytest.raises(ValueError, match="does not fit the config"):
        Trained.load(tmp_path / "weights.safetensors", small_config(model=huge), seed=3)
