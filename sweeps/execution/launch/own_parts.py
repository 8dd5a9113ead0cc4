"""A user's own parts, tried in a child process while the engine starts.

A sweep that has passed is remembered by its trial keys in the user's cache, and not tried again.
"""

import hashlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory, TemporaryFile

import torch

from search_spaces.evaluation_key import evaluation_key
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key
from search_spaces.user_code import user_files
from sweeps.execution.last_line import end_text, last_line, trace_end
from sweeps.execution.sweep_check import CheckFailed, Trying, check_import, check_sweep
from sweeps.execution.view.live_view import print_line
from sweeps.execution.worker.worker_process import (
    die_with_parent,
    enter_trial_folder,
    environment_of,
)
from sweeps.records.errors import BadInput
from sweeps.storage.locations import user_cache

_TIMEOUT_SECONDS = 60.0
_END_SECONDS = 1.0
_PASSED = "passed"  # in the user's cache
_LEFT_TO_LAUNCH = "left"


def try_own_parts(
    sweep: Sweep,
    source: str | None,
    timeout_seconds: float = _TIMEOUT_SECONDS,
    *,
    shows_errors: bool = False,
) -> None:
    """Try a sweep with parts of the user's own in a child process, unless it has passed before.

    A child that takes longer is ended; what it tried last, and at which line, is printed. Only a
    system that can fork has such a child.

    Args:
        sweep: The sweep.
        source: The text of its file.
        timeout_seconds: When the child is ended.
        shows_errors: Whether the launch itself shows what the user's code raises, with its
            traceback or in a debugger. Only wrong results are refused then.

    Raises:
        BadInput: If something in the sweep does not work.
    """
    can_fork = "fork" in multiprocessing.get_all_start_methods()
    if not sweep.parts or not can_fork or _is_there(passed := _passed(sweep)):
        return
    context = multiprocessing.get_context("fork")  # torch and the user's file are loaded already
    answers, sender = context.Pipe(duplex=False)
    with (
        TemporaryFile() as trace,
        TemporaryDirectory(prefix="capsweep-", ignore_cleanup_errors=True) as folder,
    ):
        places = {"folder": folder, "trace": trace.fileno(), "parent": os.getpid()}
        arguments = (sweep, source, sender, shows_errors)
        child = context.Process(target=_try_all, args=arguments, kwargs=places, daemon=True)
        child.start()
        sender.close()
        try:
            failure = _wait(child, answers, time.monotonic() + timeout_seconds)
            child.terminate()  # it writes where it is
            child.join(_END_SECONDS)
        finally:
            child.kill()
            child.join()
            answers.close()
        trace.seek(0)
        modules = [sys.modules[part.__module__] for part in sweep.parts]
        files = {str(getattr(module, "__file__", None)) for module in modules}  # none in a notebook
        line = last_line(trace.read().decode(errors="replace"), files | user_files())
    if failure:
        place = f" ({line})" if line else ""
        print_line(f"The check of your own parts {failure}{place}. The launch goes on without it.")
    elif failure is None:
        _remember(passed)


def _wait(child: BaseProcess, answers: Connection, deadline: float) -> str | None:
    """Return why the child did not try all of it, None if all works, "" if some is left."""
    last = "before anything was tried"
    try:
        while answers.poll(max(0.0, deadline - time.monotonic())):
            error, step = answers.recv()
            if error:
                raise BadInput(error)
            if step in {"", _LEFT_TO_LAUNCH}:
                return "" if step else None
            last = f"at {step}"
    except EOFError:
        child.join()
        return f"{end_text(child.exitcode or 0)}, {last}"
    return f"took too long, {last}"


def _try_all(
    sweep: Sweep,
    source: str | None,
    sender: Connection,
    shows_errors: bool,
    *,
    folder: str,
    trace: int,
    parent: int,
) -> None:
    """Send what is tried, each as (error, what); at the end ("", "") or ("", _LEFT_TO_LAUNCH)."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    trace_end(trace)
    die_with_parent(parent)
    os.environ.update(environment_of())  # as in a trial
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # what the user's code prints would stand among the progress
        os.dup2(silence, descriptor)
    sys.stdout = sys.stderr = os.fdopen(silence, "w")
    sys.breakpointhook = lambda *_, **__: None  # a debugger is for the training
    torch.set_num_threads(1)  # threads of the parent do not exist here
    enter_trial_folder(folder)
    last = ""
    for result in chain(_imported(source), check_sweep(sweep)):
        if isinstance(result, CheckFailed) and shows_errors and result.is_raised:
            last = _LEFT_TO_LAUNCH
        elif isinstance(result, CheckFailed):
            sender.send((str(result), ""))
        elif isinstance(result, Trying):
            sender.send(("", result.subject))
    sender.send(("", last))


def _imported(source: str | None) -> Iterator[CheckFailed]:
    """Yield why a sweep's file cannot be run once more, if it cannot."""
    try:
        check_import(source)
    except CheckFailed as failed:
        yield failed


def _passed(sweep: Sweep) -> str:
    """Return what identifies a sweep that has passed: its arms, evaluations and versions."""
    arms = sweep.initial_arms()
    keys = {trial_key(config, 0) for config in (sweep.base, *(arm.config for arm in arms))}
    keys |= {evaluation_key(evaluation) for evaluation in sweep.evaluations}
    facts = [*sorted(keys), repr(sweep.plan), version("capsweep"), torch.__version__]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:20]


def _is_there(passed: str) -> bool:
    with suppress(OSError, BadInput, RuntimeError):  # no folder that can be read, or no home
        return passed in (user_cache() / _PASSED).names()
    return False


def _remember(passed: str) -> None:
    with suppress(OSError, BadInput, RuntimeError):  # else it is tried again
        os.close((user_cache() / _PASSED).make(0o700).append(passed))
