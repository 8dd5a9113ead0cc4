"""A launch's share of a joined cluster: asked for each second of an actor that all launches share.

The actor is detached and has a name and a namespace of its own, so that launches of any user and
storage find it. It runs on the head, takes no cores, and ends with the last launch; where it is
lost, the next question makes another one, which knows all within a second.
"""

import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError

from sweeps.execution.engine.fair_shares import Allowance, Claim, FairShares
from sweeps.execution.engine.placement import Share
from sweeps.execution.engine.tune.ray_session import GoneMachine, gone_machines, ray_machines

NAMESPACE = "capsweep"
NAME = "fair-shares-1"  # another number where another release asks or answers otherwise
_ON_HEAD = {"node:__internal_head__": 0.001}
_ANSWER_SECONDS = 5.0
_MOST_MISSES = 2
_UNRELIABLE = (RayError, ValueError, TypeError, AttributeError, RuntimeError)


class Arbiter:
    """The class of the actor that computes the fair shares of a cluster."""

    def __init__(self) -> None:
        self._shares = FairShares(time.monotonic)

    def beat(self, claim: str) -> str:
        """Take a launch's claim, and return its allowance, both as JSON."""
        return self._shares.beat(Claim.model_validate_json(claim)).model_dump_json()

    def leave(self, launch: str) -> int:
        """Forget a launch that has ended; return how many are left."""
        return self._shares.leave(launch)


class Dispatched(NamedTuple):
    """What a launch has dispatched.

    Attributes:
        slot: What its last job takes.
        num_running: Jobs that have a process.
        num_pending: Jobs that wait for one.
        wants_more: Whether there was another when it asked last.
    """

    slot: Share
    num_running: int
    num_pending: int
    wants_more: bool


class ClusterShare:
    """The share of this launch.

    Call `ask` each second, in a thread of its own.

    Args:
        notify: Shows a sentence in the live view.

    Attributes:
        notify: The same.
        weight: Of its share.
        most: How many jobs the launch may have at once by its options; None for any number.
        dispatched: What it has dispatched, once that is known.
    """

    def __init__(self, notify: Callable[[str], None]) -> None:
        self.weight = 1.0
        self.most: int | None = None
        self.dispatched: Dispatched | None = None
        self.notify = notify
        self._launch = uuid.uuid4().hex
        self._arbiter: Any = None
        self._allowance: Allowance | None = None
        self._num_misses = 0
        self._num_launches = 1
        self._known_gone: set[str] | None = None
        self._gone: list[GoneMachine] = []  # that nobody has taken yet

    def num_jobs(self, without: int) -> int:
        """Return how many jobs the launch may have dispatched.

        Args:
            without: The answer where nobody divides the cluster.
        """
        if self._allowance:
            return self._allowance.num_trials
        return without if self._num_misses >= _MOST_MISSES else 1

    @property
    def is_alone(self) -> bool:
        """Whether no other launch is known to use the cluster."""
        return self._allowance is None or self._allowance.num_launches == 1

    def take_gone(self) -> list[GoneMachine]:
        """Return the machines that are gone since the last call."""
        gone, self._gone = self._gone, []
        return gone

    def ask(self) -> None:
        """Report what is dispatched, and take the answer; find or make the actor first."""
        try:
            self._find_gone()
            if self._arbiter is None:
                self._arbiter = _arbiter()
            if self.dispatched:
                question = self._arbiter.beat.remote(self._claim(self.dispatched))
                answer: Any = ray.get(question, timeout=_ANSWER_SECONDS)
                self._take(Allowance.model_validate_json(answer))
        except _UNRELIABLE as error:
            self._miss(error)

    def leave(self) -> None:
        """Leave the share to the others; the last launch ends the actor."""
        arbiter, self._arbiter = self._arbiter, None
        try:
            if arbiter and not ray.get(arbiter.leave.remote(self._launch), timeout=_ANSWER_SECONDS):
                ray.kill(arbiter)
        except _UNRELIABLE:  # it is found dead after some seconds
            pass

    def _find_gone(self) -> None:
        gone = gone_machines()
        known = gone.keys() if self._known_gone is None else self._known_gone
        self._gone += [gone[key] for key in gone.keys() - known]
        self._known_gone = {*gone}

    def _claim(self, dispatched: Dispatched) -> str:
        claim = Claim(
            launch=self._launch,
            **dispatched._asdict(),
            most=self.most,
            weight=self.weight,
            machines=ray_machines(),
        )
        return claim.model_dump_json()

    def _take(self, allowance: Allowance) -> None:
        self._allowance, self._num_misses = allowance, 0
        if allowance.num_launches != self._num_launches:
            self._num_launches = allowance.num_launches
            self.notify(_sharing_sentence(allowance))

    def _miss(self, error: Exception) -> None:
        self._arbiter = None
        self._num_misses += 1
        if self._num_misses == _MOST_MISSES:
            self._allowance = None
            reason = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            self.notify(
                f"Nothing divides this cluster fairly among launches, as its arbiter does not "
                f"answer ({reason}): trials take what is free."
            )


def _arbiter() -> Any:
    return (
        ray.remote(Arbiter)
        .options(
            name=NAME,
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            resources=_ON_HEAD,
            max_restarts=-1,
        )
        .remote()
    )


def _sharing_sentence(allowance: Allowance) -> str:
    if allowance.num_launches == 1:
        return "No other launch shares the cluster any more."
    num_others = allowance.num_launches - 1
    others = "another launch" if num_others == 1 else f"{num_others} other launches"
    return (
        f"The cluster is shared with {others}: {allowance.fair_trials:.3g} trials of this one at "
        f"once are fair now."
    )
