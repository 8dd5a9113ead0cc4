"""What a search is held against that weighs its objective against a cost."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator

from capsmodel.settings.later_field import later
from capsmodel.settings.messages import unknown
from search_spaces.plans.base import Arm
from search_spaces.plans.confirm import Confirm
from search_spaces.plans.ends import End
from search_spaces.plans.scheduler import NoScheduler, Scheduler
from search_spaces.plans.search_rules import NUM_TRIED, points_all_over
from search_spaces.space.measure import Measure, measured
from search_spaces.space.space import Space
from search_spaces.tables import Table

COSTS: tuple[str, ...] = get_args(Measure)
NO_SCHEDULER = NoScheduler().kind


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
NO_COST: Any = later(None)


def refuse_beside_cost(
    cost: Measure | None, scheduler: Scheduler, ends: Sequence[End], confirm: Confirm | None
) -> None:
    """Refuse what decides by one objective in a search that has two.

    Raises:
        ValueError: In one sentence.
    """
    if cost is None:
        return
    if scheduler.kind != NO_SCHEDULER:
        raise ValueError(
            f"A search with the cost {cost} cannot stop trials early: the scheduler "
            f"'{scheduler.kind}' goes by the objective alone and would drop the cheap ones; leave "
            f"it out (scheduler='{NO_SCHEDULER}'), or leave out the cost."
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
