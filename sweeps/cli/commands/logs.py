"""`capsweep logs`."""

from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.completion import sweeps_and_trials
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import showable

if TYPE_CHECKING:
    from sweeps.remote.submissions import Submission


def logs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL",
            help="The beginning of a trial key, a run id, or a launched sweep: its name or file.",
            callback=launched_name,
            autocompletion=sweeps_and_trials,
        ),
    ],
    *,
    is_followed: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the log until the end, or Ctrl-C.")
    ] = False,
    lines: Annotated[
        int | None, typer.Option("--lines", "-n", help="Number of last lines [default: all].")
    ] = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Print the log of a trial, or of a sweep's launches."""
    from sweeps.execution.launch_process.logs import find_log
    from sweeps.remote.submissions import check_known, submission_of

    if lines is not None and lines < 1:
        raise BadInput(f"--lines takes a number of lines of at least 1, given was {lines}.")
    if submission := submission_of(name, storage, tracking_uri):
        _print_there(submission, lines, is_followed=is_followed)
        return
    check_known(name, storage, tracking_uri)
    is_empty = True
    for text in find_log(name, storage, tracking_uri).texts(lines, is_followed=is_followed):
        typer.echo(text, nl=False)
        is_empty = is_empty and not text
    if is_empty:
        typer.echo("The log is empty: nothing was printed.", err=True)


def _print_there(submission: "Submission", lines: int | None, *, is_followed: bool) -> None:
    """Print what the launch of a submitted sweep has printed."""
    from sweeps.cli.remote_sweeps import OF_RAY, follow_to_end, leave_report
    from sweeps.remote.submit import head_of, job_state

    head = head_of(submission)
    if is_followed:
        raise typer.Exit(follow_to_end(head, submission, is_live=False))
    state, text = job_state(head, submission)
    for line in OF_RAY.sub("", text).splitlines()[-(lines or 0) :]:
        typer.echo(showable(line))
    if state.has_ended:
        leave_report(head, submission)
