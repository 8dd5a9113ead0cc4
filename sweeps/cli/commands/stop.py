"""`capsweep stop`."""

from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.hints import resume_hint
from sweeps.cli.options import NameArgument, StorageOption
from sweeps.cli.verbosity import is_quiet
from sweeps.remote.submissions import check_known, submission_of

if TYPE_CHECKING:
    from sweeps.execution.launch_process.stop import RunningLaunch


def stop(
    name: NameArgument,
    now: Annotated[
        bool, typer.Option("--now", help="End at once, as a second Ctrl-C does.")
    ] = False,
    storage: StorageOption = None,
) -> None:
    """End the launch of a sweep, as Ctrl-C in its terminal does, and wait for its end."""
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


def _resume_hint(launch: "RunningLaunch") -> str:
    """Return what resumes a launch."""
    command = launch.command
    arguments = command[command.index("run") :] if "run" in command else ()
    return resume_hint(arguments, launch.folder, launch.sweep)
