"""The command of a launch, which its log notes so that another process can name what resumes it."""

import os
import shlex
import sys
from pathlib import Path

from sweeps.records.notify_command import without_notify

RESUME_VARIABLE = "CAPSWEEP_RESUME_COMMAND"
"""Names the command that submits a sweep again, in the environment of its launch."""
_PROGRAM = "capsweep"


def command_arguments() -> tuple[str, ...]:
    """Return the arguments of the command with which this process launches a sweep.

    For a submitted sweep they submit it again. There are none where Python code launches it.
    """
    if submitting := os.environ.get(RESUME_VARIABLE):
        return without_notify(shlex.split(submitting)[1:])
    program, *arguments = sys.argv
    if Path(program).name != _PROGRAM or "run" not in arguments:
        return ()
    return without_notify(arguments[arguments.index("run") :])
