"""The line at which a process stands or has ended, where nothing can be raised any more.

faulthandler writes the stack of such a process to a file: after a crash of compiled code, at a
signal that ends it, and when another process asks where it is. It needs no lock of Python.
"""

import faulthandler
import os
import re
import signal
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import NoReturn

from search_spaces.user_code import UserLine

_DEADLY = (
    *("SIGHUP", "SIGINT", "SIGQUIT", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2"),
    *("SIGVTALRM", "SIGPROF", "SIGXCPU"),
)
_ASK = signal.SIGURG  # is ignored where nobody has asked for it
_STACK = re.compile(r"^(?:Stack|Current thread|Timeout) .*$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


def trace_end(trace: int) -> None:
    """Have this process write to a file where it is when it ends unexpectedly, or is asked.

    Args:
        trace: Descriptor of the file, which stays open.
    """
    faulthandler.enable(trace, all_threads=False)
    for name in _DEADLY:
        faulthandler.register(getattr(signal, name), trace, all_threads=False, chain=True)
    faulthandler.register(_ASK, trace, all_threads=False)
    leave, traced = os._exit, os.getpid()

    def exit_with_trace(code: int) -> NoReturn:
        if os.getpid() == traced:  # a process that this one forks ends so as well
            faulthandler.dump_traceback(trace, all_threads=False)
        leave(code)

    os._exit = exit_with_trace


@contextmanager
def crashes_to(log: int) -> Generator[None]:
    """Have a crash in the block write its stack to a file.

    Args:
        log: Descriptor of the file.
    """
    was_enabled = faulthandler.is_enabled()  # as in the workers of Ray
    faulthandler.enable(log, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
        if was_enabled:
            faulthandler.enable(2, all_threads=False)


def ask(process_id: int) -> None:
    """Have a process that has called `trace_end` write where it is."""
    os.kill(process_id, _ASK)


def last_line(trace: str, user_files: Collection[str]) -> UserLine | None:
    """Return the innermost line of the user's in the last stack that was written.

    Args:
        trace: What was written.
        user_files: The user's files, as their code was compiled.

    Returns:
        The innermost line of all where none is the user's; None where nothing was written.
    """
    stacks = _STACK.split(trace)
    frames = _FRAME.findall(stacks[-1]) if len(stacks) > 1 else []
    lines = [UserLine(file, int(number)) for file, number in frames if file != __file__]
    return next((line for line in lines if line.file in user_files), lines[0] if lines else None)


def end_text(exit_code: int) -> str:
    """Return how a process ended: "ended with code 3", "was killed by SIGSEGV"."""
    if exit_code >= 0:
        return f"ended with code {exit_code}"
    return f"was killed by {signal.Signals(-exit_code).name}"
