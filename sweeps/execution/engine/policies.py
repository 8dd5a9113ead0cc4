"""What a launch may be handed instead of how it goes by default."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.failure_policy import FailurePolicy, restart_blameless
from sweeps.execution.engine.placement import Machine, Placement, place_evenly
from sweeps.execution.engine.process.ray_engine import RayEngine


@dataclass(frozen=True)
class Policies:
    """How orders are placed, what follows a failure, and who trains.

    Attributes:
        placement: A pure function.
        failure: Another.
        begun: An engine that is being started already; None starts one once there is work.
    """

    placement: Placement = place_evenly
    failure: FailurePolicy = restart_blameless
    begun: RayEngine | None = None

    def room(
        self, resources: Resources, machines: Callable[[], Sequence[Machine]] | None = None
    ) -> Room:
        """Return the machines that are there, as the placement shares them out.

        Args:
            resources: What each trial is given.
            machines: Those that are there; by default this machine.
        """
        return Room(resources, self.placement, machines)


BY_DEFAULT = Policies()
