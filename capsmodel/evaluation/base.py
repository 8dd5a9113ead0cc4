"""The interface of every evaluation, and the beliefs that it starts from."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from capsmodel.data import DataSet, DataSplits, Images
from capsmodel.functional.tensor_repr import shapes_repr
from capsmodel.metrics import Metric, curve_points
from capsmodel.settings.parts import Part, is_built_in
from capsmodel.tensor_file import encoded_texts
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained

EvaluatedSplit = Literal["validation", "test"]
_ROUNDING = 1e-3  # of a mean in half precision


@dataclass(frozen=True)
class Findings:
    """The results of an evaluation.

    Attributes:
        metrics: Name of each metric that the evaluation declares -> its value.
        images: Name -> what was found of each image that is looked at, in the split's order; fewer
            values than images are those of the first ones. Where a metric is a mean over images,
            each image's own value, a number in [0, 1], under the metric's name: tables then compare
            arms by it, with intervals for new images.
        arrays: Name -> numbers of another shape, such as those that pictures are drawn of.
        pictures: Name -> a PNG file.
        left_out: Why other results are missing, a sentence each.
    """

    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    images: Mapping[str, Shaped[Tensor, "images ..."]] = field(default_factory=dict[str, Tensor])
    arrays: Mapping[str, Shaped[Tensor, "..."]] = field(default_factory=dict[str, Tensor])
    pictures: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    left_out: tuple[str, ...] = ()

    __repr__ = shapes_repr


class UnsuitableNetworkError(ValueError):
    """A network that an evaluation cannot examine, such as one without routing.

    It is no failure of the evaluation: the sentence stands in its record, in place of figures.
    """


class Evaluation(Part, ABC):
    """An examination of a trained network.

    It is not part of a training: it does not enter the trial's key, and may be declared long after
    the training. All random numbers come from the trial's seed.

    Attributes:
        fingerprint: Hash of data that it brings along; "" where it looks at the trial's own
            alone, whose fingerprint is in the trial's key.
        takes: Forms of labels that it can judge by, those of `Task.label_form`.
        is_measured_in_training: Whether every trial's final record holds it already.
    """

    family: ClassVar[str] = "evaluation"
    fingerprint: ClassVar[str] = ""
    takes: ClassVar[frozenset[str]] = frozenset({"class"})
    is_measured_in_training: ClassVar[bool] = False

    @property
    def looks_at(self) -> EvaluatedSplit:
        """The split that it examines, by default the test split, which no selection may use."""
        return "test"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that it returns for any network, each of its split; by default none."""
        return ()

    @property
    def primary(self) -> str:
        """The figure that arms are compared by: a metric, or a curve for the mean under it.

        By default the first curve, else the first fraction that should be small, else "", none.
        """
        curves = [metric.curve for metric in self.metrics if metric.curve]
        fractions = [
            metric.name for metric in self.metrics if metric.is_fraction and metric.direction
        ]
        return next(iter(curves + fractions), "")

    @property
    def most_images(self) -> int | None:
        """How many images of the split it looks at, the first ones; by default None, all."""
        return None

    @property
    def other_trials(self) -> tuple[str, ...]:
        """Trial keys of other networks that it needs; by default none."""
        return ()

    def evaluate_with(
        self, trained: Trained, data: DataSplits, others: Mapping[str, Trained]
    ) -> Findings:
        """Return the findings for a trained network, with the help of others.

        By default what `evaluate` returns. One that names `other_trials` overrides it.

        Args:
            trained: As in `evaluate`.
            data: As in `evaluate`.
            others: Trial key -> its network, of the other trials that exist.

        Raises:
            UnsuitableNetworkError: As `evaluate` does.
            ValueError: As `evaluate` does.
        """
        del others
        return self.evaluate(trained, data)

    @abstractmethod
    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the findings for a trained network.

        Args:
            trained: The network, which is left as it is.
            data: The data set that it was trained with, on the network's device.

        Raises:
            UnsuitableNetworkError: In one sentence, if such networks lack what it examines.
            ValueError: In one sentence, if it cannot evaluate the network or the data.
        """

    def metric(self, name: str, **facts: Any) -> Metric:
        """Return a metric of the evaluation, by default a fraction that should be small.

        Args:
            name: Lower-case letters, digits, `_` and `-`, one of its own.
            **facts: Further facts about it.
        """
        known = {"unit": "fraction", "split": self.looks_at, "moment": "end"}
        return Metric.model_validate({"name": name, **known, **facts})

    def curve(
        self, name: str, axis: str, values: Iterable[float | int], unit: str = "", **facts: Any
    ) -> tuple[Metric, ...]:
        """Return the metrics of a curve: one per point, called `name.axis_value`.

        Args:
            name: Name of the curve, as of a metric.
            axis: Name of the axis, such as "epsilon".
            values: Points on it, ascending; 0 is where nothing is changed.
            unit: Unit of the axis, such as "pixels".
            **facts: Further facts about the metric at each point.

        Raises:
            ValueError: If there are fewer than two points, or they do not ascend.
        """
        return curve_points(self.metric(name, **facts), axis, values, unit)

    def images_of(self, data: DataSplits) -> Images:
        """Return the images that it looks at: a split, or the first images of it."""
        split = data.validation if self.looks_at == "validation" else data.test
        return split if self.most_images is None else split.take(slice(self.most_images))


def findings_of(
    evaluation: Evaluation,
    trained: Trained,
    data: DataSplits,
    others: Mapping[str, Trained] = MappingProxyType({}),
) -> Findings:
    """Return the findings of an evaluation, which must be those that it declares.

    Of a network that it cannot examine they are empty, and say why. One of the user's examines
    copies of the network and of the data, so that none can change what a later one sees.

    Args:
        evaluation: The evaluation.
        trained: The network.
        data: The data set that it was trained with.
        others: Trial key -> network, of the other trials that the evaluation needs.

    Raises:
        ValueError: In one sentence, if it returns something else.
    """
    try:
        return checked_findings(evaluation, trained, data, others)
    except UnsuitableNetworkError as error:
        return Findings(left_out=(str(error),))


def checked_findings(
    evaluation: Evaluation,
    trained: Trained,
    data: DataSplits,
    others: Mapping[str, Trained] = MappingProxyType({}),
) -> Findings:
    """Return what `findings_of` does, of a network that the evaluation can examine.

    Args:
        evaluation: The evaluation.
        trained: The network.
        data: The data set that it was trained with.
        others: Trial key -> network, of the other trials that the evaluation needs.

    Raises:
        UnsuitableNetworkError: In one sentence, if it cannot.
        ValueError: In one sentence, if it returns something else than it declares.
    """
    metrics = evaluation.metrics
    declared = {metric.name for metric in metrics}
    if not is_built_in(type(evaluation)):
        trained, data = trained.copied(), data.copied()
    num_images = len(evaluation.images_of(data))
    findings: Any = (
        evaluation.evaluate_with(trained, data, others)
        if evaluation.other_trials
        else evaluation.evaluate(trained, data)
    )
    if not isinstance(findings, Findings):
        raise ValueError(
            f"The evaluation '{evaluation.kind}' must return Findings, got {findings!r:.80}."
        )
    if wrong := sorted(declared ^ set(findings.metrics)):
        returned = ", ".join(findings.metrics) or "none"
        raise ValueError(
            f"The evaluation '{evaluation.kind}' declares the metrics "
            f"{', '.join(sorted(declared)) or 'none'} and returns {returned}: both must name "
            f"{wrong[0]}, or neither."
        )
    fractions = {metric.name for metric in metrics if metric.is_fraction}
    _check_metrics(evaluation.kind, findings, fractions)
    _check_images(evaluation.kind, findings, num_images)
    return findings


def _check_metrics(kind: str, findings: Findings, fractions: set[str]) -> None:
    """Check that metrics are finite numbers, and fractions what shares and their differences are.

    Args:
        kind: The evaluation's.
        findings: Its own.
        fractions: Names of the metrics that are declared fractions.

    Raises:
        ValueError: Naming the first that is not.
    """
    start = f"The evaluation '{kind}' returns"
    for name, value in findings.metrics.items():
        number: Any = value
        if not isinstance(number, Real) or not math.isfinite(number):
            raise ValueError(
                f"{start} {value!r:.80} as the metric {name}: it must be a finite number; for "
                f"a tensor, return its .item()."
            )
        if name in fractions and abs(float(number)) > 1 + _ROUNDING:
            remedy = f"return {float(number) / 100:.4g}, or " if 1 < float(number) <= 100 else ""
            raise ValueError(
                f"{start} {value!r:.80} as the metric {name}, which is declared a fraction, a "
                f"number from 0 to 1, or from -1 for a difference of two: {remedy}declare it by "
                f"self.metric('{name}', unit=None)."
            )


def _check_images(kind: str, findings: Findings, num_images: int) -> None:
    """Check that images have one value each, of which a metric of the same name is the mean.

    Raises:
        ValueError: Naming the first that has not.
    """
    start = f"The evaluation '{kind}' returns"
    for name, values in findings.images.items():
        result: Any = values
        if not isinstance(result, Tensor) or result.ndim == 0 or len(result) > num_images:
            shape = list(result.shape) if isinstance(result, Tensor) else repr(result)[:80]
            raise ValueError(
                f"{start} images['{name}'] of shape {shape} for {num_images} images: it must be a "
                f"tensor with one row for each, or for the first ones."
            )
        if (metric := findings.metrics.get(name)) is None:
            continue
        if not _are_shares(result):
            raise ValueError(
                f"{start} images['{name}'] beside a metric of that name: it must hold one number "
                f"in [0, 1] for each image."
            )
        mean = float(result.double().mean())
        if not abs(mean - metric) <= _ROUNDING:  # NaN of no images is not
            raise ValueError(
                f"{start} images['{name}'], {len(result)} numbers whose mean is {mean:.4g}, and "
                f"the metric {name}, {float(metric):.4g}: a metric beside images of its name must "
                f"be their mean, or have another name."
            )


def _are_shares(values: Tensor) -> bool:
    return values.ndim == 1 and bool(((values >= 0) & (values <= 1)).all())


Change = Callable[[Tensor], Tensor]


def as_they_are(images: Tensor) -> Tensor:
    """Return images unchanged."""
    return images


def beliefs_in(
    trained: Trained, split: Images, change: Change = as_they_are
) -> Float[Tensor, "images classes"]:
    """Return the network's belief in each class, in [0, 1], of each image of a split.

    Args:
        trained: The network.
        split: The images, on the network's device.
        change: Change of each batch before the network sees it.
    """
    starts = range(0, len(split), EVALUATION_BATCH_SIZE)
    batches = (split.take(slice(start, start + EVALUATION_BATCH_SIZE)) for start in starts)
    return torch.cat([trained.predict(change(batch.images)).lengths for batch in batches])


def encoded_names(data: DataSet) -> dict[str, Shaped[Tensor, " bytes"]]:
    """Return the class names as an array of the evaluation, or {} if classes have numbers only.

    Names are bytes with line breaks between them; one in a name becomes a space.
    """
    return {"class_names": encoded_texts(data.class_names)} if data.class_names else {}


def image_errors(
    trained: Trained,
    beliefs: Float[Tensor, "images classes"],
    labels: Shaped[Tensor, "images ..."],
) -> Float[Tensor, " images"]:
    """Return the error of each image by the task of the network's data, in [0, 1], on the CPU."""
    task = trained.config.data.task
    return task.errors(task.answers(beliefs, labels), labels).double().cpu()


def shown(
    classes: Int[Tensor, " images"], labels: Shaped[Tensor, "images ..."]
) -> Bool[Tensor, " images"]:
    """Return whether each image is of its class, or shows it among several."""
    if labels.ndim == 1:
        return classes == labels
    return labels.gather(1, classes.unsqueeze(1)).squeeze(1).bool()
