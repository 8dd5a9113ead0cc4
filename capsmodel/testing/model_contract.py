"""The laws of every model."""

from copy import deepcopy
from typing import NamedTuple, cast

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.models import ForeignModel, Model, Network, Outputs
from capsmodel.testing.part_contract import PartContract

_BATCH, _CLASSES = 4, 3
_IMAGE_SHAPE = (2, 14, 15)  # no two sizes are the same, so that none is taken for another
_LABELS = torch.tensor([2, 0, 1, 1])


class _NamedOutput(NamedTuple):
    """The tensors of a network's outputs."""

    name: str
    value: Tensor


class ModelValuesContract:
    """The laws of a model's numbers and gradients.

    They are enough for other settings of a model that keeps all of `ModelContract` in some.
    """

    @pytest.fixture
    def model(self) -> Model:
        """Return the model under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `model`.")

    def test_each_image_gets_a_belief_in_each_class(self, model: Model) -> None:
        """All other outputs have their shape too."""
        outputs = _outputs(_network(model), _images())
        assert outputs.lengths.shape == (_BATCH, _CLASSES)
        assert 0 <= outputs.lengths.min() <= outputs.lengths.max() <= 1 + 1e-12
        if outputs.reconstructions is not None:
            assert outputs.reconstructions.shape == (_BATCH, *_IMAGE_SHAPE)
        if outputs.logits is not None:
            assert_close(outputs.logits.softmax(dim=1), outputs.lengths)
        if outputs.poses is not None:
            assert outputs.poses.shape[:2] == (_BATCH, _CLASSES)

    def test_couplings_are_told_without_a_gradient(self, model: Model) -> None:
        """They are for inspection."""
        for couplings in _outputs(_network(model), _images()).couplings.values():
            assert not couplings.values.requires_grad
            assert bool((couplings.values >= 0).all())

    @pytest.mark.parametrize("brightness", [0.0, 1e-20, 1.0])
    def test_outputs_and_gradients_are_finite(self, model: Model, brightness: float) -> None:
        """This includes black images and faint ones."""
        network, images = _network(model).train(), brightness * _images()
        outputs = _outputs(network, images, _LABELS)
        loss = outputs.lengths.square().sum() + network.penalty(outputs, images)
        loss.backward()
        assert loss.shape == ()
        assert all(bool(output.value.isfinite().all()) for output in _named_outputs(outputs))
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, f"{name} has no gradient"
            assert bool(parameter.grad.isfinite().all()), name

    def test_every_parameter_learns(self, model: Model) -> None:
        """None is cut off from the loss."""
        network, images = _network(model).train(), _images()
        outputs = _outputs(network, images, _LABELS)
        weights = torch.rand(outputs.lengths.shape, generator=_seeded(4), dtype=images.dtype)
        ((weights * outputs.lengths).sum() + network.penalty(outputs, images)).backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, f"{name} has no gradient"
            assert bool((parameter.grad != 0).any()), f"{name} never moves"

    def test_an_image_is_judged_the_same_alone_and_in_a_batch(self, model: Model) -> None:
        """No image affects another one outside training."""
        network = _network(model)
        together = _outputs(network, _images())
        alone = [_outputs(network, image) for image in _images().split(1)]
        assert_close(torch.cat([outputs.lengths for outputs in alone]), together.lengths)
        if together.reconstructions is not None:
            drawn = [
                outputs.reconstructions for outputs in alone if outputs.reconstructions is not None
            ]
            assert_close(torch.cat(drawn), together.reconstructions)

    def test_the_seed_alone_decides_the_initial_values(self, model: Model) -> None:
        """Every value is overwritten, so the old contents of the storage do not matter."""
        first, repeated, other = (_network(model, seed).state_dict() for seed in (0, 0, 1))
        assert all(bool(value.isfinite().all()) for value in first.values())
        assert all(torch.equal(value, repeated[name]) for name, value in first.items())
        assert not all(torch.equal(value, other[name]) for name, value in first.items())


class ModelContract(ModelValuesContract, PartContract):
    """The laws of every model.

        class TestMyModel(ModelContract):
            @pytest.fixture
            def model(self) -> Model:
                return MyModel()

    A small one is enough: it sees images of 14 by 15 pixels with two channels.
    """

    @pytest.fixture
    def part(self, model: Model) -> Model:
        """Return the model, for the laws of every part."""
        return model

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_number_type_and_device_are_those_of_the_images(
        self, model: Model, dtype: torch.dtype
    ) -> None:
        """Single precision stays single."""
        images = _images().to(dtype)
        for output in _named_outputs(_outputs(_network(model).to(dtype), images)):
            assert output.value.dtype == dtype, output.name
            assert output.value.device == images.device, output.name

    def test_the_order_of_the_images_does_not_matter(self, model: Model) -> None:
        """Images of a batch have no order."""
        network, order = _network(model), torch.arange(_BATCH).roll(1)
        assert_close(
            _outputs(network, _images()[order]).lengths, _outputs(network, _images()).lengths[order]
        )

    def test_how_the_images_lie_in_memory_does_not_matter(self, model: Model) -> None:
        """The layout is a matter of speed."""
        network, images = _network(model), _images()
        other = images.contiguous(memory_format=torch.channels_last)
        assert_close(_outputs(network, other).lengths, _outputs(network, images).lengths)

    @pytest.mark.parametrize("is_training", [False, True])
    def test_the_same_chance_gives_the_same_outputs(self, model: Model, is_training: bool) -> None:
        """All random numbers come from the generator, none from the global one."""
        before = torch.get_rng_state()
        first, second = (
            _outputs(_network(model).train(is_training), _images(), _LABELS) for _ in range(2)
        )
        for output, other in zip(_named_outputs(first), _named_outputs(second), strict=True):
            assert torch.equal(output.value, other.value), output.name
        assert torch.equal(torch.get_rng_state(), before)

    def test_construction_sets_the_weights(self, model: Model) -> None:
        """They come from PyTorch's default generator, as in PyTorch's own layers."""
        first, repeated, other = (_built(model, seed).state_dict() for seed in (0, 0, 1))
        assert all(bool(value.isfinite().all()) for value in first.values())
        assert all(torch.equal(value, repeated[name]) for name, value in first.items())
        assert not all(torch.equal(value, other[name]) for name, value in first.items())

    def test_images_alone_are_enough(self, model: Model) -> None:
        """Labels and a generator are optional; a copy returns the same."""
        network = _built(model, seed=0).double().eval()
        lengths = [_alone(network), _alone(network), _alone(deepcopy(network))]
        assert all(bool(value.isfinite().all()) for value in lengths)
        assert lengths[0].shape == (_BATCH, _CLASSES)
        assert torch.equal(lengths[0], lengths[1])
        assert torch.equal(lengths[0], lengths[2])

    def test_it_is_built_without_storage_in_single_precision(self, model: Model) -> None:
        """Weights have no other type. A foreign module has storage, as its constructor draws."""
        with torch.device("meta"):
            network = model.build(_IMAGE_SHAPE, _CLASSES)
        for name, value in network.named_parameters():
            assert value.is_meta or isinstance(model, ForeignModel), name
            assert value.dtype == torch.float32, name

    def test_what_it_learned_can_be_saved_and_restored(self, model: Model) -> None:
        """Its state determines its outputs."""
        trained, fresh = _network(model), _network(model, seed=1)
        trained.train()
        _outputs(trained, _images(), _LABELS)
        trained.eval()
        fresh.load_state_dict(trained.state_dict())
        restored, expected = (_outputs(network, _images()) for network in (fresh, trained))
        for output, other in zip(_named_outputs(restored), _named_outputs(expected), strict=True):
            assert torch.equal(output.value, other.value), output.name

    def test_labels_choose_what_is_drawn_and_nothing_else(self, model: Model) -> None:
        """Beliefs do not depend on the labels."""
        network = _network(model)
        with_labels, without = (_outputs(network, _images(), labels) for labels in (_LABELS, None))
        assert torch.equal(with_labels.lengths, without.lengths)
        winners = _outputs(network, _images(), without.lengths.argmax(dim=1))
        if without.reconstructions is not None and winners.reconstructions is not None:
            assert torch.equal(winners.reconstructions, without.reconstructions)


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _images() -> Tensor:
    return torch.rand(_BATCH, *_IMAGE_SHAPE, generator=_seeded(1), dtype=torch.float64)


def _network(model: Model, seed: int = 0) -> Network:
    """Return a network whose storage was full of NaN before it was initialised."""
    with torch.device("meta"):
        network = model.build(_IMAGE_SHAPE, _CLASSES)
    network.to_empty(device="cpu")
    for value in network.state_dict().values():
        value.fill_(torch.nan if value.is_floating_point() else -1)
    network.initialise(seed)
    return network.double().eval()


def _built(model: Model, seed: int) -> Network:
    """Return a network as its constructor leaves it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return model.build(_IMAGE_SHAPE, _CLASSES)


def _alone(network: Network) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return cast(Outputs, network(_images())).lengths


def _outputs(network: Network, images: Tensor, labels: Tensor | None = None) -> Outputs:
    return cast(Outputs, network(images, labels, _seeded(2)))


def _named_outputs(outputs: Outputs) -> list[_NamedOutput]:
    named = {
        "lengths": outputs.lengths,
        "reconstructions": outputs.reconstructions,
        "logits": outputs.logits,
        "poses": outputs.poses,
    }
    return [_NamedOutput(name, value) for name, value in named.items() if value is not None]
