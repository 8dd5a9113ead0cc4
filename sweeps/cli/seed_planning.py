"""What `plan` does with `--effect`: says how many seeds a difference takes."""

from collections.abc import Mapping
from typing import Any

from sweeps.cli.command_words import launch_again
from sweeps.records.errors import BadInput

_POWER = 0.8


def print_planned_seeds(
    sweep: str,
    options: Mapping[str, Any],
    effect: float | None,
    power: float | None,
    *,
    as_json: bool,
) -> None:
    """Print how many seeds and images a difference takes.

    Args:
        sweep: As it was given.
        options: Of the launch.
        effect: The difference, in points.
        power: How often it is to be found; None for the usual.
        as_json: Refused, as there is no shape for it.

    Raises:
        BadInput: In one sentence.
    """
    from sweeps.cli.printing.seed_plan import print_seed_plan
    from sweeps.execution.launch.seed_plan import plan_seeds

    if as_json:
        raise BadInput("--json has no answer for planned seeds: leave it out, or --effect.")
    if effect is None:
        raise BadInput(
            "--power belongs to --effect: give the difference that is to be found, in points of "
            "test error, such as --effect 0.5."
        )
    planned = plan_seeds(sweep, effect, _POWER if power is None else power, **options)
    print_seed_plan(planned, launch_again())
