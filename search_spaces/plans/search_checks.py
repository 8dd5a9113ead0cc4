"""What a search is held against that weighs its objective against a cost."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast, get_args

from pydantic import BeforeValidator

from capsmodel.config import TrainingConfig
from capsmodel.metrics import VALIDATION_LOSS
from capsmodel.settings.measures import refuse_unmeasured
from capsmodel.settings.messages import unknown
from search_spaces.plans.base import Arm, Definition, refuse_undeclared_parts
from search_spaces.plans.confirm import Confirm
from search_spaces.plans.ends import End
from search_spaces.plans.objective import measured_objective, weighing_the_loss
from search_spaces.plans.scheduler import NoScheduler, Scheduler
from search_spaces.space.limits import Limit, Measure, measured
from search_spaces.space.proposal import point_of
from search_spaces.space.space import Space
from search_spaces.tables import Table

NUM_TRIED = 64
"""How many points all over a space are looked at before a search begins."""

DEFAULT_STARTUP = 10
"""Proposals at random before a sampler learns, where nothing else is said."""

COSTS: tuple[str, ...] = get_args(Measure)

_NO_SCHEDULER = NoScheduler().kind

_LARGEST_GRID = 100_000

_LEARNING = ("tpe", "gp", "nsga2")

_OF_CONDITIONAL_SPACES = "tpe, random, grid, qmc"

_OF_ENDLESS_SPACES = "tpe, random, gp, nsga2, qmc"


def _known(cost: object) -> object:
    """Return a cost that is known before anything is trained.

    Raises:
        ValueError: In one sentence, if it is another.
    """
    if any(word in str(cost) for word in ("second", "memory", "duration")):
        raise ValueError(
            f"The cost of a search cannot be '{cost}': what a trial takes hangs on the machine and "
            f"on what runs beside it, not on its trial key, so that a search that goes on would "
            f"not be the one that was begun; choose {', '.join(COSTS)}, and read what trials took "
            f"in the cost table."
        )
    if cost is not None and cost not in COSTS:
        raise ValueError(unknown("cost of a search", str(cost), COSTS))
    return cost


Cost = Annotated[Measure | None, BeforeValidator(_known)]


def refuse_unknown_sampler(sampler: object, known: Sequence[str]) -> None:
    """Refuse a sampler that there is not.

    Raises:
        ValueError: Naming the near one.
    """
    if sampler not in known:
        raise ValueError(unknown("sampler", str(sampler), known))


def refuse_sampler(sampler: str, space: Space, trials: int) -> None:
    """Refuse a sampler that cannot do the space.

    Raises:
        ValueError: Naming those that can.
    """
    if sampler in {"gp", "nsga2"} and space.is_conditional:
        conditional = next(dimension for dimension in space.dimensions if dimension.conditions)
        raise ValueError(
            f"The sampler {sampler} cannot propose settings that are not always there, such as "
            f"'{conditional.name}': choose {_OF_CONDITIONAL_SPACES}, or leave them out of the "
            f"space."
        )
    if sampler == "grid":
        _refuse_grid(space)
    if space.num_points is not None and trials > space.num_points:
        raise ValueError(
            f"The space has {space.num_points} points, fewer than the {trials} trials, and none is "
            f"proposed twice: have at most {space.num_points}."
        )


def learns_nothing(sampler: str, trials: int, startup: int) -> bool:
    """Return whether all proposals are drawn at random."""
    return sampler == "random" or (sampler in _LEARNING and trials <= startup)


def refuse_startup(startup: int, sampler: str, trials: int) -> None:
    """Refuse a random start of a sampler that has none, or after which nothing is left to learn.

    Raises:
        ValueError: In one sentence.
    """
    if startup == DEFAULT_STARTUP:
        return
    if sampler not in _LEARNING:
        raise ValueError(
            f"The sampler {sampler} does not learn, so that it has no random start: leave out "
            f"startup={startup}, or choose {', '.join(_LEARNING[:-1])} or {_LEARNING[-1]}."
        )
    if startup >= trials:
        raise ValueError(
            f"A random start of {startup} leaves nothing to learn in {trials} trials: have at "
            f"least {startup + 1} trials, or a smaller startup."
        )


def refuse_varied_objective(objective: str, space: Space) -> None:
    """Refuse an objective that does not measure the same in all of the space.

    Raises:
        ValueError: Naming the dimension.
    """
    names = {dimension.path: dimension.name for dimension in reversed(space.dimensions)}
    weighing = weighing_the_loss([one.path for one in space.dimensions])
    if weighing and objective == VALIDATION_LOSS.name:
        raise ValueError(
            f"The objective {objective} cannot be compared where '{names[weighing[0]]}' varies, as "
            f"that changes what the loss measures: choose validation_error."
        )


def refuse_confirmation(confirm: Confirm, trials: int, seeds: tuple[int, ...]) -> None:
    """Refuse a confirmation that leaves none to be better than, or is on seeds of the search.

    Raises:
        ValueError: In one sentence.
    """
    if confirm.best >= trials:
        raise ValueError(
            f"The best {confirm.best} of {trials} trials cannot be confirmed, as "
            f"some must be left to be better than: have at least {confirm.best + 1} "
            f"trials, or set confirm=None."
        )
    if both := sorted(set(confirm.seeds) & set(seeds)):
        raise ValueError(
            f"The seed {both[0]} is one of the search and of its confirmation, which is to be "
            f"on fresh ones: take others for one of them."
        )


def refuse_random_reference(confirm: Confirm, is_random: bool) -> None:
    """Refuse to hold a search against random points that is made of such, or to draw none.

    Args:
        confirm: What is asked.
        is_random: Whether the search draws all its points at random and stops none.

    Raises:
        ValueError: In one sentence.
    """
    if confirm.against_random and is_random:
        raise ValueError(
            "This search draws all its points at random and trains them in full, so that random "
            "points at equal compute are no other search: leave out against_random=True, or choose "
            "a sampler that learns (with more trials than its random start) or a scheduler."
        )
    if confirm.random_seed and not confirm.against_random:
        raise ValueError(
            f"random_seed={confirm.random_seed} is what random points are drawn by, and none are "
            f"asked for: give against_random=True as well, or leave it out."
        )


def refuse_definition(definition: Definition, space: Space, objective: str) -> None:
    """Refuse a space that the base does not have, and parts and metrics that are not declared.

    Raises:
        ValueError: In one sentence.
    """
    refuse_undeclared_parts(definition.base, definition.parts)
    space.check(definition.base, definition.parts)
    measured_objective(objective, definition)


def refuse_ends(
    definition: Definition, ends: Sequence[End], objective: str, num_seeds: int
) -> None:
    """Refuse ends that never come.

    Raises:
        ValueError: In one sentence.
    """
    metric = measured_objective(objective, definition).metric
    for end in ends:
        end.refuse_for(metric, definition.base.stopping.num_epochs * num_seeds)


def refuse_points(
    space: Space, objective: str, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Refuse a space in which some points are no settings, or have no objective.

    Each end of each range is checked by the space itself; here points of all of it are, as two
    settings may each be allowed and exclude each other.

    Raises:
        ValueError: Naming the first point.
    """
    for params in points_all_over(space):
        try:
            refuse_unmeasured(objective, proposed(params).config)
        except ValueError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in params.items())
            raise ValueError(
                f"The space holds points that are no settings ({shown}): {error} Narrow the space."
            ) from error


def refuse_limits(
    limits: Sequence[Limit],
    space: Space,
    base: TrainingConfig,
    proposed: Callable[[Mapping[str, Any]], Arm],
) -> None:
    """Refuse limits that nothing keeps, of the base's own point and of points all over the space.

    Raises:
        ValueError: Naming the least that a point comes to.
    """
    if not limits:
        return
    least = dict.fromkeys(limits, sys.maxsize)
    own = point_of(space.dimensions, base)
    for params in (*([own] if own else []), *points_all_over(space)):
        values = {limit: limit.value(proposed(params).config) for limit in limits}
        if all(value <= limit.at_most for limit, value in values.items()):
            return
        least = {limit: min(least[limit], value) for limit, value in values.items()}
    told = ", ".join(f"{limit.words}, where the least is {least[limit]}" for limit in limits)
    raise ValueError(
        f"No point of the space keeps the limits, of {NUM_TRIED} that were tried ({told}): raise "
        f"them, or let settings vary that make it smaller."
    )


def refuse_beside_cost(
    cost: Measure | None, scheduler: Scheduler, ends: Sequence[End], confirm: Confirm | None
) -> None:
    """Refuse what decides by one objective in a search that has two.

    Raises:
        ValueError: In one sentence.
    """
    if cost is None:
        return
    if scheduler.kind != _NO_SCHEDULER:
        raise ValueError(
            f"A search with the cost {cost} cannot stop trials early: the scheduler "
            f"'{scheduler.kind}' goes by the objective alone and would drop the cheap ones; leave "
            f"it out (scheduler='{_NO_SCHEDULER}'), or leave out the cost."
        )
    if confirm and confirm.against_random:
        raise ValueError(
            f"A search with the cost {cost} cannot be held against random points, of which the "
            f"best by the objective alone is taken: leave out against_random, or the cost."
        )
    for end in ends:
        if end.asks_for_one_objective:
            raise ValueError(
                f"A search with the cost {cost} cannot end at '{end.words}', which asks for the "
                f"best of one objective, and a front has no best: choose AfterEpochs, or fewer "
                f"trials."
            )


def refuse_same_cost(
    cost: Measure | None, space: Space, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Refuse a cost that is the same all over the space.

    Raises:
        ValueError: In one sentence.
    """
    if cost is None:
        return
    found = {measured(cost, proposed(params).config) for params in points_all_over(space)}
    if len(found) == 1:
        raise ValueError(
            f"The cost {cost} is {found.pop():,} at all of {NUM_TRIED} points of the space that "
            f"were tried, so that there is nothing to weigh against the objective: vary a setting "
            f"that changes it, or leave out the cost."
        )


def refuse_front(table: Table, cost: Measure | None) -> None:
    """Refuse the table of a front where there is one objective.

    Raises:
        ValueError: In one sentence.
    """
    if table.kind == "front" and cost is None:
        raise ValueError(
            "The search has one objective, so there is no FrontTable: leave it out, or give a "
            "second one, Search(cost='num_parameters')."
        )


def points_all_over(space: Space) -> Iterator[Mapping[str, Any]]:
    """Yield so many points of a space that fill it evenly."""
    from scipy.stats import qmc

    for point in qmc.Sobol(len(space.dimensions), rng=0).random(NUM_TRIED):
        yield space.at([float(coordinate) for coordinate in point])


def _refuse_grid(space: Space) -> None:
    for dimension in space.dimensions:
        if dimension.num_values is None:
            raise ValueError(
                f"The sampler grid needs values that can be counted, but '{dimension.name}' is a "
                f"range without steps: give it Choices, or choose {_OF_ENDLESS_SPACES}."
            )
    num_points = cast(int, space.num_points)
    if num_points > _LARGEST_GRID:
        raise ValueError(
            f"The grid has {num_points} points, more than the {_LARGEST_GRID} that can be "
            f"listed: choose {_OF_ENDLESS_SPACES}, or a smaller space."
        )
