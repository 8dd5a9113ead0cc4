"""A network with its optimiser: the steps of a training, and its evaluation of images."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel import tensor_file
from capsmodel.chance import of_steps, reseed, stream
from capsmodel.config import TrainingConfig, check_judged, initial_network
from capsmodel.data import Images
from capsmodel.health import routing_metrics
from capsmodel.models import Outputs
from capsmodel.optimisers import Moment
from capsmodel.schedules import Number
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import is_built_in
from capsmodel.tensor_file import TensorSpec
from capsmodel.training.precision import computed_in, multiplied_in, outputs_in
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, evaluation_chance
from capsmodel.training.untouched import (
    check_lengths,
    copied_outputs,
    now_and_before,
    own_part_of,
    refuse_writing,
    state_of,
    tensors_of,
)
from capsmodel.training.weight_groups import (
    RATE_FACTOR,
    freeze,
    set_rate_factors,
    trained_parameters,
)

_PICKED_BATCHES = 8
_STREAMS = ("data order", "augmentation", "routing")


class Judged(NamedTuple):
    """The network's outputs for a batch, and their loss.

    Attributes:
        loss: The loss that is minimised.
        class_loss: The part of it that depends on the beliefs in the classes alone.
        outputs: Outputs of the network.
    """

    loss: Float[Tensor, ""]
    class_loss: Float[Tensor, ""]
    outputs: Outputs


class SplitJudged(NamedTuple):
    """The network's outputs for a split.

    Attributes:
        loss: Mean over the images.
        class_loss: The part of it that depends on the beliefs in the classes alone.
        beliefs: Beliefs in each class for each image.
        routing: Figures of the couplings of the first batch.
    """

    loss: Float[Tensor, ""]
    class_loss: Float[Tensor, ""]
    beliefs: Float[Tensor, "images classes"]
    routing: Mapping[str, Tensor]


class Learner:
    """A network with its optimiser and the random streams that it draws from.

    A step is `differentiate`, then `move`; whole ones are in `capsmodel.training.captured`.
    Nothing here waits for a GPU.

    Attributes:
        config: All settings.
        seed: Seed of all random numbers.
        device: Device of everything but the random streams.
        network: The network.
        parameters: Those that are trained, in the order of the optimiser's groups: to look for them
            takes a fiftieth of a small step.
        has_own_parts: Whether any part is a user's, and none of its code may touch what it is
            judged by.
        optimiser: Optimiser of its weights.
        chance: Name of a stream -> its generator on the CPU; checkpoints hold these.
        drawn_from: Generator of the draws within steps, of the learner's device.
        num_batches: Batches that were begun, of steps and of evaluations.
    """

    def __init__(self, config: TrainingConfig, seed: int, device: torch.device) -> None:
        """Set the initial weights.

        Raises:
            ValueError: If the images are too small for the model, or the loss does not suit the
                routing.
        """
        check_judged(config)
        self.config = config
        self.seed = seed
        self.device = device
        self.network = initial_network(config, seed).to(device)
        freeze(self.network, config.frozen)
        self.has_own_parts = not all(is_built_in(type(part)) for part in parts_in(config))
        self.optimiser = config.optimiser.build(trained_parameters(self.network))
        self.parameters = set_rate_factors(self.optimiser, self.network, config.rate_factors)
        self.chance = {name: stream(seed, name) for name in _STREAMS}
        self.drawn_from = of_steps(self.chance["routing"], device)
        self.num_batches = 0

    def batches(self, train: Images, epoch: int) -> Iterator[tuple[Images, Moment]]:
        """Yield the batches of the epoch after `epoch` finished ones, each with its moment."""
        augmentation, size = self.config.augmentation, self.config.batch_size
        reseed(self.drawn_from, self.chance["routing"])
        train = train.of_epoch(epoch, self.seed)
        order = torch.randperm(len(train), generator=self.chance["data order"]).to(self.device)
        draws = augmentation.draw(len(train), self.chance["augmentation"]).to(self.device)
        draws_of_batches = draws.split(size)
        num_steps, num_epochs = len(draws_of_batches), self.config.stopping.num_epochs
        self.network.train()
        taken = _taken(train, order, size)
        for step, (plain, draw) in enumerate(zip(taken, draws_of_batches, strict=True)):
            self.num_batches += 1
            batch = presented(plain, lambda images, draw=draw: augmentation.apply(images, draw))
            yield batch, Moment(epoch * num_steps + step, num_steps, num_epochs)

    def differentiate(self, batch: Images, progress: Number) -> Float[Tensor, ""]:
        """Set the gradient of each parameter and return the loss.

        Args:
            batch: The images, as the network is given them.
            progress: Share of the training that is done, in [0, 1].

        Raises:
            ValueError: As `judge` does, or if the loss does not depend on the weights.
        """
        for parameter in self.parameters:
            parameter.grad = None
        size = -(-len(batch) // self.config.accumulation)
        losses: list[Tensor] = []
        for start in range(0, len(batch), size):
            part = batch if size >= len(batch) else batch.take(slice(start, start + size))
            with multiplied_in(self.config.precision, self.device):
                class_loss, loss = self._losses_of_step(part, progress)
                if not class_loss.requires_grad:
                    raise ValueError(self._independent_loss())
                loss = loss if part is batch else loss * (len(part) / len(batch))
                loss.backward()
            losses.append(loss.detach())
        return losses[0] if len(losses) == 1 else torch.stack(losses).sum()

    def _losses_of_step(self, batch: Images, progress: Number) -> tuple[Tensor, Tensor]:
        """Return the loss of the classes, and the whole loss, for images in training."""
        if self.network.has_own_loss:
            loss = self._own_loss(batch, self.drawn_from)
            return loss, loss
        judged = self.judge(batch, self.drawn_from, progress)
        return judged.class_loss, judged.loss

    def _own_loss(self, batch: Images, generator: torch.Generator) -> Tensor:
        """Return the loss that the network itself computes.

        Raises:
            ValueError: If it is not one number.
        """
        with computed_in(self.config.precision, self.device):
            loss: Any = self.network.training_loss(batch.images, batch.labels, generator)
        if not isinstance(loss, Tensor) or loss.shape != () or not loss.is_floating_point():
            raise ValueError(
                f"training_loss of the model '{self.config.model.kind}' must return one number, "
                f"the mean over the images, got {_given(loss)}."
            )
        return loss.float()

    def _independent_loss(self) -> str:
        loss = f"The loss '{self.config.loss.kind}'"
        if self.network.has_own_loss:
            loss = f"training_loss of the model '{self.config.model.kind}'"
        return (
            f"{loss} does not depend on the network's weights, so "
            f"nothing can be learned: compute it, and the outputs of the model "
            f"'{self.config.model.kind}', without detach(), item() and new tensors."
        )

    def gradient_norms(self) -> Float[Tensor, " parameters"]:
        """Return the Euclidean norm of the gradient of each parameter that has one.

        Raises:
            ValueError: If none has.
        """
        # One by one costs half of torch's own total norm, which sorts them by device first.
        norms = [torch.linalg.vector_norm(p.grad) for p in self.parameters if p.grad is not None]
        if not norms:
            raise ValueError(self._independent_loss())
        return torch.stack(norms)

    def sizes_with_gradient(self) -> dict[str, list[int]]:
        """Return the network's layers -> the sizes of their parameters that have a gradient.

        The parameters are those of `gradient_norms`, in their order.
        """
        names = {parameter: name for name, parameter in self.network.named_parameters()}
        sizes: dict[str, list[int]] = {}
        for parameter in self.parameters:
            if parameter.grad is not None:
                layer = names[parameter].removeprefix("module.").partition(".")[0]
                sizes.setdefault(layer, []).append(parameter.numel())
        return sizes

    def without_gradient(self) -> list[str]:
        """Return the names of the parameters that the last step gave no gradient."""
        return [
            name
            for name, p in self.network.named_parameters()
            if p.requires_grad and p.grad is None
        ]

    def without_optimiser(self) -> list[str]:
        """Return the names of the parameters that the optimiser does not move."""
        moved = {id(p) for group in self.optimiser.param_groups for p in group["params"]}
        return [
            name
            for name, p in self.network.named_parameters()
            if p.requires_grad and id(p) not in moved
        ]

    def move(self, moment: Moment) -> None:
        """Move the weights along their gradients."""
        self.set_rate(moment)
        self.step()

    def step(self) -> None:
        """Move the weights at the rate that is set, along the gradient or the clipped one."""
        if self.config.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.config.clip_norm)
        self.optimiser.step()

    def set_rate(self, moment: Moment) -> None:
        """Set the learning rate of the next step, in place where it is a tensor."""
        rate = self.config.optimiser.learning_rate_at(moment)
        for group in self.optimiser.param_groups:
            of_group = rate * group.get(RATE_FACTOR, 1.0)
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(of_group)
            else:
                group["lr"] = of_group

    def judge(self, batch: Images, generator: torch.Generator, progress: Number) -> Judged:
        """Return the network's outputs for unchanged images, and their loss.

        Raises:
            ValueError: If the network or the loss returns something else.
        """
        drawn = self.config.data.task.drawn(batch.labels)
        outputs = outputs_in(
            self.config.precision, self.network, batch.images, drawn, generator=generator
        )
        _check_outputs(self.config, outputs, len(batch))
        return self._with_loss(outputs, batch, progress)

    def _with_loss(self, outputs: Outputs, batch: Images, progress: Number) -> Judged:
        if self.network.has_own_loss:
            # which may differentiate, as of a penalty on a gradient
            with torch.inference_mode(mode=False), torch.enable_grad():
                loss = self._own_loss(batch.copied(), evaluation_chance(self.seed)).detach()
            return Judged(loss, loss, outputs)
        class_loss: Any = self.config.loss.judge(outputs, batch.labels, progress)
        if not isinstance(class_loss, Tensor) or class_loss.shape != ():
            raise ValueError(
                f"The loss '{self.config.loss.kind}' must return one number, the mean over the "
                f"images, got {_given(class_loss)}."
            )
        shown = batch.images if batch.parts is None else batch.parts
        loss = class_loss + self.network.penalty(outputs, shown)
        return Judged(loss, class_loss, outputs)

    @torch.inference_mode()
    def evaluate(self, split: Images, progress: float) -> SplitJudged:
        """Return the network's outputs for the images of a split, presented as outside training.

        Args:
            split: The images.
            progress: Share of the training that is done, in [0, 1].
        """
        totals = torch.zeros(2, device=self.device)
        beliefs: list[Tensor] = []
        routing: Mapping[str, Tensor] = {}
        for start, judged in self.judgements(split, progress):
            size = len(judged.outputs.lengths)
            totals += size * torch.stack([judged.loss, judged.class_loss])
            beliefs.append(judged.outputs.lengths)
            routing = routing if start else routing_metrics(judged.outputs.couplings, size)
        loss, class_loss = totals / len(split)
        return SplitJudged(loss, class_loss, torch.cat(beliefs), routing)

    def judgements(self, split: Images, progress: float) -> Iterator[tuple[int, Judged]]:
        """Yield each batch of an evaluation: where it starts, and the network's outputs for it."""
        self.network.eval()
        for start in range(0, len(split), EVALUATION_BATCH_SIZE):
            self.num_batches += 1
            taken = split.take(slice(start, start + EVALUATION_BATCH_SIZE))
            with multiplied_in(self.config.precision, self.device):
                judged = self._judge_apart(taken, progress, is_first=start == 0)
            yield start, judged

    def _judge_apart(self, images: Images, progress: float, *, is_first: bool) -> Judged:
        """Return the network's outputs for images outside training, and their loss.

        A model of the user's gets no labels, and their other code is handed copies. Those of the
        first batch are compared: a part that writes to what it is handed would make the training
        wrong as well.

        Raises:
            ValueError: If the network or the loss returns something else, or a part of the user's
                writes to what it is handed.
        """
        generator = evaluation_chance(self.seed)
        if not self.has_own_parts:
            batch = presented(images, self.config.augmentation.plain)
            return self.judge(batch, generator, progress)
        copies = images.copied()
        batch = presented(copies, self.config.augmentation.plain)
        if is_first:  # before the network, which may be handed the same memory
            refuse_writing(self.config.augmentation, images=(copies.images, images.images))
        before, state = batch.copied(), state_of(self.network) if is_first else {}
        outputs = self._outputs_apart(batch, generator)
        if is_first:
            check_lengths(self.config, outputs.lengths)
        handed, labels = copied_outputs(outputs), images.labels.clone()
        judged = self._with_loss(handed, replace(before, labels=labels), progress)
        if is_first:
            own = own_part_of(self.config.model)
            changed = now_and_before(self.network, state)
            refuse_writing(own, images=(batch.images, before.images), **changed)
            check_lengths(self.config, outputs.lengths)
            fields = tensors_of(handed, outputs)
            refuse_writing(self.config.loss, labels=(labels, images.labels), **fields)
        return judged._replace(outputs=outputs)

    def _outputs_apart(self, batch: Images, generator: torch.Generator) -> Outputs:
        """Return the outputs of the network; one of the user's learns no labels."""
        drawn = self.config.data.task.drawn(batch.labels)
        is_known = is_built_in(type(self.config.model))
        outputs = outputs_in(
            self.config.precision,
            self.network,
            batch.images,
            drawn if is_known else None,
            generator=generator,
            redrawn=None if is_known else drawn,
        )
        _check_outputs(self.config, outputs, len(batch))
        return copied_outputs(outputs)  # a model may use the same memory for each batch

    def tensors(self) -> dict[str, Tensor]:
        """Return all state that changes from step to step."""
        tensors = {f"weights/{name}": value for name, value in self.network.state_dict().items()}
        for index, state in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{index}/{name}": value for name, value in state.items()}
        return tensors | {
            f"chance/{name}": generator.get_state() for name, generator in self.chance.items()
        }

    def layout(self, *, with_optimiser: bool) -> dict[str, TensorSpec]:
        """Return types and shapes of `tensors` after a step, also for a new learner."""
        layout = tensor_file.layout_of(self.tensors())
        if with_optimiser:
            for index, parameter in enumerate(self.parameters):
                shapes = self.config.optimiser.state_shapes(tuple(parameter.shape))
                for name, shape in shapes.items():
                    layout[f"optimiser/{index}/{name}"] = TensorSpec(torch.float32, shape)
        return layout

    def set(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        """Restore the state that `tensors` returned.

        Args:
            path: The file they come from.
            tensors: Tensors of the layout.

        Raises:
            ValueError: If one is no state of a generator.
        """
        self.network.load_state_dict(under_prefix("weights", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in under_prefix("optimiser", tensors).items():
            index, _, field = name.partition("/")
            # A copy, as arithmetic on memory of another alignment may round differently.
            state.setdefault(int(index), {})[field] = value.clone()
        groups: Any = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})
        for name, value in under_prefix("chance", tensors).items():
            try:
                self.chance[name].set_state(value)
            except RuntimeError as error:
                raise ValueError(f"{path} is damaged: chance/{name} is no state.") from error


def _check_outputs(config: TrainingConfig, outputs: Any, num_images: int) -> None:
    name, shape = config.model.kind, (num_images, config.data.num_classes)
    if not isinstance(outputs, Outputs):
        raise ValueError(f"The model '{name}' must return Outputs, got {_given(outputs)}.")
    lengths: Any = outputs.lengths
    if not isinstance(lengths, Tensor) or lengths.shape != shape:
        raise ValueError(
            f"The model '{name}' must return a belief for each image and class, lengths of shape "
            f"{list(shape)}, got {_given(lengths)}."
        )


def _given(value: Any) -> str:
    is_tensor = isinstance(value, Tensor)
    return f"a tensor of shape {list(value.shape)}" if is_tensor else repr(value)[:80]


def presented(images: Images, present: Callable[[Tensor], Tensor]) -> Images:
    """Return the images and their parts as they are presented to the network."""
    parts = images.parts
    if parts is not None:
        parts = torch.stack([present(part) for part in parts.unbind(1)], dim=1)
    return Images(present(images.images), images.labels, parts=parts)


def _taken(images: Images, order: Tensor, size: int) -> Iterator[Images]:
    """Yield batches; several are gathered at once, which takes hardly longer than one."""
    for indices in order.split(_PICKED_BATCHES * size):
        picked = images.take(indices)
        for start in range(0, len(indices), size):
            yield picked.take(slice(start, start + size))


def under_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose name begins with a prefix and a slash, by the rest of it."""
    start = f"{prefix}/"
    return {n.removeprefix(start): value for n, value in tensors.items() if n.startswith(start)}
