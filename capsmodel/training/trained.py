"""A trained network, ready to predict."""

import copy
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel import tensor_file
from capsmodel.chance import stream
from capsmodel.config import TrainingConfig, build_model, initial_network
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.models import ChildGrid, Network, Outputs, perturbed
from capsmodel.training.given_images import ImagesGiven, TakenImages, taken_images
from capsmodel.training.precision import multiplied_in, outputs_in
from capsmodel.whole_file import write_whole

EVALUATION_BATCH_SIZE = 256
"""Fixed, so that a result cannot depend on the batch size of the training."""

_SCHEMA_VERSION = 1


class Prediction(NamedTuple):
    """The predictions of a trained network for images.

    Attributes:
        classes: The class that is believed in most: that of the longest capsule. Of a task of
            several classes as many as an image can have, the most believed in first.
        lengths: Belief in each class, in [0, 1].
        reconstructions: Images drawn from the poses of these classes, or None without a decoder.
        poses: The pose of each class, or None where the network has none.
        names: What the class, or each of several, is called, for each image.
        sources: Where each image comes from: the path of its file, or its number from 0.
        conversion: What was changed of the images, a sentence.
    """

    classes: Int[Tensor, "batch *several"]
    lengths: Float[Tensor, "batch classes"]
    reconstructions: Float[Tensor, "batch *several channels height width"] | None
    poses: Float[Tensor, "batch classes *pose"] | None = None
    names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    conversion: str = ""

    __repr__ = shapes_repr


class Inspection(NamedTuple):
    """The outputs of a trained network for a few images.

    Attributes:
        images: The images as the network is given them.
        outputs: All outputs: beliefs, poses, reconstructions, couplings.
        children: Places of the children of the class capsules; None if not known.
    """

    images: Float[Tensor, "batch channels height width"]
    outputs: Outputs
    children: ChildGrid | None

    __repr__ = shapes_repr


class Trained:
    """A trained network, ready to predict.

    Attributes:
        config: Settings it was trained with.
        seed: Seed it was trained with.
        device: Where it lies.
    """

    def __init__(
        self, config: TrainingConfig, seed: int, device: torch.device, network: Network
    ) -> None:
        """Take a network on its device; `Training.trained` and `Trained.load` make one."""
        self.config = config
        self.seed = seed
        self.device = device
        self._network = network.eval()

    def predict(self, images: ImagesGiven) -> Prediction:
        """Return classes, their names, beliefs in each class, poses and reconstructions of images.

        Whatever images are given are made those of the data set, in its size and channels, with
        values from 0 to 1; `conversion` says what was changed. They are presented to the network
        as in an evaluation: cropped, for example, if the training's augmentation crops.
        Reconstructions then show what the network sees.

        Args:
            images: Paths of files or folders, pictures of Pillow, or arrays or tensors: [height
                width], [channels height width], [height width channels] or a batch of these, as
                bytes, 16-bit whole numbers, booleans or floating-point numbers from 0 to 1. Where
                there is one channel, [batch height width] of the data set's size is a batch.

        Raises:
            ValueError: If there is no image, or one cannot be read or is of no known form.
        """
        taken = self._taken(images)
        batch = taken.images.to(self.device)
        with torch.inference_mode():
            outputs = [self._outputs(part) for part in batch.split(EVALUATION_BATCH_SIZE)]
        lengths = torch.cat([output.lengths for output in outputs])
        drawn = [o.reconstructions for o in outputs if o.reconstructions is not None]
        poses = [output.poses for output in outputs if output.poses is not None]
        classes = self.config.data.task.guesses(lengths)
        return Prediction(
            classes=classes,
            lengths=lengths,
            reconstructions=torch.cat(drawn) if drawn else None,
            poses=torch.cat(poses) if poses else None,
            names=tuple(self._names(row) for row in classes.reshape(len(classes), -1).tolist()),
            sources=taken.sources,
            conversion=taken.conversion,
        )

    def _taken(self, images: ImagesGiven) -> TakenImages:
        return taken_images(self.config.data, images)

    def _names(self, classes: list[int]) -> str:
        return " and ".join(map(self.config.data.name_of, classes))

    @property
    def network(self) -> Network:
        """The network itself, in evaluation mode: a change of its weights changes predictions."""
        return self._network

    def outputs(
        self, images: Float[Tensor, "batch channels height width"], chance: int | None = None
    ) -> Outputs:
        """Return all outputs for images, through which gradients flow.

        Each image is presented as in an evaluation. Nothing is checked, so that a function of the
        outputs can be differentiated with respect to the images, weights or both; call it under
        `torch.no_grad()` where no gradient is wanted.

        Args:
            images: Images as in the data set, values from 0 to 1, on the network's device.
            chance: Number of the draw of random routing; None for that of `predict`.
        """
        return self._outputs(images, chance)

    def inspect(self, images: ImagesGiven) -> Inspection:
        """Return all outputs of the network for a few images, and the images as it sees them.

        Args:
            images: As in `predict`; couplings of many images take gigabytes.

        Raises:
            ValueError: As `predict` does, or if they are more than 256.
        """
        batch = self._taken(images).images.to(self.device)
        if len(batch) > EVALUATION_BATCH_SIZE:
            raise ValueError(
                f"At most {EVALUATION_BATCH_SIZE} images are inspected at once, got {len(batch)}: "
                "hand in fewer, or predict them."
            )
        with torch.inference_mode():
            presented = self.config.augmentation.plain(batch)
            return Inspection(presented, self._outputs(batch), self._network.child_grid())

    def perturb(
        self, images: ImagesGiven, classes: Int[Tensor, " batch"], offsets: Sequence[float]
    ) -> Float[Tensor, "batch pose offsets channels height width"] | None:
        """Return images drawn from poses in which one number at a time is changed.

        Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.1 and figure 4.
        Difference: none; they move it by -0.25 to 0.25 in steps of 0.05.

        Args:
            images: As in `inspect`.
            classes: Whose pose is moved and drawn, for each image.
            offsets: Values that are added to the number.

        Returns:
            For each image, number of the pose and offset what the decoder draws; None where the
            network has none.

        Raises:
            ValueError: As `inspect` does.
        """
        poses = self.inspect(images).outputs.poses
        if poses is None:
            return None
        moved, repeated = perturbed(poses, torch.as_tensor(offsets).to(poses))
        with torch.inference_mode():
            drawn = self._network.decode(moved, classes.to(self.device).repeat_interleave(repeated))
        return None if drawn is None else drawn.unflatten(0, (len(poses), -1, len(offsets)))

    def copied(self) -> "Trained":
        """Return it with a network of its own."""
        try:
            network = copy.deepcopy(self._network)
        except RuntimeError:  # it keeps a tensor of its last pass, which a gradient flows through
            network = build_model(self.config).to_empty(device=self.device)
            network.load_state_dict(self._network.state_dict())
        return self.with_network(network)

    def with_network(self, network: Network) -> "Trained":
        """Return another network, on the same device, with the same settings and seed."""
        return Trained(self.config, self.seed, self.device, network)

    def as_initialised(self) -> "Trained":
        """Return the network with the weights that its training began with."""
        return self.with_network(initial_network(self.config, self.seed).to(self.device))

    def encoded(self) -> bytes:
        """Return the weights as a safetensors file."""
        facts = {"schema_version": _SCHEMA_VERSION}
        return tensor_file.encoded(self._network.state_dict(), facts)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the weights to a safetensors file, atomically."""
        write_whole(Path(path), self.encoded())

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        config: TrainingConfig,
        seed: int,
        device: str | torch.device = "cpu",
    ) -> "Trained":
        """Return the network of a weights file, its settings and its seed.

        Raises:
            ValueError: If the file's tensors are not those of the config's model; found in its
                header, before anything is allocated.
            OSError: If the file cannot be read.
        """
        network = build_model(config)
        layout = tensor_file.layout_of(network.state_dict())
        tensors, _ = tensor_file.read(Path(path), layout, _SCHEMA_VERSION)
        network.to_empty(device=device).load_state_dict(tensors)
        return cls(config, seed, torch.device(device), network)

    def _outputs(self, images: Tensor, chance: int | None = None) -> Outputs:
        presented = self.config.augmentation.plain(images)
        generator = evaluation_chance(self.seed, chance)
        precision = self.config.precision
        with multiplied_in(precision, self.device):
            outputs = outputs_in(precision, self._network, presented, None, generator=generator)
        classes = self.config.data.task.guesses(outputs.lengths)
        if classes.ndim == 1 or outputs.reconstructions is None or outputs.poses is None:
            return outputs
        drawn = self._network.decode(outputs.poses, classes)
        return outputs._replace(reconstructions=drawn)


def evaluation_chance(seed: int, draw: int | None = None) -> torch.Generator:
    """Return the generator of one evaluation pass: the same for every batch of a trial."""
    names = ("routing", "evaluation") if draw is None else ("routing", "evaluation", str(draw))
    return stream(seed, *names)
