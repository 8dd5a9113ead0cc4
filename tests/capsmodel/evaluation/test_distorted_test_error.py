"""What each distortion does to an image, and the curve of errors over its strength."""

import math
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from capsmodel import Trained, Training
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation import Confidence, DistortedTestError
from capsmodel.evaluation.distorted_test_error import Distortion, distorted
from tests.capsmodel.small_config import small_config

CONFIG = small_config()
DISTORTIONS: tuple[Distortion, ...] = get_args(Distortion)
IMAGES = torch.rand(3, 2, 6, 6, generator=torch.Generator().manual_seed(0))
WIDE = torch.rand(2, 1, 5, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def trained() -> Trained:
    training = Training(CONFIG, seed=3)
    for _ in training:
        pass
    return training.trained()


@pytest.fixture(scope="module")
def data() -> DataSplits:
    return CONFIG.data.load("cpu")


@pytest.mark.parametrize("distortion", DISTORTIONS)
def test_the_curve_has_the_plain_error_where_nothing_is_changed(
    distortion: Distortion, trained: Trained, data: DataSplits
) -> None:
    evaluation = DistortedTestError(distortion=distortion)
    findings = evaluation.evaluate(trained, data)
    plain = (trained.predict(data.test.images).classes != data.test.labels).double()
    unchanged = 1 if distortion in {"scale", "contrast"} else 0
    name, calibration = (
        metric.name for metric in evaluation.metrics if metric.at and metric.at.value == unchanged
    )
    assert torch.equal(findings.images[name], plain)
    assert max(findings.metrics[other] for other in findings.images) > findings.metrics[name]
    confidence = Confidence(split="test").evaluate(trained, data).metrics
    assert findings.metrics[calibration] == pytest.approx(confidence["calibration_error"])
    assert evaluation.primary == "error"


def test_a_rotation_is_counted_in_both_directions(trained: Trained, data: DataSplits) -> None:
    errors = DistortedTestError(values=(0, 30)).evaluate(trained, data).images["error.angle_30"]
    both = [
        trained.predict(distorted(data.test.images, "rotation", degrees, range(0))).classes
        != data.test.labels
        for degrees in (30.0, -30.0)
    ]
    assert torch.equal(errors, torch.stack(both).double().mean(dim=0))


def test_a_right_angle_turns_pixels_into_pixels() -> None:
    turned = distorted(IMAGES, "rotation", 90.0, range(3))
    torch.testing.assert_close(turned, IMAGES.rot90(1, dims=(2, 3)))
    torch.testing.assert_close(distorted(turned, "rotation", -90.0, range(3)), IMAGES)


def sampled_by_hand(images: Tensor, matrix: Tensor) -> Tensor:
    """Return images sampled bilinearly about their centre, pixel by pixel."""
    height, width = images.shape[2:]
    centre = torch.tensor([(height - 1) / 2, (width - 1) / 2])
    result = torch.zeros_like(images)
    for row in range(height):
        for column in range(width):
            at = matrix @ (torch.tensor([row, column]) - centre) + centre
            for r in (math.floor(at[0]), math.floor(at[0]) + 1):
                for c in (math.floor(at[1]), math.floor(at[1]) + 1):
                    if 0 <= r < height and 0 <= c < width:
                        weight = (1 - abs(at[0] - r)) * (1 - abs(at[1] - c))
                        result[:, :, row, column] += weight * images[:, :, r, c]
    return result


def test_images_that_are_not_square_are_turned_by_the_same_angle() -> None:
    cosine, sine = math.cos(math.radians(30)), math.sin(math.radians(30))
    by_hand = sampled_by_hand(WIDE, torch.tensor([[cosine, sine], [-sine, cosine]]))
    turned = distorted(WIDE, "rotation", 30.0, range(2))
    torch.testing.assert_close(turned, by_hand, atol=1e-5, rtol=0)


@pytest.mark.parametrize("factor", [0.6, 1.7])
def test_images_are_scaled_about_their_centre(factor: float) -> None:
    by_hand = sampled_by_hand(WIDE, torch.eye(2) / factor)
    scaled = distorted(WIDE, "scale", factor, range(2))
    torch.testing.assert_close(scaled, by_hand, atol=1e-5, rtol=0)


def test_noise_belongs_to_the_image_and_not_to_its_batch() -> None:
    images = torch.full((4, 1, 20, 20), 0.5)
    all_at_once = distorted(images, "noise", 0.1, range(4))
    alone = distorted(images[2:], "noise", 0.1, range(2, 4))
    assert torch.equal(all_at_once[2:], alone)
    assert not torch.equal(alone[0], alone[1])
    assert (all_at_once - 0.5).std().item() == pytest.approx(0.1, rel=0.1)
    stronger = distorted(images, "noise", 0.2, range(4))
    torch.testing.assert_close(
        (stronger - 0.5).clamp(-0.4, 0.4), 2 * (all_at_once - 0.5).clamp(-0.2, 0.2)
    )


def test_a_blur_spreads_a_point_and_leaves_one_grey_as_it_is() -> None:
    point = torch.zeros(1, 2, 41, 41)
    point[0, 1, 20, 20] = 1
    blurred = distorted(point, "blur", 2.0, range(1))
    assert blurred[0, 0].abs().max() == 0
    assert blurred.sum().item() == pytest.approx(1, rel=1e-5)
    places = torch.arange(41.0) - 20
    assert (blurred[0, 1].sum(dim=0) * places.square()).sum().item() == pytest.approx(4, rel=0.05)
    grey = torch.full((1, 1, 8, 8), 0.3)
    torch.testing.assert_close(distorted(grey, "blur", 1.5, range(1)), grey)


def test_a_square_of_each_image_is_black() -> None:
    white = torch.ones(50, 2, 8, 8)
    covered = distorted(white, "occlusion", 0.375, range(50))
    assert bool(((1 - covered).sum(dim=(2, 3)) == 9).all())
    assert torch.equal(covered[:, 0], covered[:, 1])
    assert not bool(covered.mean(dim=0).eq(1).all())
    assert bool((covered[:, 0] == 0).any(dim=0).all())  # every pixel is in the square of some image
    assert torch.equal(distorted(white[:1], "occlusion", 1.0, range(1)), torch.zeros(1, 2, 8, 8))


def test_contrast_moves_values_towards_the_mean_of_their_channel() -> None:
    means = IMAGES.mean(dim=(2, 3), keepdim=True)
    pale = distorted(IMAGES, "contrast", 0.5, range(3))
    torch.testing.assert_close(pale - means, 0.5 * (IMAGES - means))


def test_images_are_not_written_to_and_stay_in_their_range() -> None:
    before = IMAGES.clone()
    for distortion in DISTORTIONS:
        changed = distorted(IMAGES, distortion, 0.7, range(3))
        assert changed.min() >= 0
        assert changed.max() <= 1
    assert torch.equal(IMAGES, before)


def test_grey_values_in_bytes_are_read_as_numbers(trained: Trained, data: DataSplits) -> None:
    in_bytes = (data.test.images * 255).round()
    evaluation = DistortedTestError(values=(0, 20))
    findings = [
        evaluation.evaluate(
            trained, DataSplits(data.train, data.validation, Images(images, data.test.labels))
        ).metrics
        for images in (in_bytes.to(torch.uint8), in_bytes / 255)
    ]
    assert findings[0] == findings[1]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"values": (5, 10)}, "values of 'rotation' must include 0, which changes nothing, got 5"),
        ({"values": (0, 200)}, "values of 'rotation' must be from 0 to 180, got 200"),
        ({"distortion": "scale", "values": (0, 1)}, "must be from 0.01 to 100, got 0"),
        ({"values": (0,)}, "needs two or more values of angle"),
    ],
)
def test_values_that_cannot_be_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        DistortedTestError(**settings)
