"""Ray as it is in the command line, with token authentication; and a Slurm."""

import os
from collections.abc import Generator

import pytest

from tests.cluster.slurm import Slurm, running_slurm

os.environ.setdefault("RAY_AUTH_MODE", "token")  # which ray reads when a test first imports it


@pytest.fixture(scope="module")
def slurm() -> Generator[Slurm]:
    with running_slurm() as started:
        yield started
