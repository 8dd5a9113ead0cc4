"""What a search is held against: its space, sampler, objective and confirmation go together."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from capsmodel.settings.measures import refuse_unmeasured
from search_spaces.plans.base import Arm, Definition
from search_spaces.plans.confirm import Confirm
from search_spaces.plans.objective import measured_objective
from search_spaces.plans.own_parts import refuse_undeclared_parts
from search_spaces.space.settings_tree import is_at_or_below
from search_spaces.space.space import Space

_LARGEST_GRID = 100_000
_NUM_TRIED = 64
_OF_CONDITIONAL_SPACES = "tpe, random, grid, qmc"
_OF_ENDLESS_SPACES = "tpe, random, gp, qmc"


def refuse_sampler(sampler: str, space: Space, trials: int) -> None:
    """Refuse a sampler that cannot do the space.

    Raises:
        ValueError: Naming those that can.
    """
    if sampler == "gp" and space.is_conditional:
        conditional = next(dimension for dimension in space.dimensions if dimension.conditions)
        raise ValueError(
            f"The sampler gp cannot propose settings that are not always there, such as "
            f"'{conditional.name}': choose {_OF_CONDITIONAL_SPACES}, or leave them out of the "
            f"space."
        )
    if sampler == "grid":
        _refuse_grid(space, trials)


def refuse_varied_objective(objective: str, space: Space) -> None:
    """Refuse an objective that does not measure the same in all of the space.

    Raises:
        ValueError: Naming the dimension.
    """
    weighing = ("loss", "model.reconstruction")
    for dimension in space.dimensions if objective == "validation_loss" else ():
        if any(is_at_or_below(dimension.path, path) for path in weighing):
            raise ValueError(
                f"The objective validation_loss cannot be compared where '{dimension.name}' "
                f"varies, as that changes what the loss measures: choose validation_error."
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


def refuse_definition(definition: Definition, space: Space, objective: str) -> None:
    """Refuse a space that the base does not have, and parts and metrics that are not declared.

    Raises:
        ValueError: In one sentence.
    """
    refuse_undeclared_parts(definition.base, definition.parts)
    space.check(definition.base, definition.parts)
    measured_objective(objective, definition)


def refuse_points(
    space: Space, objective: str, proposed: Callable[[Mapping[str, Any]], Arm]
) -> None:
    """Refuse a space in which some points are no settings, or have no objective.

    Each end of each range is checked by the space itself; here points of all of it are, as two
    settings may each be allowed and exclude each other.

    Raises:
        ValueError: Naming the first point.
    """
    from scipy.stats import qmc

    points = qmc.Sobol(len(space.dimensions), rng=0).random(_NUM_TRIED)
    for point in points:
        params = space.at([float(coordinate) for coordinate in point])
        try:
            refuse_unmeasured(objective, proposed(params).config)
        except ValueError as error:
            shown = ", ".join(f"{name} = {value}" for name, value in params.items())
            raise ValueError(
                f"The space holds points that are no settings ({shown}): {error} Narrow the space."
            ) from error


def _refuse_grid(space: Space, trials: int) -> None:
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
    if trials > num_points:
        raise ValueError(
            f"The grid has {num_points} points, fewer than the {trials} trials: have at "
            f"most {num_points}."
        )
