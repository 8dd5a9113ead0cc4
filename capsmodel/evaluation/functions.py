"""Attacks and evaluations as functions of any module, outside a sweep."""

from collections.abc import Generator
from contextlib import contextmanager

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from capsmodel.data import DataSplits
from capsmodel.evaluation.adversarial_error import AdversarialError
from capsmodel.evaluation.attacks import PGD, Attack, Ball, Norm
from capsmodel.evaluation.base import Evaluation, Findings, checked_findings
from capsmodel.evaluation.examined import NotGiven, examined, modes_restored
from capsmodel.evaluation.victim import Objective, RecordedVictim
from capsmodel.losses import Loss
from capsmodel.models import Returns
from capsmodel.training.trained import EVALUATION_BATCH_SIZE

LabelledImages = tuple[Float[Tensor, "images channels height width"], Shaped[Tensor, "images ..."]]

_USUAL = PGD()


def attack(
    network: nn.Module,
    images: Float[Tensor, "images channels height width"],
    labels: Shaped[Tensor, "images ..."],
    method: Attack = _USUAL,
    *,
    epsilon: float = 0.1,
    norm: Norm = "linf",
    objective: Objective = "loss",
    is_targeted: bool = False,
    to_last_step: bool = False,
    loss: Loss | None = None,
    returns: Returns | None = None,
    seed: int = 0,
) -> Float[Tensor, "images channels height width"]:
    """Return images that are changed within bounds so that a network errs on them.

    An image that the network has wrong as it is stays so. Any other is changed until the network
    errs, so the network's error on the returned images is that of `AdversarialError`; where it
    never errs, the image is the last that was tried. The network is judged in evaluation mode; each
    module of it has its own mode afterwards, and no gradient is left in its weights.

    Args:
        network: A module that is called with images, on their device.
        images: Values from 0 to 1, and from 0 to 1 afterwards: what standardises images belongs
            into the network.
        labels: The true class of each image; or, where it may be of several, whether it is of each.
        method: How changes are searched for.
        epsilon: Largest change, above 0.
        norm: How it is measured: "linf" by the largest change of a value, "l2" by the Euclidean
            norm.
        objective: What gradients are of, as in `AdversarialError`: "loss", "lengths" or "votes".
        is_targeted: Whether the class after the true one is the goal, not any wrong one.
        to_last_step: Whether every image, also one that is wrong as it is, is changed to the last
            step, as adversarial training does it; the network need not err there, though it did at
            an earlier step.
        loss: The loss of the objective "loss", with its schedules at their end; None for
            `CrossEntropy` where the network has logits, else `MarginLoss`, and for `Sigmoid` where
            images are of several classes.
        returns: What the network returns: "logits", "lengths", "poses" of class capsules, or
            "outputs". None for what its type says; a tensor is taken for logits.
        seed: Seed of random starts and of all chance in the network. PyTorch's default generators
            stay as they are.

    Raises:
        UnsuitableNetworkError: If the objective is "votes", and no routing can be given shares.
        ValueError: If arguments do not fit each other, or the attack follows gradients and the
            network has none.

    Example:
        >>> import torch
        >>> from capsmodel.evaluation import FGSM, attack
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2, bias=False))
        >>> weights = torch.tensor([[1.0, 1.0, -1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
        >>> network[1].weight = torch.nn.Parameter(weights)
        >>> image = torch.full((1, 1, 2, 2), 0.5)
        >>> attack(network, image, torch.tensor([0]), FGSM(), epsilon=0.25)
        tensor([[[[0.2500, 0.2500],
                  [0.7500, 0.2500]]]])
    """
    AdversarialError(attack=method, epsilons=(0.0, epsilon), norm=norm, objective=objective)
    if to_last_step and not method.follows_gradient:
        raise ValueError(
            f"to_last_step must be false for the attack '{method.kind}', whose last point need not "
            f"be its best."
        )
    with _apart(network):
        images = images.detach().clone()
        trained = examined(network, images, labels, loss=loss, returns=returns, seed=seed)
        victim = RecordedVictim(
            trained,
            trained.checked(images, labels, "the images"),
            objective=objective,
            is_targeted=is_targeted,
            ends_at_goal=not to_last_step,
        )
        rows = torch.arange(len(images), device=images.device)
        if not to_last_step:
            parts = rows.split(EVALUATION_BATCH_SIZE)
            rows = rows[~torch.cat([victim.judge(images[part], part)[0] for part in parts])]
        if len(rows):
            method.broken(victim, rows, Ball(norm, epsilon))
        return victim.changed


def examine(
    network: nn.Module,
    evaluation: Evaluation,
    images: Float[Tensor, "images channels height width"],
    labels: Shaped[Tensor, "images ..."],
    *,
    validation: LabelledImages | None = None,
    loss: Loss | None = None,
    returns: Returns | None = None,
    seed: int = 0,
) -> Findings:
    """Return the findings of an evaluation for any module, such as its error on distorted images.

    They are those that the evaluation has for a trial with this network, test images, seed and
    loss. The network is judged in evaluation mode; each module of it has its own mode afterwards.

    Args:
        network: A module that is called with images, on their device. What looks at routing finds
            capsule layers of this package anywhere in it.
        evaluation: Any of `EVALUATIONS`, or one of your own.
        images: The test images, values from 0 to 1.
        labels: The true class of each image; or, where it may be of several, whether it is of each.
        validation: Images and labels of a validation split, for evaluations that look at one.
        loss: The loss of the training, as in `attack`.
        returns: What the network returns, as in `attack`.
        seed: Seed of all chance, as in `attack`.

    Raises:
        UnsuitableNetworkError: If such networks lack what the evaluation examines: a routing,
            capsules, a decoder.
        ValueError: If arguments do not fit each other, or the evaluation looks at other data or
            trials than were handed over.

    Example:
        >>> import torch
        >>> from capsmodel.evaluation import DistortedTestError, examine
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
        >>> images, labels = torch.rand(20, 1, 8, 8), torch.arange(20) % 10
        >>> findings = examine(network, DistortedTestError(distortion="noise"), images, labels)
        >>> findings.images["error.deviation_0.5"].shape
        torch.Size([20])
    """
    if evaluation.other_trials:
        raise ValueError(
            f"The evaluation '{evaluation.kind}' looks at other trials of a sweep, "
            f"{', '.join(evaluation.other_trials)}, which a module alone has not."
        )
    with _apart(network):
        trained = examined(network, images, labels, loss=loss, returns=returns, seed=seed)
        task = trained.config.data.task
        if task.label_form not in evaluation.takes:
            raise ValueError(
                f"The evaluation '{evaluation.kind}' cannot do labels of the form "
                f"'{task.label_form}'; it takes {', '.join(sorted(evaluation.takes))}."
            )
        looks = f"The evaluation '{evaluation.kind}' looks at"
        splits = DataSplits(
            train=NotGiven(f"{looks} training images, which a module alone has not."),
            validation=NotGiven(f"{looks} validation images: hand validation=(images, labels).")
            if validation is None
            else trained.checked(*validation, "validation"),
            test=trained.checked(images, labels, "the images"),
        )
        return checked_findings(evaluation, trained, splits)


@contextmanager
def _apart(network: nn.Module) -> Generator[None]:
    """Restore modes at the end, and let gradients flow under an outer `inference_mode`."""
    with modes_restored(network), torch.inference_mode(mode=False):
        yield
