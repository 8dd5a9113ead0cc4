"""The policies of a launch that an argument can replace."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.engines import EngineMaker
from sweeps.execution.engine.failure_policy import FailurePolicy, restart_blameless
from sweeps.execution.engine.placement import Machine, Placement, place_evenly
from sweeps.execution.engine.process.ray_engine import RayEngine


@dataclass(frozen=True)
class Policies:
    """How jobs are placed, what follows a failure, and which engine trains.

    Attributes:
        placement: A pure function.
        failure: Another.
        engine: Makes the engine; None takes the one that the launch's options name.
        begun: Ray's engine that is already starting; None starts one once there is work.
    """

    placement: Placement = place_evenly
    failure: FailurePolicy = restart_blameless
    engine: EngineMaker | None = None
    begun: RayEngine | None = None

    def room(
        self, resources: Resources, machines: Callable[[], Sequence[Machine]] | None = None
    ) -> Room:
        """Return the machines as the placement shares them.

        Args:
            resources: What each trial is given.
            machines: Returns the machines; by default this one.
        """
        return Room(resources, self.placement, machines)


BY_DEFAULT = Policies()
