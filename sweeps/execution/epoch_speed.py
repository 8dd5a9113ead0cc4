"""How long an epoch of a network takes on one thread of the CPU, by steps on a few images."""

import time

import torch

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSplits, Images
from capsmodel.training.learner import Learner, presented

_FEW, _MORE = 8, 32  # images of a step
_SLOW_SECONDS = 0.2
_FORWARD_SHARE = 1 / 3  # of a step, which goes forward and back


def seconds_per_epoch(config: TrainingConfig, splits: DataSplits) -> float:
    """Return a rough guess of the seconds that an epoch takes.

    A step on 8 images and one on 32 give what a step costs and what an image adds; a network that
    takes long for 8 images takes no more, as the images then cost nearly all of it. An epoch is its
    steps, and a pass over the validation images that takes a third of the time an image. Drawing
    and augmenting images are left out.
    """
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            learner = Learner(config, 0, torch.device("cpu"))
            few = _step(learner, splits.train, _FEW)
            if is_quick := few < _SLOW_SECONDS:  # the first step of an optimiser takes longer
                few = min(few, _step(learner, splits.train, _FEW))
            more = _step(learner, splits.train, _MORE) if is_quick else None
    finally:
        torch.set_num_threads(num_threads)
    return _of_an_epoch(config, splits, few, more)


def _step(learner: Learner, train: Images, number: int) -> float:
    """Take a step on the first images; return its seconds."""
    images = presented(train.take(slice(number)), learner.config.augmentation.plain)
    started = time.perf_counter()
    learner.differentiate(images, 0.0)
    learner.step()
    return time.perf_counter() - started


def _of_an_epoch(
    config: TrainingConfig, splits: DataSplits, few: float, more: float | None
) -> float:
    """Return the seconds of an epoch.

    Args:
        config: The config.
        splits: All images.
        few: Seconds of a step on 8 images.
        more: Seconds of a step on 32, None if an image is to be an eighth of `few`.
    """
    most = few / _FEW
    per_image = most if more is None else min(max((more - few) / (_MORE - _FEW), 0.0), most)
    per_step = few - _FEW * per_image
    num_steps = -(-len(splits.train) // config.batch_size)
    num_images = len(splits.train) + _FORWARD_SHARE * len(splits.validation)
    return num_steps * per_step + num_images * per_image
