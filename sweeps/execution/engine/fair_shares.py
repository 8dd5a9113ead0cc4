"""Fair shares of a cluster: how many trials each launch that uses it may have dispatched.

Each launch reports once a second what it runs and wants. It takes what is free. Where launches want
more than there is, each takes its fair share: launches of one weight get the same share, measured
by the scarcest resource that their trials take. No running trial is ended for that. Where a share
is no whole number of trials, the launch that is furthest behind takes the rest. So each gets its
share over time, even where fewer trials fit than there are launches. Launches whose trials use GPUs
share the GPUs, and the others share the remaining cores.

Source: Ghodsi et al. 2011, "Dominant resource fairness: fair allocation of multiple resource
types".
Difference: GPUs first, and shares of whole trials come from what each launch has had so far.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from sweeps.execution.engine.placement import Machine, Share, num_that_fit

SILENCE_SECONDS = 5.0
"""After so long without a report a launch counts as dead."""
_STUCK_SECONDS = 30.0  # so long no trial waits for its process that nobody else is in the way of
_VAIN_SECONDS = 600.0  # so long launches that use GPUs and others give way to each other
_TINY = 1e-9
_BOTH = (0, 1)  # cores and GPUs


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Claim(_Value):
    """What a launch reports.

    Attributes:
        launch: Its id.
        slot: What a trial takes of a machine.
        num_running: Trials that have a process.
        num_pending: Dispatched trials that wait for one.
        wants_more: Whether it would dispatch more if it might.
        most: How many it may have at once by its options; None for any number.
        weight: Of its share, relative to those of others.
        machines: What each machine of the cluster has.
    """

    launch: str
    slot: Share
    num_running: int = 0
    num_pending: int = 0
    wants_more: bool = True
    most: int | None = None
    weight: float = 1.0
    machines: tuple[Machine, ...]


class Allowance(_Value):
    """The answer.

    Attributes:
        num_trials: How many trials the launch may have dispatched now, running ones included.
        num_launches: How many launches share the cluster, this one included.
        fair_trials: Its fair share over time, in trials at once.
    """

    num_trials: int
    num_launches: int
    fair_trials: float


class ShareRequest(NamedTuple):
    """What a launch wants of a cluster.

    Attributes:
        trials: At once, at most.
        cost: Parts of all cores and of all GPUs that one trial takes.
        weight: Of its share, relative to those of others.
    """

    trials: float
    cost: tuple[float, float]
    weight: float

    @property
    def has_gpus(self) -> bool:
        """Whether its trials use any."""
        return self.cost[1] > 0

    @property
    def part(self) -> float:
        """The part of the resource that is scarcest for it."""
        return max(self.cost)


def fair_trials(requests: Mapping[str, ShareRequest]) -> dict[str, float]:
    """Return how many trials at once each launch may run, as a real number.

    The shares of launches with GPUs grow alike until each has what it wants or a resource is used
    up; then those of the others.
    """
    trials = dict.fromkeys(requests, 0.0)
    free = (1.0, 1.0)
    for has_gpus in (True, False):
        growing = {
            key: request for key, request in requests.items() if request.has_gpus is has_gpus
        }
        while growing:
            rates = {key: request.weight / request.part for key, request in growing.items()}
            used = _used(growing, rates)
            steps = [(growing[key].trials - trials[key]) / rate for key, rate in rates.items()]
            step = min(*steps, *(free[place] / used[place] for place in _BOTH if used[place]))
            for key, rate in rates.items():
                trials[key] += step * rate
            free = (free[0] - step * used[0], free[1] - step * used[1])
            growing = {
                key: request
                for key, request in growing.items()
                if trials[key] < request.trials - _TINY
                and all(free[place] > _TINY or not request.cost[place] for place in _BOTH)
            }
    return trials


def _used(requests: Mapping[str, ShareRequest], trials: Mapping[str, float]) -> tuple[float, float]:
    """Return which parts of all cores and of all GPUs some trials take."""
    cpus = sum(trials[key] * request.cost[0] for key, request in requests.items())
    return cpus, sum(trials[key] * request.cost[1] for key, request in requests.items())


@dataclass
class _Launch:
    """A launch, when it reported last, since when its pending trials wait, and what it is owed."""

    claim: Claim
    reported_at: float
    waits_since: float = math.inf
    owed: float = 0.0  # seconds of the whole cluster, by its weight


class FairShares:
    """Computes how many trials each launch of a cluster may have, from the reports of all.

    Args:
        clock: In seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._launches: dict[str, _Launch] = {}
        self._counted_at = clock()

    def beat(self, claim: Claim) -> Allowance:
        """Take the report of a launch."""
        now = self._clock()
        self._count(now)
        self._drop_silent(now)
        launch = self._launches.get(claim.launch)
        if launch is None:
            owed = [other.owed for other in self._launches.values()]
            launch = _Launch(claim, now, owed=sum(owed) / len(owed) if owed else 0.0)
            self._launches[claim.launch] = launch
        has_begun_one = claim.num_running > launch.claim.num_running
        if not claim.num_pending or has_begun_one:
            launch.waits_since = math.inf
        if claim.num_pending:
            launch.waits_since = min(launch.waits_since, now)
        launch.claim, launch.reported_at = claim, now
        return self._allowance(claim, now)

    def leave(self, launch: str) -> int:
        """Forget a launch that has ended; return how many are left."""
        now = self._clock()
        self._count(now)
        self._launches.pop(launch, None)
        self._drop_silent(now)
        return len(self._launches)

    def _drop_silent(self, now: float) -> None:
        self._launches = {
            key: launch
            for key, launch in self._launches.items()
            if now - launch.reported_at <= SILENCE_SECONDS
        }

    def _count(self, now: float) -> None:
        """Add to what each launch is owed what it did not get since the last time."""
        seconds, self._counted_at = now - self._counted_at, now
        requests = self._requests([launch.claim for launch in self._launches.values()])
        for key, trials in fair_trials(requests).items():
            missed = trials - self._launches[key].claim.num_running
            self._launches[key].owed += seconds * missed * requests[key].part / requests[key].weight

    def _requests(self, claims: Sequence[Claim]) -> dict[str, ShareRequest]:
        """Return what launches want, but for those whose trials fit on no machine yet."""
        requests = {claim.launch: _request(claim) for claim in claims}
        return {key: request for key, request in requests.items() if request is not None}

    def _allowance(self, claim: Claim, now: float) -> Allowance:
        """Return what a launch may have if it wants more, which it finds out when it may."""
        asking = claim.model_copy(update={"wants_more": True})
        others = [launch.claim for key, launch in self._launches.items() if key != claim.launch]
        requests = self._requests([asking, *others])
        fair = fair_trials(requests)
        trials = self._whole_trials(requests, fair)
        if claim.launch not in requests:  # it waits for a machine that is large enough
            num_trials = claim.most or 1
        elif any(self._is_in_the_way(claim, other, trials, now) for other in others):
            num_trials = 0
        else:
            num_trials = trials[claim.launch]
            if claim.most and not any(_is_hungry(other, trials) for other in others):
                # trials that wait for room have a cluster start machines
                num_trials = max(num_trials, claim.most)
        return Allowance(
            num_trials=num_trials,
            num_launches=len(self._launches),
            fair_trials=fair.get(claim.launch, 0.0),
        )

    def _whole_trials(
        self, requests: Mapping[str, ShareRequest], fair: Mapping[str, float]
    ) -> dict[str, int]:
        """Return shares as whole trials: what is left of the cluster goes to who is owed most.

        First comes who has dispatched a trial for it already.
        """
        counts = {key: math.floor(trials + 1e-6) for key, trials in fair.items()}

        def order(key: str) -> tuple[bool, bool, float, str]:  # the same for every launch that asks
            launch = self._launches[key]
            has_taken = launch.claim.num_pending and launch.claim.num_running <= counts[key]
            return not requests[key].has_gpus, not has_taken, -launch.owed, key

        waiting = sorted(requests, key=order)
        while waiting:
            key = waiting.pop(0)
            used, cost = _used(requests, counts), requests[key].cost
            fits = all(used[place] + cost[place] <= 1 + 1e-6 for place in _BOTH)
            if fits and counts[key] + 1 <= requests[key].trials:
                counts[key] += 1
                waiting.append(key)
        return counts

    def _is_in_the_way(
        self, claim: Claim, other: Claim, trials: Mapping[str, int], now: float
    ) -> bool:
        """Return whether a launch gives way to another one that waits in vain for its share.

        So it is where the cluster has less room than its machines have: others than launches use
        them, or what is free is scattered.
        """
        if not _is_hungry(other, trials):
            return False
        is_alike = bool(claim.slot.gpus) is bool(other.slot.gpus)
        seconds = now - self._launches[other.launch].waits_since
        if seconds < _STUCK_SECONDS or (seconds > _VAIN_SECONDS and not is_alike):
            return False
        part_with_one_less = (claim.num_running - 1) / max(1, trials[claim.launch])
        return other.num_running / trials[other.launch] < part_with_one_less - _TINY


def _is_hungry(claim: Claim, trials: Mapping[str, int]) -> bool:
    return claim.num_pending > 0 and claim.num_running < trials.get(claim.launch, 0)


def _request(claim: Claim) -> ShareRequest | None:
    """Return what a launch wants; None if no machine has room for one of its trials."""
    slot, machines = claim.slot, claim.machines
    num = num_that_fit(slot, machines)
    if not num:
        return None
    cpus = sum(machine.cpus for machine in machines)
    gpus = sum(machine.gpus for machine in machines)
    cost = (slot.cpus / cpus, slot.gpus / gpus if slot.gpus else 0.0)
    # what does not fit on a machine by itself is no room for it
    scale = 1 / num / max(cost)
    wanted = num if claim.wants_more else min(num, claim.num_running + claim.num_pending)
    trials = min(wanted, claim.most or num)
    return ShareRequest(trials, (cost[0] * scale, cost[1] * scale), claim.weight)
