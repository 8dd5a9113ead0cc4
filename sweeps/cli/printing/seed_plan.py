"""What `capsweep plan --effect` prints: how many seeds and images a difference takes."""

from typing import TYPE_CHECKING

from rich.console import Console

from sweeps.cli.printing.console import console, table_of
from sweeps.cli.printing.seed_plan_words import (
    lines_of_file,
    next_command,
    seeds_cell,
    what_is_asked,
    what_it_takes,
    which_seeds,
)
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from sweeps.aggregation.planning.needed import SeedsNeeded
    from sweeps.execution.launch.seed_plan import SeedPlan


def print_seed_plan(plan: "SeedPlan", launch: str) -> None:
    """Print what a difference takes, what that costs, and the command that comes next.

    Args:
        plan: What is planned.
        launch: The command that launches the sweep, without seeds and name.
    """
    out = console()
    _say(what_is_asked(plan), out)
    if plan.needed:
        _print_arms(plan.needed, out)
    for sentence in (*what_it_takes(plan), *which_seeds(plan)):
        _say(sentence, out)
    command = next_command(plan, launch)
    if plan.pilot_seeds:
        _say("A pilot of a few seeds tells.", out)
    if plan.num_trainings:
        _say(_cost(plan), out)
    if command:
        _say(f"{'Pilot' if plan.pilot_seeds else 'Next'}: {command}", out)
    if lines := lines_of_file(plan):
        out.print("Or put them into the sweep's file, as arguments of Sweep(...):")
        for line in lines:
            out.print(f"    {line}", soft_wrap=True)


def _print_arms(needed: "SeedsNeeded", out: Console) -> None:
    table = table_of("arm", "seeds, likely", "seeds, to be safe", numbers=2)
    for arm, own in needed.each_arm.items():
        table.add_row(plain(arm), seeds_cell(own.likely), seeds_cell(own.safe))
    if len(needed.each_arm) > 1:
        together = needed.all_arms
        table.add_row("all arms", seeds_cell(together.likely), seeds_cell(together.safe))
    out.print(table)


def _cost(plan: "SeedPlan") -> str:
    from sweeps.execution.view.live_view import clock

    seconds = plan.estimate_seconds
    trainings = f"{plan.num_trainings:,} trainings"
    if seconds is None:
        return f"It takes {trainings}; nothing like them was trained yet, so there is no estimate."
    return f"It takes {trainings}, about {clock(seconds)}."


def _say(sentence: str, out: Console) -> None:
    out.print(plain(sentence), soft_wrap=True)
