from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from capsmodel import Trained, Training
from capsmodel.layers.convolution import Window
from capsmodel.models import CapsNet, Network, Outputs
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction
from capsmodel.routing import DynamicRouting, UniformRouting
from capsmodel.squash import ExponentialSquash
from tests.capsmodel.small_config import small_config, small_model


def network(seed: int = 0, **changes: Any) -> Network:
    built = small_model(**changes).build((1, 8, 8), 10)
    built.initialise(seed)
    return built


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


IMAGES = torch.rand(5, 1, 8, 8, generator=seeded())
LABELS = torch.tensor([0, 1, 2, 3, 4])


@pytest.mark.parametrize(
    ("reconstruction", "expected"),
    [(FullyConnectedDecoder(), 8_215_568), (NoReconstruction(), 6_804_224)],
)
def test_the_papers_network_has_the_papers_parameters(reconstruction: Any, expected: int) -> None:
    with torch.device("meta"):
        built = CapsNet(reconstruction=reconstruction).build((1, 28, 28), 10)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


@pytest.mark.parametrize(
    ("image_shape", "num_classes", "expected"),
    [((1, 36, 36), 10, 11_361_808), ((1, 40, 40), 10, 13_475_648), ((2, 32, 32), 5, 9_327_104)],
)
def test_other_image_sizes_have_the_published_parameters(
    image_shape: tuple[int, int, int], num_classes: int, expected: int
) -> None:
    with torch.device("meta"):
        built = CapsNet().build(image_shape, num_classes)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


def test_an_image_too_small_for_the_kernels_is_refused() -> None:
    with pytest.raises(ValueError, match="A kernel of 9 pixels does not fit 8 pixels"):
        CapsNet().build((1, 8, 8), 10)


def test_a_forward_pass_gives_a_length_for_each_class_and_an_image() -> None:
    outputs = network()(IMAGES, LABELS, seeded())
    assert outputs.lengths.shape == (5, 10)
    assert 0 <= outputs.lengths.min() <= outputs.lengths.max() < 1
    assert outputs.reconstructions.shape == IMAGES.shape


def test_without_labels_the_winner_is_drawn() -> None:
    built = network()
    winners = built(IMAGES, None, seeded()).lengths.argmax(dim=1)
    drawn = built(IMAGES, None, seeded()).reconstructions
    assert torch.equal(drawn, built(IMAGES, winners, seeded()).reconstructions)


def test_with_labels_their_capsules_are_drawn() -> None:
    built = network()
    drawn = built(IMAGES, LABELS, seeded()).reconstructions
    assert not torch.equal(drawn, built(IMAGES, LABELS + 5, seeded()).reconstructions)


def test_an_image_gives_the_same_alone_and_in_a_batch() -> None:
    built = network().double()
    images = IMAGES.double()
    together = built(images, LABELS, seeded())
    alone = [built(images[i : i + 1], LABELS[i : i + 1], seeded()) for i in range(5)]
    assert_close(torch.cat([output.lengths for output in alone]), together.lengths)
    drawn = torch.cat([output.reconstructions for output in alone])
    assert_close(drawn, together.reconstructions)


def test_the_penalty_is_the_weighted_squared_error_summed_over_an_image() -> None:
    built = network(reconstruction=FullyConnectedDecoder(hidden=(4,), weight=0.01))
    outputs = Outputs(torch.zeros(5, 10), IMAGES + 0.5)
    assert_close(built.penalty(outputs, IMAGES), torch.tensor(0.01 * 64 * 0.25))


def test_without_a_decoder_there_is_no_penalty() -> None:
    built = network(reconstruction=NoReconstruction())
    outputs = built(IMAGES, LABELS, seeded())
    assert outputs.reconstructions is None
    assert built.penalty(outputs, IMAGES).item() == 0


def test_uniform_and_one_iteration_train_the_network_bit_identically() -> None:
    gradients: list[list[torch.Tensor]] = []
    for routing in (UniformRouting(), DynamicRouting(iterations=1)):
        built = network(routing=routing)
        outputs = built(IMAGES, LABELS, seeded())
        loss = outputs.lengths.square().sum() + built.penalty(outputs, IMAGES)
        gradients.append(list(torch.autograd.grad(loss, list(built.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))


def test_arms_share_the_initial_weights_of_the_layers_that_they_have_in_common() -> None:
    with_decoder = network(seed=3).state_dict()
    without = network(seed=3, reconstruction=NoReconstruction()).state_dict()
    assert len(without) < len(with_decoder)
    assert all(torch.equal(value, with_decoder[name]) for name, value in without.items())


def test_another_seed_gives_other_weights() -> None:
    first, second = network(seed=0).state_dict(), network(seed=1).state_dict()
    assert not any(torch.equal(first[n], second[n]) for n in first if n.endswith("weight"))


def test_initial_weights_leave_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    with torch.device("meta"):
        built = small_model().build((1, 8, 8), 10)
    built.to_empty(device="cpu").initialise(0)
    assert torch.equal(torch.get_rng_state(), before)


def test_windows_of_the_network_are_those_of_its_settings() -> None:
    built = small_model(conv_stride=2, conv_padding=1, primary_stride=1, primary_padding=1)
    first, second = Window(3, 2, 1), Window(3, 1, 1)
    side = second.positions(first.positions(8))
    weight = built.build((1, 8, 8), 10).state_dict()["capsules.weight"]
    assert weight.shape[0] == 2 * side**2


def lengths_in_training(built: Network, seed: int) -> torch.Tensor:
    return built.train()(IMAGES, LABELS, seeded(seed)).lengths


def test_whole_primary_capsules_are_dropped_in_training() -> None:
    built = network(dropout=0.5)
    first, repeated, other = (lengths_in_training(built, seed) for seed in (0, 0, 1))
    assert torch.equal(first, repeated)
    assert not torch.equal(first, other)
    primary = built.primary(built.convolution(IMAGES))
    ratios = built._dropped(primary, seeded()) / primary
    assert torch.equal(ratios, ratios[:, :, :1].expand_as(ratios))
    assert sorted(ratios.unique().tolist()) == [0.0, 2.0]


def test_in_evaluation_no_capsule_is_dropped() -> None:
    chance = seeded()
    before = chance.get_state()
    lengths = network(dropout=0.5).eval()(IMAGES, None, chance).lengths
    assert torch.equal(lengths, network().eval()(IMAGES, None, chance).lengths)
    assert torch.equal(chance.get_state(), before)


def test_batch_normalisation_looks_at_the_batch_in_training_alone() -> None:
    built = network(batch_norm=True)
    alone = torch.cat(
        [lengths_in_training(built, 0)[:1], built(IMAGES[1:], None, seeded()).lengths]
    )
    assert not torch.allclose(alone, lengths_in_training(built, 0), atol=1e-6)
    built = built.double().eval()
    images = IMAGES.double()
    together = built(images, None, seeded()).lengths
    assert_close(
        torch.cat([built(image, None, seeded()).lengths for image in images.split(1)]), together
    )


def test_a_training_with_batch_normalisation_can_be_saved_and_restored(tmp_path: Path) -> None:
    config = small_config(model=small_model(batch_norm=True, dropout=0.2))
    unbroken, broken = Training(config, 0), Training(config, 0)
    for _ in unbroken:
        pass
    next(iter(broken))
    broken.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config, 0)
    for _ in restored:
        pass
    figures = [(epoch.train_loss, epoch.validation_loss) for epoch in unbroken.history]
    assert figures == [(epoch.train_loss, epoch.validation_loss) for epoch in restored.history]
    restored.trained().save(tmp_path / "weights")
    loaded = Trained.load(tmp_path / "weights", config, 0)
    assert_close(loaded.predict(IMAGES).lengths, unbroken.trained().predict(IMAGES).lengths)


def test_the_matrices_deviation_is_scaled() -> None:
    first, second = (network(init_scale=scale).state_dict() for scale in (1.0, 3.0))
    assert_close(second["capsules.weight"], 3 * first["capsules.weight"])
    assert torch.equal(second["primary.convolution.weight"], first["primary.convolution.weight"])


def test_the_squash_of_the_primary_capsules_is_a_setting() -> None:
    built = network(primary_squash=ExponentialSquash())
    assert built.primary.squash == ExponentialSquash()
    assert not torch.equal(
        built(IMAGES, None, seeded()).lengths, network()(IMAGES, None, seeded()).lengths
    )


def test_same_padding_keeps_the_size_at_stride_one_and_halves_it_at_two() -> None:
    built = small_model(conv_padding="same", primary_padding="same").build((1, 8, 7), 10)
    assert built.state_dict()["capsules.weight"].shape[0] == 2 * 4 * 4
    built.initialise(0)
    assert built(torch.rand(2, 1, 8, 7), None, seeded()).lengths.shape == (2, 10)


def test_a_padding_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError):
        CapsNet.model_validate({"conv_padding": "valid"})
