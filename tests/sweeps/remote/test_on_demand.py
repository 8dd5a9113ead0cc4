"""When on-demand machines are asked for, and how many; test_emulated_ec2.py does it with Ray."""

from collections.abc import Mapping
from typing import Any

import pytest
import ray.util
import yaml
from ray.autoscaler.v2.schema import (
    ClusterStatus,
    LaunchRequest,
    PlacementGroupResourceDemand,
    RayTaskActorDemand,
    ResourceDemandSummary,
    ResourceRequestByCount,
)

from sweeps.remote.on_demand import Fallback, num_machines, read_fallback
from tests.pages import ROOT

_MACHINE = {"CPU": 4, "GPU": 1, "on_demand": 1}
_NOW = 1e9


class Groups:
    """Ray's placement groups. A group is pending until the machine it asks for has started.

    Attributes:
        there: All existing groups.
    """

    def __init__(self) -> None:
        self.there: list[Mapping[str, float]] = []

    def make(self, bundles: list[Mapping[str, float]], strategy: str) -> Mapping[str, float]:
        assert strategy == "STRICT_SPREAD"
        self.there += bundles
        return bundles[0]

    def remove(self, group: Mapping[str, float]) -> None:
        self.there.remove(group)


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Groups:
    groups = Groups()
    monkeypatch.setattr(ray.util, "placement_group", groups.make)
    monkeypatch.setattr(ray.util, "remove_placement_group", groups.remove)
    return groups


def status(trials: int, *, starting: int = 0, failed: int = 0, seconds_ago: float = 1.0) -> Any:
    """Return the state of a cluster in which trials with a quarter of a GPU wait."""
    demands = [({"CPU": 1, "GPU": 0.25}, trials), ({"on_demand": 1}, starting)]
    launch = LaunchRequest(
        instance_type_name="g5.xlarge",
        ray_node_type_name="spot",
        count=1,
        state=LaunchRequest.Status.FAILED,
        request_ts_s=int(_NOW - 100),
        failed_ts_s=int(_NOW - seconds_ago),
    )
    return ClusterStatus(
        failed_launches=[launch] * failed,
        resource_demands=ResourceDemandSummary(
            placement_group_demand=[
                PlacementGroupResourceDemand(
                    bundles_by_count=[ResourceRequestByCount(bundle, count)],
                    pg_id="1",
                    strategy="PACK",
                    state="PENDING",
                    details="",
                )
                for bundle, count in demands
                if count
            ],
        ),
    )


def fallback(most: int = 3) -> Fallback:
    return Fallback(frozenset({"spot"}), _MACHINE, most)


def test_as_many_are_asked_for_as_the_waiting_trials_fill(groups: Groups) -> None:
    machines = fallback()
    machines.update(status(trials=7, failed=3), _NOW)
    assert groups.there == [{"on_demand": 1}] * 2


def test_no_more_are_asked_for_while_they_start(groups: Groups) -> None:
    machines = fallback()
    machines.update(status(trials=7, failed=3), _NOW)
    machines.update(status(trials=7, failed=3, starting=2), _NOW)
    assert len(groups.there) == 2
    machines.update(status(trials=9, failed=3, starting=2), _NOW)
    assert len(groups.there) == 3
    machines.update(status(trials=90, failed=3, starting=3), _NOW)
    assert len(groups.there) == 3  # the most


@pytest.mark.parametrize(
    ("failed", "seconds_ago"),
    [(0, 1.0), (2, 1.0), (9, 60.0)],
    ids=["none failed", "two failed", "failed long ago"],
)
def test_none_is_asked_for_while_spot_machines_come(
    groups: Groups, failed: int, seconds_ago: float
) -> None:
    fallback().update(status(trials=7, failed=failed, seconds_ago=seconds_ago), _NOW)
    assert not groups.there


def test_none_is_asked_for_any_more_when_no_trial_waits(groups: Groups) -> None:
    machines = fallback()
    machines.update(status(trials=7, failed=3), _NOW)
    machines.update(status(trials=0, starting=2, failed=3), _NOW)
    assert not groups.there
    machines.update(status(trials=1, failed=3), _NOW)
    assert len(groups.there) == 1


def test_trials_that_no_placement_group_holds_count_too(groups: Groups) -> None:
    now = status(trials=0, failed=3)
    demand = RayTaskActorDemand(bundles_by_count=[ResourceRequestByCount({"CPU": 3}, 2)])
    now.resource_demands.ray_task_actor_demand.append(demand)
    fallback().update(now, _NOW)
    assert len(groups.there) == 2


@pytest.mark.parametrize(
    ("bundles", "expected"),
    [
        ([], 0),
        ([{"GPU": 1}] * 3, 3),
        ([{"GPU": 0.1, "CPU": 0}] * 10, 1),
        ([{"CPU": 4}, {"GPU": 1, "CPU": 1}], 2),
        ([{"CPU": 5}], 0),
        ([{"TPU": 1}], 0),
    ],
    ids=["none", "whole GPUs", "tenths", "two resources", "too large", "unknown resource"],
)
def test_the_scarcest_resource_decides(bundles: list[dict[str, float]], expected: int) -> None:
    assert num_machines(bundles, _MACHINE) == expected


@pytest.mark.parametrize(
    ("spot", "on_demand", "is_there"),
    [(4, 2, True), (4, 0, False), (0, 4, False)],
    ids=["both", "spot alone", "on-demand alone"],
)
def test_the_file_allows_it_where_both_kinds_may_start(
    spot: int, on_demand: int, is_there: bool
) -> None:
    config = yaml.safe_load((ROOT / "cluster.yaml").read_text(encoding="utf-8"))
    types = config["available_node_types"]
    types["spot"]["max_workers"], types["on_demand"]["max_workers"] = spot, on_demand
    read = read_fallback(config)
    assert (read is not None) == is_there
    assert read is None or read == Fallback(frozenset({"spot"}), _MACHINE, on_demand)
