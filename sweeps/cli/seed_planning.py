"""What `plan` does with `--effect`: says how many seeds it takes, and writes them."""

from typing import TYPE_CHECKING

import typer

from sweeps.cli.command_words import launch_again
from sweeps.records.errors import BadInput

if TYPE_CHECKING:
    from sweeps.execution.driver.options import LaunchArguments

_POWER = 0.8


def told_seeds(
    sweep: str,
    options: "LaunchArguments",
    effect: float | None,
    power: float | None,
    *,
    write: bool,
    as_json: bool,
) -> None:
    """Print how many seeds and images a difference takes, and put them into the sweep's file.

    Args:
        sweep: As it was given.
        options: Of the launch.
        effect: The difference, in points.
        power: How often it is to be found; None for the usual.
        write: Whether they are written.
        as_json: Refused, as there is no shape for it.

    Raises:
        BadInput: In one sentence.
        typer.Exit: With 1, where there is nothing to write.
    """
    from sweeps.cli.printing.seed_plan import print_seed_plan, print_written
    from sweeps.execution.launch.planning.seed_plan import plan_seeds
    from sweeps.execution.launch.planning.written_plan import own_file, write_plan

    if as_json:
        raise BadInput("--json tells of no planned seeds: leave it out, or --effect.")
    if effect is None:
        raise BadInput(
            "--power and --write say more of --effect: give the difference that is to be found, "
            "in points of test error, such as --effect 0.5."
        )
    file = own_file(sweep) if write else None
    planned = plan_seeds(sweep, effect, _POWER if power is None else power, **options)
    changed = None if file is None or planned.seeds is None else write_plan(file, planned)
    print_seed_plan(planned, launch_again(), is_written=changed is not None)
    if file is not None:
        print_written(changed, file)
        raise typer.Exit(changed is None)
