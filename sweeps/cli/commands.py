"""The command line: reads words, calls what Python users call, prints what comes back.

Nothing heavy is imported before a command needs it: `--help` loads neither torch, ray nor mlflow.
"""

import os
import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sweeps.cli.command_words import again, program, where
from sweeps.cli.launch_words import RUN_ALONE, launching
from sweeps.cli.options import (
    LaunchedNameOption,
    NameArgument,
    OutOption,
    PicturesOption,
    ReportedArgument,
    StorageOption,
    TrackingOption,
)
from sweeps.records.errors import BadInput, SweepError

if TYPE_CHECKING:
    from sweeps.execution.driver.options import LaunchArguments
    from sweeps.execution.driver.result import SweepResult

app = typer.Typer(
    help="Sweeps over capsule networks that lose nothing, and tables rebuilt from their records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_sweeps() -> None:
    """List the named sweeps."""
    from search_spaces.catalogue import named_sweeps
    from sweeps.cli.console import print_names

    print_names([(entry.name, entry.summary) for entry in named_sweeps()])


@app.command()
def parts(
    kind: Annotated[str | None, typer.Argument(help="Of one kind or family, in full.")] = None,
) -> None:
    """List the parts that trainings are made of, or one of them with its settings."""
    from capsmodel.config import TrainingConfig
    from capsmodel.part_descriptions import described_parts, profiles_of
    from sweeps.cli.console_parts import print_parts

    try:
        found = described_parts(kind)
    except ValueError as error:
        raise BadInput(str(error)) from None
    print_parts(found, profiles_of(TrainingConfig), in_full=kind is not None)


@app.command()
@launching(without=RUN_ALONE)
def plan(sweep: str, options: "LaunchArguments") -> None:
    """Say what `run` would do: cells there, cells to train and why, and an estimate."""
    from sweeps.cli.console_plan import print_plan
    from sweeps.execution.launch.run import plan as plan_launch

    print_plan(plan_launch(sweep, **options))


@app.command()
@launching()
def run(sweep: str, options: "LaunchArguments") -> None:
    """Train the cells that are empty, record them in MLflow, rebuild the table."""
    from sweeps.cli.console import print_result

    result = _launched(sweep, options)
    place = cast("str | None", options.get("storage")), options.get("tracking_uri")
    print_result(result, again(), program(), where(*place))
    _leave(result.exit_code)


@app.command()
def status(
    name: NameArgument, storage: StorageOption = None, tracking_uri: TrackingOption = None
) -> None:
    """Show how far a sweep is: what is finished, running, failed or missing, arm by arm."""
    from sweeps.cli.console import print_status
    from sweeps.execution.driver.status import sweep_status

    print_status(sweep_status(name, tracking_uri, storage))


@app.command()
def report(
    sweep: ReportedArgument,
    name: LaunchedNameOption = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rebuild a sweep's tables and figures from its manifest and records alone."""
    from sweeps.aggregation.report import report as rebuild
    from sweeps.cli.arguments import read_reported
    from sweeps.cli.console import print_report

    declared, tables = read_reported(sweep)
    print_report(rebuild(name or declared, tracking_uri, storage, tables=tables))


@app.command()
def best(
    name: NameArgument,
    count: Annotated[int, typer.Option("--count", "-n", help="How many arms.")] = 10,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rank a sweep's arms by mean last-epoch validation error."""
    from sweeps.aggregation.query import best_configs
    from sweeps.cli.console import print_best

    print_best(name, best_configs(name, tracking_uri, storage, count))


@app.command()
def show(
    trial: Annotated[str, typer.Argument(help="The beginning of a trial key, or a run id.")],
    pictures: PicturesOption = False,
    out: OutOption = "pictures",
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show one trial: its config, its curve, where its weights lie, and what they draw."""
    from sweeps.cli.console import print_pictures, print_trial

    if pictures:
        from sweeps.aggregation.pictures.trial_pictures import pictures as draw

        print_pictures(draw(trial, tracking_uri, storage, out))
        return
    from sweeps.aggregation.query import show as show_trial

    print_trial(show_trial(trial, tracking_uri, storage))


@app.command()
def ui(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = 5000,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Browse the records in MLflow's own UI, on this machine only."""
    from sweeps.tracking.mlflow.dashboard import serve

    serve(port, tracking_uri, storage)


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    try:
        app()
    except SweepError as error:
        typer.echo(f"capsweep: {error}", err=True)
        raise SystemExit(error.exit_code) from None


def _launched(sweep: str, options: "LaunchArguments") -> "SweepResult":
    from sweeps.execution.launch.run import run as run_launch

    try:
        return run_launch(sweep, **options)
    except KeyboardInterrupt:
        typer.echo("capsweep: interrupted before anything was started.", err=True)
        raise typer.Exit(130) from None


def _leave(code: int) -> None:
    """Leave with a launch's exit code.

    An interrupted one leaves without the second that Python takes to unload torch and ray.
    """
    if code == 130:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)
