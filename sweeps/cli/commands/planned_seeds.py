"""`capsweep plan --effect`: how many seeds and images a difference takes, and which seeds."""

import shlex
from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import detectable_text
from sweeps.aggregation.seed_planning import MOST_SEEDS, PLANNED, SAFE, Pilot, SeedsNeeded
from sweeps.aggregation.statistics.arm_spread import TAIL
from sweeps.cli.terminal import console, plain, say
from sweeps.execution.launch.seed_plan import SeedPlan
from sweeps.records.plain_text import duration_text, in_ranges, one_line, points_text

_MOST_OF_A_NAME = 64
_MOST_LISTED = 8


def print_seed_plan(plan: SeedPlan, launch: str) -> None:
    """Print what a difference takes, what that costs, and the command that comes next.

    Args:
        plan: What is planned.
        launch: The command that launches the sweep, without seeds and name.
    """
    out = console()
    say(_what_is_asked(plan))
    if plan.needed:
        _print_arms(plan)
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


def _print_arms(plan: SeedPlan) -> None:
    """Print how many seeds each arm takes alone, and why where no number is enough."""
    from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable

    directions = _directions(plan)
    pilot = next(iter(directions.values())).pilot
    names = [arm.arm for arm in pilot.arms]
    why = {name: _why_no_number(name, [*directions.values()]) for name in names}
    why |= {name: f"taken to be as the others: {reason}" for name, reason in pilot.without.items()}
    columns = [FittedColumn("arm"), *(FittedColumn(title, "right") for title in directions)]
    notes = [FittedColumn("note")] if any(why.values()) else []
    table = FittedTable([*columns, *notes])
    for name, note in why.items():
        cells = [
            _seeds_cell(needed.each_arm[name]) if name in names else "-"
            for needed in directions.values()
        ]
        table.add_row(*map(plain, (name, *cells, *([note] if notes else []))))
    if len(why) > 1:
        cells = [_seeds_cell(needed.all_arms.planned) for needed in directions.values()]
        table.add_row("all arms", *cells, *([""] if notes else []))
    console().print(table)


def _directions(plan: SeedPlan) -> dict[str, SeedsNeeded]:
    """Return what is needed by the heading of its column."""
    both = (("seeds if it errs more", plan.if_more), ("seeds if it errs less", plan.if_less))
    return {heading: needed for heading, needed in both if needed}


def _why_no_number(arm: str, directions: Sequence[SeedsNeeded]) -> str:
    """Return why no number of seeds is enough to find a difference of an arm; "" where one is."""
    for needed in directions:
        if needed.each_arm[arm] is None:
            best = needed.at_best[arm]
            if best <= abs(needed.effect):
                return f"more than {MOST_SEEDS:,} seeds"
            if needed.effect < 0 and best > needed.pilot.baseline_error:
                return "the images limit it: no arm that errs less is sure to be found"
            shown = detectable_text(TEST_ERROR.shown(best))
            return f"the images limit it: {shown} points at best"
    return ""


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
    arms = "the arm" if compared == 1 else f"each of the {compared} arms"
    errs = "it errs" if compared == 1 else "these err"
    direction = f"{errs} less" if plan.effect_points < 0 else f"{errs} more or less"
    return (
        f"{plan.sweep}: to find with power {plan.power:g} that {arms} compared with "
        f"'{plan.baseline}' differs by {_distance(plan)} of test error, if {direction}:"
    )


def _distance(plan: SeedPlan) -> str:
    return points_text(abs(plan.effect_points))


def _what_it_takes(plan: SeedPlan) -> Iterator[str]:
    """Yield how many seeds and images, and how sure that is."""
    if plan.needed is None:
        yield f"It is not known how far seeds and images move it: {plan.why_no_spread}."
        return
    yield _answer(plan.needed, abs(plan.effect_points))
    yield from _of_one_direction(plan)
    if apart := [arm.arm for arm in plan.needed.pilot.arms if arm.is_apart]:
        yield (
            f"The seeds of this arm vary more than those of the others (Cochran's test, p < "
            f"{TAIL:g}), so it is planned by its own: {', '.join(apart)}."
        )


def _of_one_direction(plan: SeedPlan) -> Iterator[str]:
    """Yield what arms that err less alone take, or that no arm can err so much less, or more."""
    more, less = plan.if_more, plan.if_less
    if plan.effect_points < 0 or plan.baseline_error is None:
        return
    if more is None or less is None:
        yield (
            f"No arm can err {_distance(plan)} {'less' if less is None else 'more'}: "
            f"'{plan.baseline}' errs on {TEST_ERROR.shown(plan.baseline_error):.2f} % of the test "
            f"images."
        )
    elif less.all_arms.planned and less.all_arms.planned != more.all_arms.planned:
        yield (
            f"To find only arms that err less takes {_count(less.all_arms.planned)}: "
            f"--effect {-plan.effect_points:g} plans these."
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
    num_in_all = plan.needed.with_pilot_seeds.planned
    if plan.launched_seeds and num_in_all is not None and num_in_all > len(plan.launched_seeds):
        first = max(plan.launched_seeds) + 1
        added = range(first, first + num_in_all - len(plan.launched_seeds))
        yield (
            f"To keep the {len(plan.launched_seeds)} that exist takes {num_in_all} in all "
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


def _answer(needed: SeedsNeeded, distance_points: float) -> str:
    pilot, seeds = needed.pilot, needed.all_arms
    images = _images(pilot)
    if seeds.planned is None:
        return _no_number(needed, distance_points)
    rough = (
        f"The spread of {len(pilot.seeds)} seeds is a rough guess: about {10 * PLANNED:.0f} of 10 "
        f"such numbers are large enough"
    )
    safe = "no number is" if seeds.safe is None else f"{seeds.safe:,} would be"
    takes = f"It takes {_count(seeds.planned)} with {images}."
    return f"{takes} {rough}; {safe} in about {10 * SAFE:.0f} of 10."


def _no_number(needed: SeedsNeeded, distance_points: float) -> str:
    """Return why no number of seeds is enough for all arms, and what would do."""
    images, best = _images(needed.pilot), TEST_ERROR.shown(max(needed.at_best.values()))
    known = [number for number in needed.each_arm.values() if number is not None]
    without = [arm for arm, number in needed.each_arm.items() if number is None]
    arms = f" for {', '.join(without)}" if known else ""
    others = f" The other arms take {_count(max(known))}." if known else ""
    if best <= distance_points:
        more = f"It takes more than {MOST_SEEDS:,} seeds with {images}{arms}"
        return f"{more}: plan for a larger effect.{others}"
    return (
        f"No number of seeds suffices{arms}: with {images} only differences of at least about "
        f"{detectable_text(best)} points are detectable. {_more_images(needed)}{others}"
    )


def _more_images(needed: SeedsNeeded) -> str:
    then = needed.with_images
    if needed.images is None or then is None or then.planned is None:
        return "Plan for a larger effect."
    return (
        f"It takes about {_rounded(needed.images):,} images like these, and "
        f"{_count(then.planned)} then."
    )


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
