"""What a search is held against that weighs its objective against a cost."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, cast, get_args

from pydantic import BeforeValidator

from capsmodel.config import TrainingConfig, why_unbuildable
from capsmodel.metrics import VALIDATION_LOSS
from capsmodel.settings.measures import check_is_measured
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import kind_of
from search_spaces.plans.base import Arm, Definition, check_declared_parts
from search_spaces.plans.confirm import Confirm
from search_spaces.plans.ends import End
from search_spaces.plans.objective import measured_objective, weighing_the_loss
from search_spaces.plans.scheduler import SCHEDULERS, NoScheduler, Scheduler
from search_spaces.space.limits import Limit, Measure, measured
from search_spaces.space.proposal import point_of
from search_spaces.space.space import Space
from search_spaces.tables import Table

NUM_TRIED = 64
"""How many points of a space are checked before a search begins."""

DEFAULT_STARTUP = 10
"""Default number of random proposals before a sampler learns."""

COSTS: tuple[str, ...] = get_args(Measure)

_NO_SCHEDULER = NoScheduler().kind

_WEIGHING_THE_COST = ", ".join(kind_of(member) for member in SCHEDULERS if member.pauses)

_LARGEST_GRID = 100_000

LEARNING = ("tpe", "gp", "nsga2")

_OF_CONDITIONAL_SPACES = "tpe, random, grid, qmc"

_OF_ENDLESS_SPACES = "tpe, random, gp, nsga2, qmc"


def _known(cost: object) -> object:
    """Return the cost if it is known before a training.

    Raises:
        ValueError: If it is not.
    """
    if any(word in str(cost) for word in ("second", "memory", "duration")):
        raise ValueError(
            f"The cost of a search cannot be '{cost}': what a trial takes depends on the machine "
            f"and on what else runs there, not on its trial key, so a resumed search would not be "
            f"the one that was begun; choose {', '.join(COSTS)}, and bound what a trial takes by a "
            f"limit, whose measures the search's log keeps: limits=Limit('seconds_per_epoch', "
            f"at_most=2.5) or Limit('peak_memory_bytes', at_most=2_000_000_000)."
        )
    if cost is not None and cost not in COSTS:
        raise ValueError(unknown("cost of a search", str(cost), COSTS))
    return cost


Cost = Annotated[Measure | None, BeforeValidator(_known)]


def check_sampler_name(sampler: object, known: Sequence[str]) -> None:
    """Check that a sampler exists.

    Raises:
        ValueError: If it does not, with the nearest name.
    """
    if sampler not in known:
        raise ValueError(unknown("sampler", str(sampler), known))


def check_sampler(sampler: str, space: Space, trials: int) -> None:
    """Check that a sampler supports the space.

    Raises:
        ValueError: If it does not, with the samplers that do.
    """
    if sampler in {"gp", "nsga2"} and space.is_conditional:
        conditional = next(dimension for dimension in space.dimensions if dimension.conditions)
        raise ValueError(
            f"The sampler {sampler} cannot propose conditional settings such as "
            f"'{conditional.name}': choose {_OF_CONDITIONAL_SPACES}, or leave them out of the "
            f"space."
        )
    if sampler == "grid":
        _check_grid(space)
    if space.num_points is not None and trials > space.num_points:
        raise ValueError(
            f"The space has {space.num_points} points, fewer than the {trials} trials, and none is "
            f"proposed twice: have at most {space.num_points}."
        )


def learns_nothing(sampler: str, trials: int, startup: int) -> bool:
    """Return whether all proposals are random."""
    return sampler == "random" or (sampler in LEARNING and trials <= startup)


def check_objective_comparable(objective: str, space: Space) -> None:
    """Check that the objective is comparable between all points of the space.

    Raises:
        ValueError: If a dimension changes what the objective measures.
    """
    names = {dimension.path: dimension.name for dimension in reversed(space.dimensions)}
    weighing = weighing_the_loss([dimension.path for dimension in space.dimensions])
    if weighing and objective == VALIDATION_LOSS.name:
        raise ValueError(
            f"The objective {objective} cannot be compared where '{names[weighing[0]]}' varies, as "
            f"that changes what the loss measures: choose validation_error."
        )


def check_confirmation(confirm: Confirm, trials: int, seeds: tuple[int, ...]) -> None:
    """Check the number and the seeds of the arms that are confirmed.

    Raises:
        ValueError: If all proposals would be confirmed, or on seeds of the search.
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


def check_random_reference(confirm: Confirm, is_random: bool) -> None:
    """Check that comparing a search with random points makes sense.

    Args:
        confirm: The confirmation of the search.
        is_random: Whether all points of the search are random and none is pruned.

    Raises:
        ValueError: If the search is random itself, or only a random seed is given.
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


def check_definition(definition: Definition, space: Space, objective: str) -> None:
    """Check the space against the base, and that parts and the objective are declared.

    Raises:
        ValueError: If one of them does not fit.
    """
    check_declared_parts(definition.base, definition.parts)
    space.check(definition.base, definition.parts)
    measured_objective(objective, definition)


def check_ends(definition: Definition, ends: Sequence[End], objective: str, num_seeds: int) -> None:
    """Check that every end can occur.

    Raises:
        ValueError: For the first one that cannot.
    """
    metric = measured_objective(objective, definition).metric
    for end in ends:
        end.check_objective(metric, definition.base.stopping.num_epochs * num_seeds)


def check_points(
    space: Space, objective: str, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Check points of a space: their settings must be valid and must measure the objective.

    The space itself checks both ends of each range. Points inside are checked here, since two
    settings may each be allowed but exclude each other.

    Raises:
        ValueError: For the first point that is not valid.
    """
    for params in spread_points(space):
        try:
            check_is_measured(objective, proposed(params).config)
        except ValueError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in params.items())
            raise ValueError(
                f"The space holds points that are no settings ({shown}): {error} Narrow the space."
            ) from error


class UnbuildablePoints(NamedTuple):
    """How many points of a space have a network that cannot be built.

    Attributes:
        number: Number of such points.
        num_tried: Number of points that were tried: all of a small space.
        reason: Why the network of the first one cannot be built.
    """

    number: int
    num_tried: int
    reason: str


def unbuildable_points(
    space: Space, proposed: Callable[[Mapping[str, Any]], Arm]
) -> UnbuildablePoints | None:
    """Return how many points have an unbuildable network, or None if all tried ones build.

    All points of a small space are tried, else points that fill it evenly.
    """
    is_small = space.num_points is not None and space.num_points <= NUM_TRIED
    tried = list(space.grid() if is_small else spread_points(space))
    reasons = [reason for params in tried if (reason := why_unbuildable(proposed(params).config))]
    return UnbuildablePoints(len(reasons), len(tried), reasons[0]) if reasons else None


def check_buildable(
    space: Space, base: TrainingConfig, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Check that the network of some point of the space can be built.

    Raises:
        ValueError: If it can at none that was tried, nor at the base, with the first reason.
    """
    unbuildable = unbuildable_points(space, proposed)
    if unbuildable is None or unbuildable.number < unbuildable.num_tried:
        return
    if point_of(space.dimensions, base) is None:
        raise ValueError(
            f"The network of no point of the space can be built, of {unbuildable.num_tried} that "
            f"were tried: {unbuildable.reason} Narrow the space."
        )


def check_each_measure_once(limits: Sequence[Limit]) -> None:
    """Check that no measure has two limits.

    Raises:
        ValueError: For the first that has.
    """
    measures = [limit.measure for limit in limits]
    if twice := [measure for measure in measures if measures.count(measure) > 1]:
        raise ValueError(f"There are two limits on {twice[0]}: leave one of them out.")


def check_limits(
    limits: Sequence[Limit],
    space: Space,
    base: TrainingConfig,
    proposed: Callable[[Mapping[str, Any]], Arm],
) -> None:
    """Check that the base or one of several points of the space meets the limits.

    Raises:
        ValueError: If none does, with the smallest values found.
    """
    if not limits:
        return
    least = dict.fromkeys(limits, sys.maxsize)
    base_point = point_of(space.dimensions, base)
    for params in (*([base_point] if base_point else []), *spread_points(space)):
        config = proposed(params).config
        if why_unbuildable(config):
            continue
        values = {limit: limit.value(config) for limit in limits}
        if all(value <= limit.at_most for limit, value in values.items()):
            return
        least = {limit: min(least[limit], value) for limit, value in values.items()}
    values = ", ".join(
        f"{limit.description}, where the least is {least[limit]}" for limit in limits
    )
    raise ValueError(
        f"No point of the space keeps the limits, of {NUM_TRIED} that were tried ({values}): raise "
        f"them, or let settings vary that make it smaller."
    )


def check_cost(
    cost: Measure | None, scheduler: Scheduler, ends: Sequence[End], confirm: Confirm | None
) -> None:
    """Check that nothing in a search with a cost decides by the objective alone.

    Raises:
        ValueError: For the first field that does.
    """
    if cost is None:
        return
    if scheduler.kind != _NO_SCHEDULER and not scheduler.pauses:
        raise ValueError(
            f"A search with the cost {cost} cannot have the scheduler {scheduler.kind}, which goes "
            f"by the objective alone and would stop the cheap ones: choose "
            f"{_WEIGHING_THE_COST} or {_NO_SCHEDULER}, or leave out the cost."
        )
    if confirm and confirm.against_random:
        raise ValueError(
            f"A search with the cost {cost} cannot be compared with random points, of which the "
            f"best by the objective alone is taken: leave out against_random, or the cost."
        )
    for end in ends:
        if end.needs_one_objective:
            raise ValueError(
                f"A search with the cost {cost} cannot end at '{end.description}', which asks for "
                f"the best of one objective, and a front has no best: choose AfterEpochs, or fewer "
                f"trials."
            )


def check_cost_varies(
    cost: Measure | None, space: Space, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Check that the cost varies over the space.

    Raises:
        ValueError: If it does not.
    """
    if cost is None:
        return
    configs = [proposed(params).config for params in spread_points(space)]
    values = {measured(cost, config) for config in configs if not why_unbuildable(config)}
    if len(values) == 1:
        raise ValueError(
            f"The cost {cost} is {values.pop():,} at all of {NUM_TRIED} points of the space that "
            f"were tried, so that there is nothing to weigh against the objective: vary a setting "
            f"that changes it, or leave out the cost."
        )


def check_front_table(table: Table, cost: Measure | None) -> None:
    """Check that a front table has a second objective.

    Raises:
        ValueError: If there is one objective.
    """
    if table.kind == "front" and cost is None:
        raise ValueError(
            "The search has one objective, so there is no FrontTable: leave it out, or give a "
            "second one, Search(cost='num_parameters')."
        )


def spread_points(space: Space, num_drawn: int = NUM_TRIED) -> Iterator[Mapping[str, Any]]:
    """Yield points that fill a space evenly, without those that are forbidden."""
    from scipy.stats import qmc

    for point in qmc.Sobol(len(space.dimensions), rng=0).random(num_drawn):
        params = space.at([float(coordinate) for coordinate in point])
        if not space.forbids(params):
            yield params


def _check_grid(space: Space) -> None:
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
