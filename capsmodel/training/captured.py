"""Whole steps of a training as a CUDA graph, which a GPU runs without waiting for Python."""

import warnings
from typing import NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.data import Images
from capsmodel.optimisers import Moment
from capsmodel.training.learner import Learner

_WARM_UP_STEPS = 3


class Taken(NamedTuple):
    """What a step leaves behind beside the new weights.

    Attributes:
        loss: Mean over its images, before the step.
        gradient_norms: Euclidean norm of the gradient of each parameter that has one.
    """

    loss: Float[Tensor, ""]
    gradient_norms: Float[Tensor, " parameters"]


def take_step(learner: Learner, batch: Images, moment: Moment) -> Taken:
    """Take a step, operation by operation."""
    loss = learner.differentiate(batch, moment.progress)
    norms = learner.gradient_norms()
    learner.move(moment)
    return Taken(loss, norms)


class StepInTensors:
    """A step in which all that changes from one to the next lies in tensors that stay in place.

    So a graph that has recorded its operations is right for every later step.

    Attributes:
        learner: Its optimiser has tensors as learning rates from now on.
        batch: The images of the next step.
        progress: Share of the training that is done at the next step.
    """

    def __init__(self, learner: Learner, batch: Images) -> None:
        """Make the tensors, for batches like one."""
        self.learner = learner
        parts = None if batch.parts is None else batch.parts.clone()
        self.batch = Images(batch.images.clone(), batch.labels.clone(), parts=parts)
        self.progress = torch.zeros((), dtype=torch.float64, device=learner.device)
        is_cuda = learner.device.type == "cuda"
        kind = torch.float32 if is_cuda else torch.float64  # what PyTorch's kernels take
        for group in learner.optimiser.param_groups:
            group["lr"] = torch.full((), float(group["lr"]), dtype=kind, device=learner.device)
            if is_cuda and "capturable" in group:
                group["capturable"] = True

    def prepare(self, batch: Images, moment: Moment) -> None:
        """Set the tensors for a step."""
        self.batch.images.copy_(batch.images)
        self.batch.labels.copy_(batch.labels)
        if self.batch.parts is not None and batch.parts is not None:
            self.batch.parts.copy_(batch.parts)
        self.progress.fill_(moment.progress)
        self.learner.set_rate(moment)

    def take(self) -> Taken:
        """Take the step that is prepared."""
        loss = self.learner.differentiate(self.batch, cast(float, self.progress))
        norms = self.learner.gradient_norms()
        self.learner.step()
        return Taken(loss, norms)


class CapturedSteps:
    """Takes full batches by replaying a CUDA graph of a whole step, and others step by step.

    The first full batches warm up and are steps of the training too. Where the graph cannot be
    captured, as for a network that looks at values, all steps go operation by operation.

    Attributes:
        learner: Of the training.
    """

    def __init__(self, learner: Learner, *, is_wanted: bool = True) -> None:
        """Begin with no graph.

        Args:
            learner: Of the training.
            is_wanted: Whether there is to be a graph at all.
        """
        self.learner = learner
        self._num_warm = 0
        is_possible = learner.device.type == "cuda" and learner.network.can_be_captured
        self._is_possible = is_wanted and is_possible
        self._step: StepInTensors | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._taken: Taken | None = None

    def __call__(self, batch: Images, moment: Moment) -> Taken:
        """Take a step."""
        if not self._is_possible or len(batch) != self.learner.config.batch_size:
            return take_step(self.learner, batch, moment)
        step = self._step = self._step or StepInTensors(self.learner, batch)
        step.prepare(batch, moment)
        if self._num_warm < _WARM_UP_STEPS:
            self._num_warm += 1
            return _step_on_another_stream(step)
        if self._graph is None:
            self._capture(step)
        if self._graph is None or self._taken is None:
            return take_step(self.learner, batch, moment)
        self._graph.replay()
        return Taken(*(tensor.clone() for tensor in self._taken))

    def _capture(self, step: StepInTensors) -> None:
        """Capture the graph, or note that it is not possible."""
        graph = torch.cuda.CUDAGraph()
        try:
            graph.register_generator_state(self.learner.drawn_from)
            with torch.cuda.graph(graph):
                self._taken = step.take()
        except RuntimeError as error:  # as of what waits for the GPU
            self._is_possible = False
            reason = str(error).partition("\n")[0]
            warnings.warn(
                f"A step of this training cannot be captured as a CUDA graph, so its steps go "
                f"operation by operation: {reason}",
                stacklevel=2,
            )
        else:
            self._graph = graph


def _step_on_another_stream(step: StepInTensors) -> Taken:
    """Take a step on another stream, as PyTorch asks before a capture."""
    stream = torch.cuda.Stream(step.learner.device)
    stream.wait_stream(torch.cuda.current_stream(step.learner.device))
    with torch.cuda.stream(stream):
        taken = step.take()
    torch.cuda.current_stream(step.learner.device).wait_stream(stream)
    return taken
