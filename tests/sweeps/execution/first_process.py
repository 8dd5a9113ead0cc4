"""Python as the first process of a container: whatever it starts has a parent of number 1."""

import os
import shutil
import subprocess
import sys

import pytest

_ALONE = ("unshare", "--pid", "--fork", "--mount-proc")


def as_first_process(code: str, *arguments: str) -> str:
    """Run code as process 1 of a namespace of its own, and return what it prints."""
    can = (
        shutil.which("unshare")
        and not subprocess.run([*_ALONE, "true"], capture_output=True, check=False).returncode
    )
    if not can:
        pytest.skip("no namespace of processes can be made here")
    done = subprocess.run(
        [*_ALONE, sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stdout
