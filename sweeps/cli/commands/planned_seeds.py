"""`capsweep plan --effect`: how many seeds and images a difference takes, and which seeds."""

import shlex
from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import detectable_text
from sweeps.aggregation.seed_planning import MOST_SEEDS, SAFE, NeededSeeds, Pilot, SeedsNeeded
from sweeps.cli.terminal import console, plain, say, table_of
from sweeps.execution.launch.seed_plan import SeedPlan
from sweeps.records.plain_text import duration_text, in_ranges, one_line, points_text

_MOST_OF_A_NAME = 64
_MOST_LISTED = 8
_SURE = f"{SAFE:.0%}".replace("%", " %")


def print_seed_plan(plan: SeedPlan, launch: str) -> None:
    """Print what a difference takes, what that costs, and the command that comes next.

    Args:
        plan: What is planned.
        launch: The command that launches the sweep, without seeds and name.
    """
    out = console()
    say(_what_is_asked(plan))
    if plan.needed:
        _print_arms(plan.needed)
    for sentence in (*_what_it_takes(plan), *_which_seeds(plan)):
        say(sentence)
    command = _next_command(plan, launch)
    if plan.pilot_seeds:
        say("A pilot of a few seeds shows it.")
    if plan.num_trainings:
        say(_cost(plan))
    if command:
        say(f"{'Pilot' if plan.pilot_seeds else 'Next'}: {command}")
    if lines := _lines_of_file(plan):
        out.print("Or put them into the sweep's file, as arguments of Sweep(...):")
        for line in lines:
            out.print(f"    {line}", soft_wrap=True)


def _print_arms(needed: SeedsNeeded) -> None:
    table = table_of("arm", "seeds, likely", "seeds, to be safe", numbers=2)
    for arm, seeds in needed.each_arm.items():
        table.add_row(plain(arm), _seeds_cell(seeds.likely), _seeds_cell(seeds.safe))
    if len(needed.each_arm) > 1:
        together = needed.all_arms
        table.add_row("all arms", _seeds_cell(together.likely), _seeds_cell(together.safe))
    console().print(table)


def _cost(plan: SeedPlan) -> str:
    seconds = plan.estimate.seconds
    trainings = f"{plan.num_trainings:,} trainings"
    if seconds is None:
        return f"It takes {trainings}; nothing like them was trained yet, so there is no estimate."
    source = f", {one_line(plan.estimate.source)}" * bool(plan.estimate.source)
    return f"It takes {trainings}, about {duration_text(seconds)}{source}."


def _what_is_asked(plan: SeedPlan) -> str:
    """Return what is to be found."""
    compared = plan.num_arms - 1
    each = "the arm that is" if compared == 1 else f"each of the {compared} arms that are"
    return (
        f"{plan.sweep}: to find a difference of {points_text(plan.effect_points)} of test error "
        f"with power {plan.power:g}, in {each} compared with '{plan.baseline}':"
    )


def _what_it_takes(plan: SeedPlan) -> Iterator[str]:
    """Yield how many seeds and images, and how sure that is."""
    if plan.needed is None:
        yield f"It is not known how far seeds and images move it: {plan.why_no_spread}."
        return
    yield _answer(plan.needed, plan.effect_points)
    pilot = plan.needed.pilot
    if pilot.without:
        yield f"No spread yet, and taken to be as the others: {', '.join(pilot.without)}."
    if apart := [arm.arm for arm in pilot.arms if arm.is_apart]:
        yield (
            f"As a precaution, these arms must also hold by their own seeds, and are planned by "
            f"them: {', '.join(apart)}."
        )


def _which_seeds(plan: SeedPlan) -> Iterator[str]:
    """Yield the seeds that are planned, and why these."""
    if plan.needed is None or plan.seeds is None:
        return
    if plan.is_declared:
        yield f"The sweep's own seeds are enough: {in_ranges(plan.seeds)}."
        return
    yield (
        f"Planned are fresh seeds, {in_ranges(plan.seeds)}: those that the number was computed "
        f"from ({in_ranges(plan.needed.pilot.seeds)}) stay out of the table, which is then as sure "
        f"as if the number had been known from the beginning."
    )
    num_safe = plan.needed.with_pilot_seeds.safe
    if plan.launched_seeds and num_safe is not None and num_safe > len(plan.launched_seeds):
        first = max(plan.launched_seeds) + 1
        added = range(first, first + num_safe - len(plan.launched_seeds))
        yield (
            f"To keep the {len(plan.launched_seeds)} that exist takes {num_safe} in all "
            f"(--add-seeds {in_ranges(added)}): after a possible look at results more evidence is "
            f"needed."
        )


def _next_command(plan: SeedPlan, launch: str) -> str:
    """Return the command that trains the planned seeds or the pilot; "" where there is none.

    Args:
        plan: What is planned.
        launch: The command that launches the sweep, without seeds and name.
    """
    if plan.pilot_seeds:
        return f"{launch} --seeds {in_ranges(plan.pilot_seeds)} --name {_named(plan, 'pilot')}"
    if plan.seeds is None or plan.num_trainings == 0:
        return ""
    seeds = "" if plan.is_declared else f" --seeds {in_ranges(plan.seeds)}"
    is_new = plan.launched_seeds and not plan.is_declared
    return f"{launch}{seeds}" + (f" --name {_named(plan, 'planned')}" if is_new else "")


def _lines_of_file(plan: SeedPlan) -> list[str]:
    """Return the arguments that declare fresh seeds in the sweep's file, and a margin if needed."""
    if plan.seeds is None or plan.is_declared:
        return []
    margin = [] if plan.new_margin is None else [f"margin_points={plan.new_margin!r},"]
    return [*margin, f"seeds={_in_python(plan.seeds)},"]


def _seeds_cell(number: int | None) -> str:
    """Return a number of seeds as a table has it."""
    return "no number" if number is None else f"{number:,}"


def _in_python(seeds: Sequence[int]) -> str:
    if len(seeds) <= _MOST_LISTED or seeds[-1] - seeds[0] + 1 != len(seeds):
        return str([*seeds])
    return f"list(range({seeds[0]}, {seeds[-1] + 1}))"


def _answer(needed: SeedsNeeded, effect_points: float) -> str:
    pilot, seeds = needed.pilot, needed.all_arms
    images = _images(pilot)
    best = TEST_ERROR.shown(needed.at_best)
    if seeds.likely is None and best > effect_points:
        return (
            f"No number of seeds suffices: with {images} only differences of at least about "
            f"{detectable_text(best)} points are detectable. {_more_images(needed)}"
        )
    if seeds.likely is None:
        return f"It takes more than {MOST_SEEDS:,} seeds with {images}: plan for a larger effect."
    rough = f"The spread of {len(pilot.seeds)} seeds is a rough guess"
    if seeds.safe is None:
        return (
            f"It likely takes {_count(seeds.likely)} with {images}. {rough}: that {_SURE} sure, no "
            f"number suffices. Train more seeds first, or plan for a larger effect."
        )
    return (
        f"It takes {_count(seeds.safe)} with {images}. {rough}: likely {_count(seeds.likely)} "
        f"would do, and {seeds.safe:,} do with {_SURE} confidence."
    )


def _more_images(needed: SeedsNeeded) -> str:
    if needed.images is None or needed.with_images is None or needed.with_images.likely is None:
        return "Plan for a larger effect."
    return (
        f"It takes about {_rounded(needed.images):,} images like these, and "
        f"{_either(needed.with_images)} then."
    )


def _either(needed: NeededSeeds) -> str:
    if needed.safe is None or needed.safe == needed.likely:
        return _count(needed.likely or 0)
    return f"{needed.likely:,} to {_count(needed.safe)}"


def _rounded(number: int) -> int:
    """Return a number to two digits, rounded up, as more would say more than is known."""
    step = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // step) * step


def _images(pilot: Pilot) -> str:
    objects = pilot.num_clusters
    of_objects = f" of {objects:,} objects" if objects < pilot.num_images else ""
    return f"the {pilot.num_images:,} existing test images{of_objects}"


def _count(number: int) -> str:
    return f"{number:,} {'seed' if number == 1 else 'seeds'}"


def _named(plan: SeedPlan, word: str) -> str:
    return shlex.quote(f"{plan.sweep[: _MOST_OF_A_NAME - len(word) - 1]}-{word}")
