"""What is known of a point before training: whether its network can be built, and its size."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from capsmodel.config import TrainingConfig, why_unbuildable
from search_spaces.plans.base import Definition
from search_spaces.plans.search import FLAGS_WITH_LIMITS, Search
from search_spaces.space.limits import Measure, measured
from sweeps.execution.search.unseen import identity
from sweeps.records.manifest_plan import Plain

Params = dict[str, Plain]

_BUILDABLE = "the network can be built"
_ALLOWED = "nothing that is forbidden"
_BROKEN_EXCESS = 1.0


class Measures:
    """The limits and costs of the points of one search. It caches values to save time.

    A point whose network cannot be built breaks every limit, also where no limit is declared.

    Args:
        search: With limits or a cost, or with neither.
        definition: The sweep's definition.
    """

    def __init__(self, search: Search, definition: Definition) -> None:
        self._search = search
        self._definition = definition
        self._known: dict[object, int] = {}
        self._buildable: dict[object, bool] = {}

    @property
    def are_used(self) -> bool:
        """Whether the search has limits, a cost or broken points that samplers learn from."""
        is_bounded = self._search.limits or self._search.space.forbid
        return bool(is_bounded or self._search.cost or self.broken_points)

    def constraints(
        self, point: Mapping[str, Any], excesses: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the constraints of a point for samplers, above 0 where it breaks one.

        Args:
            point: The point.
            excesses: By how much its trials exceed the limits on what is measured; those that are
                missing are not known, and taken as kept.
        """
        measured = {
            limit.description: excesses.get(limit.description, 0.0)
            for limit in self._search.measured_limits
        }
        return self.excesses(point) | measured

    def costs(self, point: Mapping[str, Any]) -> tuple[float, ...]:
        """Return the logarithm of the second objective, for samplers.

        A factor of two is the same distance everywhere.
        """
        cost = self._search.cost
        if cost and not self._is_buildable(point):  # it is never trained
            return (0.0,)
        return (math.log(max(1, self._value(cost, point))),) if cost else ()

    def excesses(self, point: Mapping[str, Any]) -> dict[str, float]:
        """Return the logarithm of how much a point exceeds each limit before training.

        At most 0 within it. Where values are forbidden together, not to have them is a limit too. A
        search without any has one constraint, that the network can be built. Points that are no
        valid settings are refused elsewhere.
        """
        limits, space = self._search.limits_before_training, self._search.space
        names = [limit.description for limit in limits] + [_ALLOWED] * bool(space.forbid)
        if space.forbids(point) or not self._is_buildable(point):
            return dict.fromkeys(names or [_BUILDABLE], _BROKEN_EXCESS)
        values = {
            limit.description: math.log(
                max(1, self._value("num_parameters", point)) / limit.at_most
            )
            for limit in limits
        }
        return dict.fromkeys(names or [_BUILDABLE], -_BROKEN_EXCESS) | values

    def holds(self, point: Mapping[str, Any]) -> bool:
        """Return whether a point is within the limits and its network can be built."""
        return all(excess <= 0 for excess in self.excesses(point).values())

    @cached_property
    def broken_points(self) -> tuple[Params, ...]:
        """Points all over the space that break a limit, for a sampler that learns from them.

        They depend on the search alone. So the sampler knows the same about the limits whatever was
        proposed, and a repeated proposal is the same.
        """
        from scipy.stats import qmc

        space, flags = self._search.space, FLAGS_WITH_LIMITS.get(self._search.sampler, {})
        num_tried = flags.get("points_tried")
        if not num_tried:
            return ()
        tried = qmc.Sobol(len(space.dimensions), rng=0).random(num_tried)
        points = (space.at([float(place) for place in each]) for each in tried)
        return tuple(point for point in points if not self.holds(point))

    def _value(self, measure: Measure, point: Mapping[str, Any]) -> int:
        key = (measure, identity(point))
        if key not in self._known:
            config = self._config(point)
            if config is None:
                return 0
            self._known[key] = measured(measure, config)
        return self._known[key]

    def _is_buildable(self, point: Mapping[str, Any]) -> bool:
        key = identity(point)
        if key not in self._buildable:
            config = self._config(point)
            self._buildable[key] = config is None or not why_unbuildable(config)
        return self._buildable[key]

    def _config(self, point: Mapping[str, Any]) -> TrainingConfig | None:
        """Return the config of a point, None if it is no valid settings."""
        try:
            return self._search.arm(self._definition, "a proposal", point).config
        except ValueError:
            return None
