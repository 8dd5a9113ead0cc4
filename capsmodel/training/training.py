"""Training: a generator of epoch metrics that can be saved and restored between epochs."""

import copy
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float, Int, Shaped, UInt8
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from capsmodel import tensor_file
from capsmodel.config import TrainingConfig, initial_network
from capsmodel.data import DataSplits, Images, load_checked
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.health import (
    belief_metrics,
    gradient_metrics,
    largest_gradients,
    loss_metrics,
    vanished_gradients,
    warnings_of,
)
from capsmodel.metrics import EpochMetrics as EpochMetrics
from capsmodel.reconstruction import NoReconstruction
from capsmodel.settings.measures import parts_in
from capsmodel.settings.parts import Part, is_built_in
from capsmodel.tasks import Task
from capsmodel.training.captured import CapturedSteps
from capsmodel.training.learner import Learner, SplitJudged, under_prefix
from capsmodel.training.origin import Origin, origin_in_epoch
from capsmodel.training.trained import Trained
from capsmodel.training.untouched import refuse_writing
from capsmodel.whole_file import write_whole

_SCHEMA_VERSION = 1
_BEST = "best"  # prefix of the network's state after its best epoch, in a file


@dataclass(frozen=True)
class SplitResult:
    """The outputs of a trained network for each image of a split.

    Attributes:
        error: Share of the images that are classified wrongly.
        predictions: The answer for each image, in the form of the task's labels and the data set's
            order: a class, or whether it is of each.
        labels: The true answers.
        objects: Which object each image shows; None where each image is its own.
        errors: Error of each image, where it is not just whether answer and label differ.
        files: The file of each image, below the folder of the data; () where they are none.
    """

    error: float
    predictions: UInt8[Tensor, "images ..."]
    labels: UInt8[Tensor, "images ..."]
    objects: Int[Tensor, " images"] | None = None
    errors: Float[Tensor, " images"] | None = None
    files: tuple[str, ...] = ()

    __repr__ = shapes_repr

    def tensors(self) -> dict[str, Tensor]:
        """Return its tensors with a row for each image by name, on the CPU; files as bytes."""
        named = {"predictions": self.predictions, "labels": self.labels}
        if self.objects is not None:
            named["objects"] = self.objects
        if self.errors is not None:
            named["errors"] = self.errors
        if self.files:
            named["files"] = tensor_file.encoded_texts(self.files)
        return {name: tensor.cpu() for name, tensor in named.items()}


@dataclass(frozen=True)
class TestResult(SplitResult):
    """The results on the test split.

    Attributes:
        extra_tests: Name of an extra test -> the results on its images.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    extra_tests: Mapping[str, SplitResult] = field(default_factory=dict[str, SplitResult])

    __repr__ = shapes_repr

    @property
    def extra_errors(self) -> dict[str, float]:
        """Name of an extra test -> share of its images that are classified wrongly."""
        return {name: result.error for name, result in self.extra_tests.items()}

    def tensors(self) -> dict[str, Tensor]:
        """Return its tensors by name, those of an extra test as `test.NAME.predictions`."""
        extra = {
            f"test.{name}.{of_image}": tensor
            for name, result in self.extra_tests.items()
            for of_image, tensor in result.tensors().items()
        }
        return super().tensors() | extra


class _Step(NamedTuple):
    """A step that was taken.

    Attributes:
        num_done: Steps done with it, counted over all epochs.
        is_last: Whether the epoch has no other.
        num_images: Of its batch.
        loss: Mean over these images, before the step.
        gradient_norms: Euclidean norm of the gradient of each parameter that has one.
    """

    num_done: int
    is_last: bool
    num_images: int
    loss: Float[Tensor, ""]
    gradient_norms: Float[Tensor, " parameters"]


class Training:
    """One training, from its settings and seed to its metrics and its network.

    Iterating trains the epochs that remain. All random numbers come from streams of the seed:
    initial weights, data order, augmentation and routing each have one, so trainings with other
    settings and the same seed see the same images in the same order. Saved between two epochs and
    restored, it resumes with bit-identical weights and metrics on the same CPU.

        for metrics in Training(TrainingConfig(), seed=0):
            print(metrics.epoch, metrics.validation_error)

    Attributes:
        config: All settings.
        seed: Seed of all random numbers.
        device: Device of weights and images.
        checkpointing: Whether capsule layers are computed anew in the backward pass.
        cuda_graph: Whether a GPU gets each step of a full batch as one CUDA graph.
        history: The metrics of every epoch done.
    """

    def __init__(
        self,
        config: TrainingConfig,
        seed: int,
        device: str | torch.device = "cpu",
        *,
        checkpointing: bool = False,
        cuda_graph: bool = False,
        data: DataSplits | None = None,
    ) -> None:
        """Load the data and set the initial weights.

        Args:
            config: All settings.
            seed: Seed of all random numbers.
            device: Device of weights and images.
            checkpointing: Whether capsule layers are computed anew in the backward pass: less
                memory for more time, and the same result to the last bit.
            cuda_graph: Whether a GPU gets each step of a full batch as one CUDA graph, captured in
                the first epoch; elsewhere it changes nothing. It was never run on a GPU:
                `python -m benchmarks.gpu graph` compares it with steps without. The learning rate
                is in single precision then, so the last bits may differ.
            data: Splits to use in place of those that the data set loads.

        Raises:
            ValueError: If the images are too small for the model, or are not those expected, or a
                label is no class, or none of the errors that the loaded validation images can have
                would end the training.
        """
        self.config = config
        self.seed = seed
        self.device = torch.device(device)
        self.checkpointing = checkpointing
        self.cuda_graph = cuda_graph
        self._steps_of: CapturedSteps | None = None
        self.history: tuple[EpochMetrics, ...] = ()
        self._validated: Tensor | None = None  # beliefs of the last epoch, if trained here
        self._best: Mapping[str, Tensor] = {}  # the network's state after the best epoch so far
        self._has_moved = False  # any weight, as far as is known
        self._learner = self._new_learner()
        self._data = data or load_checked(config.data, self.device)
        _check_parts(config, self._data.train)
        if data is None:
            check_stopping(config, self._data.validation)

    @property
    def data(self) -> DataSplits:
        """The splits that it trains, validates and tests on."""
        return self._data

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.history)

    @property
    def tested_epoch(self) -> int:
        """The epoch whose weights are tested if no other is trained; 0 before the first."""
        return self.history[-1].tested_epoch if self.history else 0

    @property
    def num_epochs(self) -> int:
        """The epochs of the whole training; the maximum if it may end earlier."""
        return self.config.stopping.num_epochs

    @property
    def is_done(self) -> bool:
        """Whether no epoch remains."""
        return self.epoch >= self.num_epochs or self._is_reached

    @property
    def target(self) -> Literal["reached", "missed"] | None:
        """Whether the target of the stopping rule is reached; False means missed so far.

        None if the rule has no target.
        """
        if not self.config.stopping.has_target:
            return None
        return "reached" if self._is_reached else "missed"

    @property
    def _is_reached(self) -> bool:
        return bool(self.history) and self.history[-1].reaches_target

    @property
    def num_parameters(self) -> int:
        """The number of trained values."""
        return sum(parameter.numel() for parameter in self._learner.network.parameters())

    @property
    def num_batches(self) -> int:
        """Batches that were begun here, of steps and of evaluations: it grows unless one hangs."""
        return self._learner.num_batches

    def without_gradient(self) -> list[str]:
        """Return the weights that the last step gave no gradient, so that none moves them."""
        return self._learner.without_gradient()

    def without_optimiser(self) -> list[str]:
        """Return the weights that the optimiser does not move."""
        return self._learner.without_optimiser()

    def __iter__(self) -> Iterator[EpochMetrics]:
        """Train the remaining epochs and yield the metrics of each.

        Numbers that are not finite are reported as they are; whether to continue is the caller's
        choice.
        """
        while not self.is_done:
            metrics = self._next_epoch()
            self.history += (metrics,)
            if metrics.best_epoch == metrics.epoch:
                self._best = _copied(self._learner.network.state_dict())
            yield metrics

    def warnings(self) -> tuple[str, ...]:
        """Return the problems of the finished epochs, one sentence each; usually none.

        Those of a training that is done are of the epochs up to the one that is tested.
        """
        history = self.history[: self.tested_epoch] if self.is_done else self.history
        self._has_moved = self._has_moved or not self.history or self._differs_from_initial()
        labels = self._data.validation.labels
        return warnings_of(self.config, labels, history, has_moved=self._has_moved)

    def _differs_from_initial(self) -> bool:
        """Return whether any weight has moved from what the seed gave it, beyond rounding."""
        with torch.random.fork_rng(devices=[]):  # a user's model may draw from the global one
            initial = initial_network(self.config, self.seed)
        at_first = {name: parameter.detach() for name, parameter in initial.named_parameters()}
        largest = max(float(p.abs().max()) for p in at_first.values())
        rounding = torch.finfo(torch.float32).eps * largest
        now = self._learner.network.named_parameters()
        trained = [(name, value) for name, value in now if value.requires_grad]
        pairs = [(value, at_first[name]) for name, value in trained if name in at_first]
        # a weight that is no number has moved
        return not all(((now.detach().cpu() - p).abs() <= rounding).all() for now, p in pairs)

    def find_origin(self, before: Path | None) -> Origin | None:
        """Train again up to the last epoch, check each of its steps, and return what went wrong.

        Call it for a training whose last losses are not finite. It takes the time of those epochs
        and leaves the network in the middle of the last one: afterwards only the history is of use.

        Args:
            before: What `save` wrote after an earlier epoch; None if nothing was saved.

        Returns:
            The first number that is not finite; None where all are this time, or where the
            file is of no earlier epoch.

        Raises:
            ValueError: If the file does not fit the config or is of another seed.
            OSError: If the file cannot be read.
        """
        self._learner = self._new_learner()
        num_saved, last = len(self._read(before)) if before else 0, self.epoch - 1
        if num_saved > last:
            return None
        for epoch in range(num_saved, last):
            losses = [step.loss for step in self._steps(epoch)]
            if not torch.stack(losses).isfinite().all():  # sooner than before
                return None
        return origin_in_epoch(self._learner, self._data, last)

    def test(self) -> TestResult:
        """Return the results on the test split and the extra tests, which nothing else reads."""
        with self._tested_weights():
            test = self._judged(self._data.test, self._progress)
            return TestResult(
                **vars(test),
                extra_tests={
                    name: self._judged(split, self._progress)
                    for name, split in self._data.extra_tests.items()
                },
            )

    def validate(self) -> SplitResult:
        """Return the result on the validation split, of the weights that are tested."""
        split = self._data.validation
        if self._validated is not None and self.tested_epoch == self.epoch:
            return self._result(split, self._validated)
        with self._tested_weights():
            return self._judged(split, min(1.0, self.epoch / self.num_epochs))

    def trained(self) -> Trained:
        """Return a copy of the network with the weights that are tested, for prediction."""
        with self._tested_weights():
            network = copy.deepcopy(self._learner.network)
        return Trained(self.config, self.seed, self.device, network)

    @contextmanager
    def _tested_weights(self) -> Generator[None]:
        """Give the network the weights that are tested while the block runs."""
        network = self._learner.network
        if self.tested_epoch == self.epoch:
            yield
            return
        last = _copied(network.state_dict())
        network.load_state_dict(self._best)
        try:
            yield
        finally:
            network.load_state_dict(last)

    def encoded(self, **facts: Any) -> bytes:
        """Return all state needed to resume as a safetensors file.

        Args:
            **facts: What else its header says, as JSON.
        """
        own_facts = {
            "schema_version": _SCHEMA_VERSION,
            "seed": self.seed,
            "epoch": self.epoch,
            "history": [asdict(metrics) for metrics in self.history],
        }
        best = {f"{_BEST}/{name}": value for name, value in self._best.items()}
        return tensor_file.encoded(self._learner.tensors() | best, facts | own_facts)

    def save(self, path: Path) -> None:
        """Write all state needed to resume to one safetensors file, atomically."""
        write_whole(path, self.encoded())

    @classmethod
    def restore(
        cls,
        path: Path,
        config: TrainingConfig,
        seed: int,
        device: str | torch.device = "cpu",
        *,
        checkpointing: bool = False,
        cuda_graph: bool = False,
        data: DataSplits | None = None,
    ) -> "Training":
        """Return the training that `save` wrote, ready for its next epoch.

        Args:
            path: The file; whether its training was checkpointing does not matter.
            config: All settings.
            seed: Seed of all random numbers.
            device: Device of weights and images.
            checkpointing: As in a new training.
            cuda_graph: As in a new training.
            data: As in a new training.

        Raises:
            ValueError: If the file does not fit the config or is of another seed.
            OSError: If the file cannot be read.
        """
        training = cls(
            config, seed, device, checkpointing=checkpointing, cuda_graph=cuda_graph, data=data
        )
        training.history = training._read(path)
        return training

    def _new_learner(self) -> Learner:
        learner = Learner(self.config, self.seed, self.device)
        learner.network.checkpointing = self.checkpointing
        return learner

    def _read(self, path: Path) -> tuple[EpochMetrics, ...]:
        """Restore the learner from what `save` wrote and return the epochs finished then."""
        history = self._with_end(read_history(path, self.seed))  # not stored by earlier releases
        layout = self._learner.layout(with_optimiser=len(history) > 0)
        if history and history[-1].best_epoch:
            network = self._learner.network.state_dict()
            of_best = {f"{_BEST}/{name}": value for name, value in network.items()}
            layout |= tensor_file.layout_of(of_best)
        tensors, _ = tensor_file.read(path, layout, _SCHEMA_VERSION)
        self._learner.set(path, tensors)
        self._best = under_prefix(_BEST, tensors)
        return history

    @property
    def _progress(self) -> float:
        """Share of the training that is done with the next epoch."""
        return min(1.0, (self.epoch + 1) / self.num_epochs)

    def _next_epoch(self) -> EpochMetrics:
        """Train the next epoch to its end, or until the stopping rule ends the training."""
        started, every = time.perf_counter(), self.config.stopping.judged_every_steps
        steps: list[_Step] = []
        for step in self._steps(self.epoch):
            steps.append(step)
            if not every or step.num_done % every or step.is_last:
                continue
            metrics = self._judged_epoch(steps, started)
            if metrics.reaches_target:
                return metrics
            self._learner.network.train()
        return self._judged_epoch(steps, started)

    def _steps(self, epoch: int) -> Iterator[_Step]:
        """Take the steps of the epoch after `epoch` finished ones, and yield each."""
        learner = self._learner
        if self._steps_of is None or self._steps_of.learner is not learner:
            self._steps_of = CapturedSteps(learner, is_wanted=self.cuda_graph)
        step = self._steps_of
        for batch, moment in learner.batches(self._data.train, epoch):
            taken = step(batch, moment)
            done = moment.step + 1
            yield _Step(done, done % moment.steps_per_epoch == 0, len(batch), *taken)

    def _judged_epoch(self, steps: Sequence[_Step], started: float) -> EpochMetrics:
        """Return the metrics of an epoch that ends after some steps."""
        total = torch.zeros((), device=self.device)
        for step in steps:
            total += step.num_images * step.loss
        train_loss = total / sum(step.num_images for step in steps)
        norms = [step.gradient_norms for step in steps]
        health = gradient_metrics(
            torch.stack([torch.linalg.vector_norm(step_norms) for step_norms in norms])
        )
        layers = largest_gradients(norms, self._learner.sizes_with_gradient())
        judged = self._learner.evaluate(self._data.validation, self._progress)
        labels = self._data.validation.labels
        num_wrong = self._errors_of(judged.beliefs, labels)[1].sum()
        health |= {"class_loss": judged.class_loss, **belief_metrics(judged.beliefs)}
        health |= judged.routing
        measures = measured(self.config, judged.beliefs, labels)
        numbers = [train_loss, judged.loss, num_wrong, *health.values(), *measures.values()]
        numbers += layers.values()
        # The one wait for a GPU in an epoch, or between two judgements.
        train_loss, validation_loss, num_wrong, *others = torch.stack(numbers).tolist()
        losses = [metrics.train_loss for metrics in self.history]
        of_layers = others[len(health) + len(measures) :]
        vanished = vanished_gradients(dict(zip(layers, of_layers, strict=True)))
        self._validated = judged.beliefs
        metrics = EpochMetrics(
            epoch=self.epoch + 1,
            train_loss=train_loss,
            validation_loss=validation_loss,
            validation_error=num_wrong / len(labels),
            duration_seconds=time.perf_counter() - started,
            health=dict(zip(health, others, strict=False))
            | loss_metrics([*losses, train_loss])
            | vanished,
            metrics=dict(zip(measures, others[len(health) :], strict=False)),
        )
        return self._with_end((*self.history, metrics))[-1]

    def _with_end(self, history: tuple[EpochMetrics, ...]) -> tuple[EpochMetrics, ...]:
        """Return a history whose last epoch says whether it ends the training, and what is tested.

        Of the epochs with the lowest validation error that is the first.
        """
        if not history:
            return history
        best = min(history, key=lambda metrics: metrics.validation_error)  # the first of equals
        facts: dict[str, Any] = {"reaches_target": self.config.stopping.ends_with(history)}
        facts["best_epoch"] = best.epoch if self.config.weights == "best" else 0
        return (*history[:-1], replace(history[-1], **facts))

    def _judged(self, split: Images, progress: float) -> SplitResult:
        judged: SplitJudged = self._learner.evaluate(split, progress)
        return self._result(split, judged.beliefs)

    def _errors_of(self, beliefs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the answer for each image and its error; a task of the user's gets copies."""
        task = self.config.data.task
        if is_built_in(type(task)):
            answers = task.answers(beliefs, labels)
            return answers, task.errors(answers, labels)
        answers = task.answers(beliefs.clone(), labels.clone())
        return answers, task.errors(answers.clone(), labels.clone())

    def _result(self, split: Images, beliefs: Float[Tensor, "images classes"]) -> SplitResult:
        answers, errors = self._errors_of(beliefs, split.labels)
        errors = errors.double().cpu()
        is_other = (answers != split.labels).reshape(len(split), -1).any(dim=1).cpu()
        return SplitResult(
            error=errors.mean().item(),
            predictions=answers.to("cpu", torch.uint8),
            labels=split.labels.to("cpu", torch.uint8),
            objects=None if split.objects is None else split.objects.cpu(),
            errors=None if torch.equal(errors, is_other.double()) else errors,
            files=split.files,
        )


def _copied(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in state.items()}


def _check_parts(config: TrainingConfig, train: Images) -> None:
    """Check that a decoder of several classes has the parts that it has to draw.

    Raises:
        ValueError: If the images do not have the parts.
    """
    decoder = getattr(config.model, "reconstruction", NoReconstruction())
    if config.data.task.label_form != "classes" or isinstance(decoder, NoReconstruction):
        return
    if train.of_epoch(0, 0).take(slice(1)).parts is None:
        raise ValueError(
            f"The decoder '{decoder.kind}' draws each class of an image apart, and the data "
            f"'{config.data.kind}' do not say what each looks like: give Images(parts=...), or set "
            f"model.reconstruction=none."
        )


def check_stopping(config: TrainingConfig, validation: Images) -> None:
    """Check that the stopping rule can work with the validation images.

    Raises:
        ValueError: If it cannot.
    """
    if type(config.data.task).errors is Task.errors:  # others may give half an error an image
        config.stopping.check_validation(len(validation))


def read_history(path: Path, seed: int) -> tuple[EpochMetrics, ...]:
    """Return the epochs recorded in a checkpoint's header.

    Raises:
        ValueError: If the file belongs to another seed, or has no history.
        OSError: If the file cannot be read.
    """
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


@torch.inference_mode()
def measured(
    config: TrainingConfig,
    beliefs: Float[Tensor, "images classes"],
    labels: Shaped[Tensor, "images ..."],
) -> dict[str, Float[Tensor, ""]]:
    """Return the metrics that the parts measure on the validation images: name -> value.

    Args:
        config: The training's settings.
        beliefs: Beliefs in each class for each validation image.
        labels: The true classes.

    Raises:
        ValueError: In one sentence, if a part gives other metrics than it declares.
    """
    numbers: dict[str, Float[Tensor, ""]] = {}
    for part in parts_in(config):
        declared = [metric.name for metric in part.epoch_metrics]
        if not declared:
            continue
        measured = _measured_by(part, beliefs, labels)
        if set(measured) != set(declared):
            raise ValueError(
                f"{type(part).__name__} measures {', '.join(measured) or 'nothing'} and declares "
                f"{', '.join(declared)}: its epoch_metrics and measure must agree."
            )
        for name in declared:
            value = torch.as_tensor(measured[name], dtype=torch.float32, device=beliefs.device)
            numbers[name] = value.reshape(())
    return numbers


def _measured_by(part: Part, beliefs: Tensor, labels: Tensor) -> Mapping[str, Any]:
    """Return what a part measures. A user's part gets copies.

    Raises:
        ValueError: If it writes to them.
    """
    if is_built_in(type(part)):
        return part.measure(beliefs, labels)
    handed, true = beliefs.clone(), labels.clone()
    measured = part.measure(handed, true)
    refuse_writing(part, beliefs=(handed, beliefs), labels=(true, labels))
    return measured
