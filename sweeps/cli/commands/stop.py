"""`capsweep stop`."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.hints import resume_hint
from sweeps.cli.options import NameArgument, StorageOption
from sweeps.cli.terminal import say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.remote.submissions import check_known, submission_of

if TYPE_CHECKING:
    from sweeps.execution.launch_process.stop import RunningLaunch


_NO_LIMIT = "none"


def stop(
    name: NameArgument,
    now: Annotated[
        bool, typer.Option("--now", help="End at once, as a second Ctrl-C does.")
    ] = False,
    max_concurrent: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="End nothing: run so many trials at once from now on; 'none' for as many as fit.",
        ),
    ] = None,
    storage: StorageOption = None,
) -> None:
    """End the launch of a sweep, as Ctrl-C in its terminal does, and wait for its end."""
    if max_concurrent is not None:
        if now:
            raise BadInput("--now ends the launch and --max-concurrent does not: give one of them.")
        _set_concurrency(name, max_concurrent, storage)
        return
    if submission := submission_of(name, storage):
        from sweeps.cli.remote_sweeps import stop_there

        if stop_there(submission, is_now=now) and not is_quiet():
            typer.echo("Submit it again to go on.")
        return
    check_known(name, storage)
    from sweeps.execution.launch_process.stop import running_launch

    launch = running_launch(name, storage)
    launch.ask_to_end(is_now=now)
    if not is_quiet():
        typer.echo(
            f"Asked process {launch.process.pid}, the launch of '{name}', to end"
            f"{' at once' if now else ''}. Waiting until it has; Ctrl-C ends only the waiting."
        )
    launch.wait()
    typer.echo("It has ended. Finished trials and the last checkpoint of each other are kept.")
    if not is_quiet():
        typer.echo(f"Go on with: {_resume_hint(launch)}")


def _set_concurrency(name: str, text: str, storage: str | None) -> None:
    """Have a launch train another number of trials at once; those that run go on."""
    most = _read_number(text)
    if submission := submission_of(name, storage):
        from sweeps.cli.remote_sweeps import set_concurrency_there

        set_concurrency_there(submission, text)
        return
    check_known(name, storage)
    from sweeps.execution.launch_process.concurrency import request_concurrency

    request_concurrency(name, most, storage)
    if not is_quiet():
        trials = "as many trials as fit" if most is None else f"{most:,} trial{'s' * (most != 1)}"
        say(f"The launch of '{name}' runs {trials} at once from now on, within some seconds.")


def _read_number(text: str) -> int | None:
    if text == _NO_LIMIT:
        return None
    if not re.fullmatch("[0-9]{1,9}", text) or not int(text):
        raise BadInput(
            f"--max-concurrent takes a whole number of at least 1, or '{_NO_LIMIT}' for as many as "
            f"fit, got '{text}'."
        )
    return int(text)


def _resume_hint(launch: "RunningLaunch") -> str:
    """Return what resumes a launch."""
    command = launch.command
    arguments = command[command.index("run") :] if "run" in command else ()
    return resume_hint(arguments, launch.folder, launch.sweep)
