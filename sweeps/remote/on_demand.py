"""Starts on-demand machines while no spot machine can be had, which Ray does not do on AWS.

`cluster.yaml` starts it on the head with `python -m sweeps.remote.on_demand FILE`. Each on-demand
machine has a resource of its own, `on_demand`. A placement group that asks for it makes Ray start
such a machine, where trials that wait for a machine then run. The groups belong to this process: if
it ends, Ray removes them, and the machines go once they are idle.
"""

import logging
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_MARKER = "on_demand"
_POLL_SECONDS = 5.0
_MIN_FAILED_LAUNCHES = 3  # AWS sometimes refuses one and starts the next
_RECENT_SECONDS = 60.0
_log = logging.getLogger(__name__)


@dataclass
class Fallback:
    """What starts instead of the spot machines of a cluster, and the groups that ask for it.

    Attributes:
        spot_types: Names of the types of spot machines.
        resources: What an on-demand machine has.
        most: The largest number of on-demand machines.
        groups: Placement groups, each of which asks for one machine.
    """

    spot_types: frozenset[str]
    resources: Mapping[str, float]
    most: int
    groups: list[Any] = field(default_factory=list[Any])

    def update(self, status: Any, now: float) -> None:
        """Ask for machines while trials wait and spot launches fail; for none when no trial waits.

        Args:
            status: Ray's `ClusterStatus`.
            now: Seconds since the epoch.
        """
        bundles = [*_pending_bundles(status)]
        of_trials = [bundle for bundle in bundles if _MARKER not in bundle]
        needed = num_machines(of_trials, self.resources)
        if not needed:
            self._withdraw()
        elif self._num_failed(status, now) >= _MIN_FAILED_LAUNCHES:
            starting = sum(_MARKER in bundle for bundle in bundles)
            self._ask(min(needed - starting, self.most - len(self.groups)))

    def _num_failed(self, status: Any, now: float) -> int:
        return sum(
            launch.ray_node_type_name in self.spot_types
            and now - (launch.failed_ts_s or 0) < _RECENT_SECONDS
            for launch in status.failed_launches
        )

    def _ask(self, count: int) -> None:
        from ray.util import placement_group

        if count > 0:
            _log.warning("no spot machines: %d on-demand ones are asked for", count)
        for _ in range(count):
            # groups with a constraint are served before the trials', which then fit on the machine
            self.groups.append(placement_group([{_MARKER: 1}], strategy="STRICT_SPREAD"))

    def _withdraw(self) -> None:
        from ray.util import remove_placement_group

        if self.groups:
            _log.warning("no trial waits for a machine any more: no on-demand ones are asked for")
        while self.groups:
            remove_placement_group(self.groups.pop())


def read_fallback(config: Mapping[str, Any]) -> Fallback | None:
    """Return the fallback of a cluster's file, or None if the file allows none.

    Args:
        config: The file as Ray has completed it.
    """
    types = {
        name: node_type
        for name, node_type in config["available_node_types"].items()
        if name != config["head_node_type"] and node_type.get("max_workers")
    }
    on_demand = [node_type for node_type in types.values() if _MARKER in node_type["resources"]]
    spot = frozenset(name for name in types if _MARKER not in types[name]["resources"])
    if not on_demand or not spot:
        return None
    return Fallback(spot, on_demand[0]["resources"], on_demand[0]["max_workers"])


def num_machines(bundles: Iterable[Mapping[str, float]], resources: Mapping[str, float]) -> int:
    """Return how many machines hold all bundles that fit on one.

    Args:
        bundles: What each trial asks for.
        resources: What a machine has.
    """
    shares = 0.0
    for bundle in bundles:
        parts = [each / (resources.get(name) or math.inf) for name, each in bundle.items() if each]
        if all(0 < part <= 1 for part in parts):
            shares += max(parts, default=0.0)
    return math.ceil(shares - 1e-9)


def _pending_bundles(status: Any) -> Iterator[Mapping[str, float]]:
    """Yield what trials and groups wait for."""
    demands = status.resource_demands
    for demand in (*demands.placement_group_demand, *demands.ray_task_actor_demand):
        for entry in demand.bundles_by_count:
            yield from [entry.bundle] * entry.count


def main() -> None:
    """Watch the cluster until Ray's head ends; the argument is the cluster's file on the head."""
    logging.basicConfig(format="%(asctime)s %(message)s")
    file = Path(sys.argv[1]).expanduser()
    fallback = read_fallback(yaml.safe_load(file.read_text(encoding="utf-8")))
    if fallback is None:
        return
    import ray
    from ray.autoscaler.v2.sdk import get_cluster_status

    ray.init(address="auto", namespace="capsweep", log_to_driver=False)
    address = ray.get_runtime_context().gcs_address
    while True:
        fallback.update(get_cluster_status(address), time.time())
        time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())
