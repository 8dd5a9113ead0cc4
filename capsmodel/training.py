"""Training: a generator of epoch metrics that can be saved and restored between epochs."""

import copy
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int, UInt8
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from capsmodel import tensor_file
from capsmodel.chance import stream
from capsmodel.config import TrainingConfig, build_model
from capsmodel.data import Images
from capsmodel.optimisers import Moment
from capsmodel.tensor_file import TensorSpec
from capsmodel.trained import EVALUATION_BATCH_SIZE, Trained, evaluation_chance

_SCHEMA_VERSION = 1
_STREAMS = ("data order", "augmentation", "routing")


@dataclass(frozen=True)
class EpochMetrics:
    """What one epoch came to.

    Attributes:
        epoch: Which one, from 1.
        train_loss: Mean loss of the training images, with reconstruction, while weights moved.
        validation_loss: Mean loss of the validation images after the epoch.
        validation_error: Share of the validation images that are classified wrongly.
        duration_seconds: Wall-clock time of the epoch, validation included.
    """

    epoch: int
    train_loss: float
    validation_loss: float
    validation_error: float
    duration_seconds: float


@dataclass(frozen=True)
class TestResult:
    """What the test split came to.

    Attributes:
        error: Share of the test images that are classified wrongly.
        predictions: The class given to each image, in the data set's order.
        labels: The true classes.
        extra_errors: Name of an extra test -> share of its images that are classified wrongly.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    error: float
    predictions: UInt8[Tensor, " images"]
    labels: UInt8[Tensor, " images"]
    extra_errors: Mapping[str, float] = field(default_factory=dict[str, float])


class Training:
    """One training, from its settings and seed to its metrics and its network.

    Iterating trains the epochs that remain. All chance comes from streams of the seed: initial
    weights, data order, augmentation and routing each have one, so trainings of other settings
    with the same seed see the same images in the same order. Saved between two epochs and
    restored, it goes on with bit-identical weights and metrics on the same CPU.

        for metrics in Training(TrainingConfig(), seed=0):
            print(metrics.epoch, metrics.validation_error)

    Attributes:
        config: All settings.
        seed: What all chance comes from.
        device: Where weights and images lie.
        history: The metrics of every epoch done.
    """

    def __init__(
        self, config: TrainingConfig, seed: int, device: str | torch.device = "cpu"
    ) -> None:
        """Load the data and set the initial weights.

        Raises:
            ValueError: If the images are too small for the model, or are not those expected.
        """
        self.config = config
        self.seed = seed
        self.device = torch.device(device)
        self.history: tuple[EpochMetrics, ...] = ()
        self._network = build_model(config)
        self._network.to_empty(device="cpu").initialise(seed)
        self._network.to(self.device)
        self._data = config.data.load(self.device)
        self._optimiser = config.optimiser.build(tuple(self._network.parameters()))
        self._chance = {name: stream(seed, name) for name in _STREAMS}

    @property
    def epoch(self) -> int:
        """The epochs done."""
        return len(self.history)

    @property
    def num_epochs(self) -> int:
        """The epochs of the whole training, the most where it may end before."""
        return self.config.stopping.num_epochs

    @property
    def is_done(self) -> bool:
        """Whether no epoch remains."""
        return self.epoch >= self.num_epochs or self.target == "reached"

    @property
    def target(self) -> Literal["reached", "missed"] | None:
        """Whether the stopping's target is reached: missed so far or, once done, for good.

        None where the stopping has no target.
        """
        stopping = self.config.stopping
        if not stopping.has_target:
            return None
        is_reached = bool(self.history) and stopping.is_reached(self.history[-1])
        return "reached" if is_reached else "missed"

    @property
    def num_parameters(self) -> int:
        """The number of trained values."""
        return sum(parameter.numel() for parameter in self._network.parameters())

    def __iter__(self) -> Iterator[EpochMetrics]:
        """Train the epochs that remain, one for each item.

        Numbers that are not finite are told as they are; whether to go on is the caller's choice.
        """
        while not self.is_done:
            started = time.perf_counter()
            train_loss = self._train_epoch()
            loss, predictions = self._evaluate(self._data.validation)
            num_wrong = (predictions != self._data.validation.labels).sum()
            # The one wait for a GPU in an epoch.
            figures = torch.stack([train_loss, loss, num_wrong.float()]).tolist()
            metrics = EpochMetrics(
                epoch=self.epoch + 1,
                train_loss=figures[0],
                validation_loss=figures[1],
                validation_error=figures[2] / len(predictions),
                duration_seconds=time.perf_counter() - started,
            )
            self.history += (metrics,)
            yield metrics

    def test(self) -> TestResult:
        """Return the result on the test split and the extra tests, which nothing else reads."""
        predictions, error = self._classify(self._data.test)
        return TestResult(
            error=error,
            predictions=predictions.to("cpu", torch.uint8),
            labels=self._data.test.labels.to("cpu", torch.uint8),
            extra_errors={
                name: self._classify(split)[1] for name, split in self._data.extra_tests.items()
            },
        )

    def trained(self) -> Trained:
        """Return a copy of the network as it is now, for prediction."""
        return Trained(self.config, self.seed, self.device, copy.deepcopy(self._network))

    def save(self, path: Path) -> None:
        """Write all that is needed to go on as one safetensors file, all of it or nothing."""
        facts = {
            "schema_version": _SCHEMA_VERSION,
            "seed": self.seed,
            "epoch": self.epoch,
            "history": [asdict(metrics) for metrics in self.history],
        }
        tensor_file.write(path, self._tensors(), facts)

    @classmethod
    def restore(
        cls, path: Path, config: TrainingConfig, seed: int, device: str | torch.device = "cpu"
    ) -> "Training":
        """Return the training that `save` wrote, ready for its next epoch.

        Raises:
            ValueError: If the file does not fit the config or is of another seed.
            OSError: If the file cannot be read.
        """
        training = cls(config, seed, device)
        history = _history(path, seed)
        layout = training._layout(with_optimiser=len(history) > 0)
        tensors, _ = tensor_file.read(path, layout, _SCHEMA_VERSION)
        training._set(path, tensors)
        training.history = history
        return training

    def _train_epoch(self) -> Float[Tensor, ""]:
        train, augmentation = self._data.train, self.config.augmentation
        order = torch.randperm(len(train), generator=self._chance["data order"]).to(self.device)
        draws = augmentation.draw(len(train), self._chance["augmentation"]).to(self.device)
        batches = order.split(self.config.batch_size)
        drawn = draws.split(self.config.batch_size)
        self._network.train()
        total = torch.zeros((), device=self.device)
        for step, (indices, draw) in enumerate(zip(batches, drawn, strict=True)):
            moment = Moment(self.epoch * len(batches) + step, len(batches), self.num_epochs)
            taken = train.take(indices)
            batch = Images(augmentation.apply(taken.images, draw), taken.labels)
            total += len(batch) * self._step(batch, moment)
        return total / len(train)

    def _step(self, batch: Images, moment: Moment) -> Float[Tensor, ""]:
        for group in self._optimiser.param_groups:
            group["lr"] = self.config.optimiser.learning_rate_at(moment)
        self._optimiser.zero_grad(set_to_none=True)
        loss, _ = self._judge(batch, self._chance["routing"], moment.progress)
        loss.backward()
        self._optimiser.step()
        return loss.detach()

    def _judge(
        self, batch: Images, generator: torch.Generator, progress: float
    ) -> tuple[Float[Tensor, ""], Float[Tensor, "batch classes"]]:
        outputs = self._network(batch.images, batch.labels, generator)
        loss = self.config.loss.judge(outputs, batch.labels, progress)
        return loss + self._network.penalty(outputs, batch.images), outputs.lengths

    def _classify(self, split: Images) -> tuple[Int[Tensor, " images"], float]:
        _, predictions = self._evaluate(split)
        return predictions, int((predictions != split.labels).sum()) / len(split)

    @torch.inference_mode()
    def _evaluate(self, split: Images) -> tuple[Float[Tensor, ""], Int[Tensor, " images"]]:
        self._network.eval()
        progress = min(1.0, (self.epoch + 1) / self.num_epochs)
        total = torch.zeros((), device=self.device)
        predictions: list[Tensor] = []
        for start in range(0, len(split), EVALUATION_BATCH_SIZE):
            taken = split.take(slice(start, start + EVALUATION_BATCH_SIZE))
            batch = Images(self.config.augmentation.plain(taken.images), taken.labels)
            loss, lengths = self._judge(batch, evaluation_chance(self.seed), progress)
            total += len(batch) * loss
            predictions.append(lengths.argmax(dim=1))
        return total / len(split), torch.cat(predictions)

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {f"weights/{name}": value for name, value in self._network.state_dict().items()}
        for index, state in self._optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{index}/{name}": value for name, value in state.items()}
        return tensors | {
            f"chance/{name}": generator.get_state() for name, generator in self._chance.items()
        }

    def _layout(self, *, with_optimiser: bool) -> dict[str, TensorSpec]:
        layout = tensor_file.layout_of(self._tensors())
        if with_optimiser:
            for index, parameter in enumerate(self._network.parameters()):
                shapes = self.config.optimiser.state_shapes(tuple(parameter.shape))
                for name, shape in shapes.items():
                    layout[f"optimiser/{index}/{name}"] = TensorSpec(torch.float32, shape)
        return layout

    def _set(self, path: Path, tensors: dict[str, Tensor]) -> None:
        self._network.load_state_dict(_below("weights", tensors))
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _below("optimiser", tensors).items():
            index, _, field = name.partition("/")
            # A copy, as arithmetic on memory of another alignment may round differently.
            state.setdefault(int(index), {})[field] = value.clone()
        groups: Any = self._optimiser.state_dict()["param_groups"]
        self._optimiser.load_state_dict({"state": state, "param_groups": groups})
        for name, value in _below("chance", tensors).items():
            try:
                self._chance[name].set_state(value)
            except RuntimeError as error:
                raise ValueError(f"{path} is damaged: chance/{name} is no state.") from error


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = f"{prefix}/"
    return {n.removeprefix(start): value for n, value in tensors.items() if n.startswith(start)}


def _history(path: Path, seed: int) -> tuple[EpochMetrics, ...]:
    facts = tensor_file.read_facts(path)
    if facts.get("seed") != seed:
        raise ValueError(f"{path} is of seed {facts.get('seed')!r}, not {seed}.")
    try:
        history = TypeAdapter(tuple[EpochMetrics, ...]).validate_python(facts.get("history"))
    except ValidationError as error:
        raise ValueError(f"{path} does not fit: its history is not one of epochs.") from error
    if [metrics.epoch for metrics in history] != list(range(1, len(history) + 1)):
        raise ValueError(f"{path} does not fit: its history has gaps.")
    return history
