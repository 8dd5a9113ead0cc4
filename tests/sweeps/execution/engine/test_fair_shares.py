"""Each launch of a cluster gets its fair share: simulated, with a clock that is set by hand."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from sweeps.execution.engine.fair_shares import (
    SILENCE_SECONDS,
    Claim,
    FairShares,
    ShareRequest,
    fair_trials,
)
from sweeps.execution.engine.placement import Machine, Share

FOUR_CORES = (Machine(cpus=0), Machine(cpus=4))
TWO_GPUS = (Machine(cpus=8, gpus=1), Machine(cpus=8, gpus=1))
CPUS, GPUS, HALF = Share(cpus=1), Share(cpus=1, gpus=1.0), Share(cpus=1, gpus=0.5)
TEN_MINUTES = 600


@dataclass
class Launch:
    """A launch whose trials take so many seconds each, by turns.

    Attributes:
        lengths: Seconds of its trials, over and over.
        begins: At which second it reports for the first time.
        ends: At which second it dies.
        num_trials: How many it has in all.
    """

    name: str
    lengths: Sequence[int]
    slot: Share = CPUS
    weight: float = 1.0
    most: int | None = None
    begins: int = 0
    ends: float = math.inf
    num_trials: float = math.inf
    pending: int = 0
    allowed: int = 0
    num_taken: int = 0
    seconds: int = 0
    first_at: int | None = None
    running: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # end, machine

    @property
    def num_left(self) -> float:
        return self.num_trials - self.num_taken

    def claim(self, machines: Sequence[Machine]) -> Claim:
        return Claim(
            launch=self.name,
            slot=self.slot,
            num_running=len(self.running),
            num_pending=self.pending,
            wants_more=self.num_left > self.pending,
            most=self.most,
            weight=self.weight,
            machines=tuple(machines),
        )

    def begin(self, now: int, machine: int) -> None:
        self.running.append((now + self.lengths[self.num_taken % len(self.lengths)], machine))
        self.num_taken += 1
        self.first_at = now if self.first_at is None else self.first_at


class Cluster:
    """Machines whose room goes to who asked first, as Ray gives it; others may take some of it.

    A launch keeps the room of a trial that ends for its next one if it may have one more, as Tune
    does, and takes back what it may no longer have dispatched.
    """

    def __init__(self, machines: Sequence[Machine], *launches: Launch, taken: int = 0) -> None:
        self.machines = machines
        self.launches = launches
        self.taken = taken  # cores of the last machine that somebody else uses
        self.now = 0
        self.shares = FairShares(lambda: float(self.now))
        self.queue: list[Launch] = []

    def run(self, seconds: int) -> dict[str, float]:
        """Let time pass; return the mean number of trials of each launch meanwhile."""
        before = {launch.name: launch.seconds for launch in self.launches}
        for _ in range(seconds):
            self._second()
        return {
            launch.name: (launch.seconds - before[launch.name]) / seconds
            for launch in self.launches
        }

    def _second(self) -> None:
        self.now += 1
        living = [launch for launch in self.launches if launch.begins <= self.now < launch.ends]
        for launch in self.launches:
            if launch not in living:
                launch.running, launch.pending = [], 0
                self.queue = [waits for waits in self.queue if waits is not launch]
        for launch in living:
            self._end_trials(launch)
            self._ask(launch)
        for launch in [*self.queue]:
            if (machine := self._room(launch.slot)) is not None:
                self.queue.remove(launch)
                launch.pending -= 1
                launch.begin(self.now, machine)
        for launch in living:
            launch.seconds += len(launch.running)

    def _ask(self, launch: Launch) -> None:
        launch.allowed = self.shares.beat(launch.claim(self.machines)).num_trials
        while launch.pending and launch.pending + len(launch.running) > launch.allowed:
            self.queue.remove(launch)
            launch.pending -= 1
        while (
            launch.pending + len(launch.running) < launch.allowed
            and launch.num_left > launch.pending
        ):
            self.queue.append(launch)
            launch.pending += 1

    def _end_trials(self, launch: Launch) -> None:
        for end, machine in [*launch.running]:
            if end <= self.now:
                launch.running.remove((end, machine))
                if (
                    len(launch.running) + launch.pending < launch.allowed
                    and launch.num_left > launch.pending
                ):
                    launch.begin(self.now, machine)

    def _room(self, slot: Share) -> int | None:
        for place, machine in enumerate(self.machines):
            on_it = [
                launch.slot
                for launch in self.launches
                for _, where in launch.running
                if where == place
            ]
            foreign = self.taken if place == len(self.machines) - 1 else 0
            cpus = machine.cpus - foreign - sum(share.cpus for share in on_it)
            gpus = machine.gpus - sum(share.gpus for share in on_it)
            if slot.cpus <= cpus and slot.gpus <= gpus + 1e-9:
                return place
        return None


def test_a_launch_that_is_alone_takes_all() -> None:
    assert Cluster(FOUR_CORES, Launch("a", [60])).run(TEN_MINUTES)["a"] > 3.9


@pytest.mark.parametrize("length", [1, 7, 60])
def test_a_small_second_launch_waits_no_longer_than_a_trial_of_the_first(length: int) -> None:
    first = Launch("first", [length], num_trials=20)
    second = Launch("second", [length], begins=length // 2 + 1, num_trials=4)
    cluster = Cluster(FOUR_CORES, first, second)
    cluster.run(20 * length + 60)
    assert second.first_at is not None
    assert second.first_at - second.begins <= length + 1, "a report comes each second"
    assert (first.num_taken, second.num_taken) == (20, 4)
    assert not first.running + second.running, "both end"


FAIR = {
    "two": (FOUR_CORES, [Launch("a", [60]), Launch("b", [60])], [2, 2]),
    "trials of unequal length": (FOUR_CORES, [Launch("a", [40, 90]), Launch("b", [5])], [2, 2]),
    "three on four": (FOUR_CORES, [Launch(name, [30]) for name in "abc"], [4 / 3] * 3),
    "three, unequal": (
        FOUR_CORES,
        [Launch("a", [50]), Launch("b", [20]), Launch("c", [5])],
        [4 / 3] * 3,
    ),
    "more than slots": (FOUR_CORES, [Launch(name, [10]) for name in "abcdefg"], [4 / 7] * 7),
    "two on one, unequal": ((Machine(cpus=1),), [Launch("a", [45]), Launch("b", [5])], [0.5, 0.5]),
    "by weight": (FOUR_CORES, [Launch("a", [20], weight=2), Launch("b", [30])], [8 / 3, 4 / 3]),
    "one that may have few": (FOUR_CORES, [Launch("a", [20], most=1), Launch("b", [20])], [1, 3]),
    "GPUs": (TWO_GPUS, [Launch("a", [40], GPUS), Launch("b", [25], GPUS)], [1, 1]),
    "parts of GPUs": (TWO_GPUS, [Launch("a", [40], HALF), Launch("b", [25], GPUS)], [2, 1]),
    "three, GPUs": (TWO_GPUS, [Launch(name, [20], GPUS) for name in "abc"], [2 / 3] * 3),
    "GPUs and cores": (TWO_GPUS, [Launch("a", [40], GPUS), Launch("b", [25], CPUS)], [2, 14]),
    "GPUs, after cores": (
        TWO_GPUS,
        [Launch("a", [40], GPUS, begins=9), Launch("b", [25, 21], CPUS)],
        [2, 14],
    ),
}


@pytest.mark.parametrize("case", FAIR)
def test_over_ten_minutes_each_launch_gets_its_share_to_a_fifth(case: str) -> None:
    machines, launches, fair = FAIR[case]
    cluster = Cluster(machines, *launches)
    cluster.run(120)  # the first one has taken all
    got = cluster.run(TEN_MINUTES)
    assert [*got.values()] == pytest.approx(fair, rel=0.2)


def test_shares_follow_launches_that_come_die_and_end() -> None:
    steady = Launch("steady", [30])
    dies = Launch("dies", [20], begins=100, ends=900)
    ends = Launch("ends", [10], begins=300, num_trials=40)
    cluster = Cluster(FOUR_CORES, steady, dies, ends)
    cluster.run(99)
    assert cluster.run(1)["steady"] == 4
    assert cluster.run(200)["steady"] == pytest.approx(2, rel=0.2)
    assert cluster.run(300)["steady"] == pytest.approx(4 / 3, rel=0.2)
    cluster.run(300)
    cluster.run(math.ceil(SILENCE_SECONDS) + 30)
    assert cluster.run(60)["steady"] == 4, "the others are gone"


def test_a_launch_that_is_silent_has_left_its_share() -> None:
    now = 0.0
    shares = FairShares(lambda: now)
    silent, beating = (Launch(name, [1]).claim(FOUR_CORES) for name in "ab")
    assert shares.beat(silent).num_trials == 4
    assert shares.beat(beating).num_trials == 2
    now += SILENCE_SECONDS
    assert shares.beat(beating).num_trials == 2
    now += 1
    answer = shares.beat(beating)
    assert (answer.num_trials, answer.num_launches) == (4, 1)


def test_one_that_has_left_is_forgotten_at_once() -> None:
    shares = FairShares(lambda: 0.0)
    leaving, staying = (Launch(name, [1]).claim(FOUR_CORES) for name in "ab")
    shares.beat(leaving)
    shares.leave("a")
    shares.leave("unknown")
    assert shares.beat(staying).num_trials == 4


def test_where_others_than_launches_use_the_cluster_the_rest_is_shared() -> None:
    first, second = Launch("a", [20]), Launch("b", [20], begins=30)
    cluster = Cluster(FOUR_CORES, first, second, taken=2)
    cluster.run(150)
    got = cluster.run(TEN_MINUTES)
    assert [*got.values()] == pytest.approx([1, 1], rel=0.2)


def test_more_than_there_is_room_for_may_wait_so_that_machines_are_started() -> None:
    first = Launch("a", [20], most=16)
    cluster = Cluster(FOUR_CORES, first)
    cluster.run(30)
    assert (len(first.running), first.pending) == (4, 12)
    nothing = Cluster((Machine(cpus=0),), Launch("b", [20], most=3))
    nothing.run(5)
    assert nothing.launches[0].pending == 3


def test_what_waits_for_machines_does_not_keep_another_launch_waiting() -> None:
    first = Launch("a", [20], most=16)
    second = Launch("b", [20], most=16, begins=31)
    cluster = Cluster(FOUR_CORES, first, second)
    cluster.run(31 + 21)
    assert second.first_at is not None
    got = cluster.run(TEN_MINUTES)
    assert [*got.values()] == pytest.approx([2, 2], rel=0.2)
    assert first.pending + second.pending > 0, "the cluster is still to grow"


requests = some.builds(
    ShareRequest,
    trials=some.integers(0, 50).map(float),
    cost=some.tuples(some.sampled_from([0.01, 0.1, 0.25, 1.0]), some.sampled_from([0.0, 0.1, 0.5])),
    weight=some.sampled_from([0.5, 1.0, 3.0]),
)


@given(some.lists(requests, max_size=6))
def test_shares_are_fair_and_waste_nothing(wanted: list[ShareRequest]) -> None:
    named = {str(place): request for place, request in enumerate(wanted)}
    fair = fair_trials(named)
    used = [
        sum(fair[key] * request.cost[place] for key, request in named.items()) for place in (0, 1)
    ]
    assert all(part <= 1 + 1e-6 for part in used)
    level = {key: fair[key] * request.part / request.weight for key, request in named.items()}
    for key, request in named.items():
        assert 0 <= fair[key] <= request.trials + 1e-6
        if fair[key] < request.trials - 1e-6:  # then nobody who uses what it lacks has more
            alike = [k for k, its in named.items() if its.has_gpus is request.has_gpus]
            full = [place for place in (0, 1) if request.cost[place] and used[place] > 1 - 1e-6]
            assert any(
                level[key] >= level[other] - 1e-6
                for place in full
                for other in [
                    max((k for k in alike if named[k].cost[place]), key=level.__getitem__)
                ]
            )


@settings(max_examples=8, deadline=None)
@given(some.randoms(use_true_random=False), some.integers(1, 6), some.integers(1, 5))
def test_launches_with_trials_of_any_length_share_a_cluster(
    chance: random.Random, num_cores: int, num_launches: int
) -> None:
    launches = [
        Launch(str(number), [chance.randint(1, 60) for _ in range(5)], begins=chance.randint(0, 60))
        for number in range(num_launches)
    ]
    cluster = Cluster((Machine(cpus=num_cores),), *launches)
    cluster.run(300)
    got = cluster.run(3600)  # in which a fifth of the smallest share is two of the longest trials
    assert [*got.values()] == pytest.approx([num_cores / num_launches] * num_launches, rel=0.2)
