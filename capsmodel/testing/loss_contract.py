"""The laws of every loss."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.losses import Loss
from capsmodel.models import Outputs
from capsmodel.testing.part_contract import PartContract

_BATCH, _CLASSES = 6, 4
_LABELS = torch.tensor([0, 1, 2, 3, 1, 0])


class LossContract(PartContract):
    """The laws of every loss. Pass one without class weights, as these distinguish classes.

    class TestMyLoss(LossContract):
        @pytest.fixture
        def loss(self) -> Loss:
            return MyLoss()
    """

    @pytest.fixture
    def loss(self) -> Loss:
        """Return the loss under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `loss`.")

    @pytest.fixture
    def part(self, loss: Loss) -> Loss:
        """Return the loss, for the laws of every part."""
        return loss

    @pytest.mark.parametrize("progress", [0.0, 0.5, 1.0])
    def test_it_is_one_finite_number(self, loss: Loss, progress: float) -> None:
        """This holds at every moment of a training."""
        value = loss.loss(_lengths(), _LABELS, progress)
        assert value.shape == ()
        assert bool(value.isfinite())

    @pytest.mark.parametrize("progress", [0.0, 0.5, 1.0])
    def test_it_is_the_mean_of_the_images_losses(self, loss: Loss, progress: float) -> None:
        """No image affects another one."""
        pairs = zip(_lengths().split(1), _LABELS.split(1), strict=True)
        alone = torch.stack([loss.loss(lengths, label, progress) for lengths, label in pairs])
        assert_close(loss.loss(_lengths(), _LABELS, progress), alone.mean())

    def test_classes_have_no_names(self, loss: Loss) -> None:
        """Permuting classes and labels alike changes nothing.

        Class weights distinguish the classes, so this holds only without them.
        """
        order = torch.tensor([2, 0, 3, 1])
        renamed = order.argsort()[_LABELS]
        assert_close(
            loss.loss(_lengths()[:, order], renamed, 0.5), loss.loss(_lengths(), _LABELS, 0.5)
        )

    def test_a_longer_true_capsule_is_never_worse(self, loss: Loss) -> None:
        """Its gradient is at most zero."""
        gradient = _gradient(loss, _lengths())
        assert bool((gradient.gather(1, _LABELS.unsqueeze(1)) <= 0).all())

    def test_a_longer_wrong_capsule_is_never_better(self, loss: Loss) -> None:
        """Its gradient is at least zero."""
        gradient = _gradient(loss, _lengths()).scatter(1, _LABELS.unsqueeze(1), 0.0)
        assert bool((gradient >= 0).all())

    @pytest.mark.parametrize("length", [0.0, 0.5, 1.0])
    def test_gradients_are_finite(self, loss: Loss, length: float) -> None:
        """This includes dead and saturated capsules."""
        lengths = torch.full((_BATCH, _CLASSES), length, dtype=torch.float64)
        assert bool(_gradient(loss, lengths).isfinite().all())

    def test_the_loss_has_the_number_type_of_the_lengths(self, loss: Loss) -> None:
        """Single precision stays single."""
        assert loss.loss(_lengths().float(), _LABELS, 0.5).dtype == torch.float32

    def test_outputs_without_logits_are_judged_by_their_lengths(self, loss: Loss) -> None:
        """Lengths are the capsules' only beliefs in the classes."""
        judged = loss.judge(Outputs(_lengths(), None), _LABELS, 0.5)
        assert torch.equal(judged, loss.loss(_lengths(), _LABELS, 0.5))


def _lengths() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(_BATCH, _CLASSES, generator=generator, dtype=torch.float64)


def _gradient(loss: Loss, lengths: Tensor) -> Tensor:
    lengths = lengths.clone().requires_grad_()
    loss.loss(lengths, _LABELS, 0.5).backward()
    assert lengths.grad is not None
    return lengths.grad
