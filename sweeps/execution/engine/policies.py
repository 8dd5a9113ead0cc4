"""What a launch may be handed instead of how it goes by default."""

from dataclasses import dataclass

from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.failure_policy import FailurePolicy, restart_killed
from sweeps.execution.engine.placement import Placement, place_evenly


@dataclass(frozen=True)
class Policies:
    """How orders are placed, and what follows a failure: pure functions both."""

    placement: Placement = place_evenly
    failure: FailurePolicy = restart_killed

    def room(self, resources: Resources) -> Room:
        """Return the machines that are there, as the placement shares them out."""
        return Room(resources, self.placement)


BY_DEFAULT = Policies()
