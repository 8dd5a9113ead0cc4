"""A process made ready to train: Ray imports this module in each process that it starts here.

So what every training needs is loaded while the driver still opens its records, and the process
that is given the first order has only to train.
"""

import os

from sweeps.execution.worker.process import keep_freed_memory, prepare_environment

prepare_environment(int(os.environ.get("OMP_NUM_THREADS", "1")))
keep_freed_memory()

import ray.tune  # noqa: E402, F401 - its part that runs trials
import safetensors.torch  # noqa: E402, F401

import capsmodel.training.training  # noqa: E402, F401 - and torch with it
import sweeps.execution.worker.trial  # noqa: E402, F401
