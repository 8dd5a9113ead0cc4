"""A moment of a training: what learning-rate schedules go by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """A moment of a training, between two of its steps.

    Attributes:
        step: Steps done, counted over all epochs.
        steps_per_epoch: Steps of each epoch, at least 1.
        num_epochs: Epochs of the whole training, at least 1.
    """

    step: int
    steps_per_epoch: int
    num_epochs: int

    @property
    def epoch(self) -> int:
        """Whole epochs done."""
        return self.step // self.steps_per_epoch

    @property
    def progress(self) -> float:
        """Share of the training that is done, in [0, 1]."""
        within = self.step % self.steps_per_epoch
        return (self.epoch + within / self.steps_per_epoch) / self.num_epochs
