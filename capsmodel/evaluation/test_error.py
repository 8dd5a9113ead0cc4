"""The error on the test images."""

from typing import ClassVar, Literal

import torch

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import Evaluation, Findings, beliefs_in, image_errors
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained


class TestError(Evaluation):
    """The share of test images that are classified wrongly, and the class given to each.

    Every trial measures it at its end, with that of the extra tests, so that its final record
    holds it: a sweep that declares it is refused. For the same network both give the same values.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    is_measured_in_training: ClassVar[bool] = True
    kind: Literal["test_error"] = "test_error"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error on the test split; those of extra tests depend on the data set."""
        return (self.metric("test_error"),)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the error, which images count in it, predictions and labels."""
        beliefs, labels = beliefs_in(trained, data.test), data.test.labels
        errors = image_errors(trained, beliefs, labels)
        return Findings(
            metrics={"test_error": errors.mean().item()},
            images={
                "test_error": errors,
                "predictions": trained.config.data.task.answers(beliefs, labels).to(
                    "cpu", torch.uint8
                ),
                "labels": data.test.labels.to("cpu", torch.uint8),
            },
        )
