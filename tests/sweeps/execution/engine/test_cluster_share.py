"""The engine keeps to the launch's share of a cluster, and says what it is."""

from collections.abc import Callable
from typing import Any

import pytest
from ray.exceptions import RayActorError

from sweeps.execution.engine.engine import Next
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.fair_shares import Allowance, Claim
from sweeps.execution.engine.placement import Machine, Share
from sweeps.execution.engine.tune import cluster_share, tune_engine
from sweeps.execution.engine.tune.cluster_share import Arbiter, ClusterShare, Dispatched
from sweeps.execution.engine.tune.ray_session import GoneMachine
from sweeps.execution.engine.tune.tune_engine import Fault, JobSearcher
from tests.sweeps.execution.engine.test_ray_engine import Driver

MACHINES = (Machine(cpus=4),)
ONE = Dispatched(Share(), num_running=1, num_pending=0, wants_more=True)


class Cluster:
    """Stands for Ray: it calls the arbiter at once, or fails."""

    def __init__(self) -> None:
        self.arbiter: Any = Arbiter()
        self.error: Exception | None = None
        self.num_made = 0
        self.num_killed = 0

    def make(self) -> "Cluster":
        self.num_made += 1
        return self

    @property
    def beat(self) -> Any:
        return _Remote(self.arbiter.beat)

    @property
    def leave(self) -> Any:
        return _Remote(self.arbiter.leave)

    def get(self, question: Callable[[], Any], timeout: float) -> Any:
        assert timeout
        if self.error:
            raise self.error
        return question()

    def kill(self, arbiter: "Cluster") -> None:
        assert arbiter is self
        self.num_killed += 1


class _Remote:
    def __init__(self, call: Callable[[str], Any]) -> None:
        self._call = call

    def remote(self, argument: str) -> Callable[[], Any]:
        return lambda: self._call(argument)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(cluster_share, "_arbiter", cluster.make)
    monkeypatch.setattr(cluster_share, "ray", cluster)
    monkeypatch.setattr(cluster_share, "ray_machines", lambda: MACHINES)
    monkeypatch.setattr(cluster_share, "gone_machines", dict)
    return cluster


def test_a_launch_has_one_trial_until_it_is_known_who_else_is_there(cluster: Cluster) -> None:
    share = ClusterShare(print)
    share.ask()
    assert share.num_jobs(without=9) == 1
    share.dispatched = ONE
    share.ask()
    assert share.num_jobs(without=9) == 4
    assert share.is_alone


def test_each_launch_is_told_of_the_others_and_the_last_one_ends_the_arbiter(
    cluster: Cluster,
) -> None:
    sentences = list[str]()
    first, second = ClusterShare(sentences.append), ClusterShare(print)
    first.dispatched = second.dispatched = ONE
    for share in (first, second, first, first):
        share.ask()
    assert first.num_jobs(without=9) == 2
    assert not first.is_alone
    second.leave()
    first.ask()
    assert sentences == [
        "The cluster is shared with another launch: 2 trials of this one at once are fair now.",
        "No other launch shares the cluster any more.",
    ]
    assert cluster.num_killed == 0
    first.leave()
    assert cluster.num_killed == 1


def test_without_an_arbiter_all_is_as_before_and_that_is_said_once(cluster: Cluster) -> None:
    sentences = list[str]()
    share = ClusterShare(sentences.append)
    share.dispatched = ONE
    cluster.error = ValueError("no actors for you\nTraceback")
    for _ in range(4):
        share.ask()
    assert share.num_jobs(without=9) == 9
    assert sentences == [
        "Nothing divides this cluster fairly among launches, as its arbiter does not answer (no "
        "actors for you): trials take what is free."
    ]
    share.leave()
    cluster.error = None
    share.ask()
    assert share.num_jobs(without=9) == 4, "it is found again"


def test_an_arbiter_that_is_lost_is_made_again(cluster: Cluster) -> None:
    share = ClusterShare(print)
    share.dispatched = ONE
    share.ask()
    cluster.error = ValueError("it died")
    share.ask()
    assert share.num_jobs(without=9) == 4, "one answer that is missing changes nothing"
    cluster.error = None
    cluster.arbiter = Arbiter()
    share.ask()
    assert cluster.num_made == 2
    assert share.num_jobs(without=9) == 4


class Claimed(ClusterShare):
    """A share that is set by hand."""

    allowed = 2
    others = 1

    def num_jobs(self, without: int) -> int:
        return self.allowed

    @property
    def is_alone(self) -> bool:
        return not self.others


def test_no_more_jobs_are_dispatched_than_the_share_allows() -> None:
    share, driver = Claimed(print), Driver("abcdef")
    searcher = JobSearcher(driver, driver, num_concurrent=6, share=share)
    assert searcher.suggest("1")
    searcher.report_started("1")
    assert searcher.suggest("2")
    assert searcher.suggest("3") is None
    assert share.dispatched == Dispatched(Share(), 1, 1, wants_more=True)
    assert "".join(driver.waiting) == "cdef"
    share.allowed = 3
    assert searcher.suggest("3")


def test_what_waits_beyond_the_share_is_taken_back_and_was_not_lost() -> None:
    share, driver = Claimed(print), Driver("abc")
    share.allowed = 3
    searcher = JobSearcher(driver, driver, num_concurrent=6, share=share)
    for trial in "123":
        searcher.suggest(trial)
    searcher.report_started("1")
    assert searcher.num_to_take_back() == 0
    share.allowed = 0
    assert searcher.num_to_take_back() == 2, "not the one that runs"
    searcher.on_trial_complete("3")
    searcher.on_trial_complete("2", error=True)
    searcher.on_trial_complete("1")
    ended = list[tuple[str, bool]]()
    driver.tell = lambda event: ended.append((event.trial_key[0], event.is_taken_back))  # type: ignore
    searcher.report_ended()
    assert ended == [("c", True), ("b", False), ("a", False)]


def test_a_process_is_kept_for_the_next_job_only_if_there_may_be_one() -> None:
    share, driver = Claimed(print), Driver("ab")
    searcher = JobSearcher(driver, driver, num_concurrent=6, share=share)
    for trial in "12":
        searcher.suggest(trial)
        searcher.report_started(trial)
    searcher.on_trial_complete("1")
    assert searcher.keeps()
    share.allowed = 1
    assert not searcher.keeps(), "its room is another launch's"
    share.allowed = 2
    assert isinstance(driver.next(), Next)
    assert searcher.suggest("3") is None
    assert not searcher.keeps(), "there is no next one now"
    share.others = 0
    assert searcher.keeps(), "nobody else wants its room"


def test_a_machine_that_is_gone_is_named_with_the_number_of_its_trials(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"1": GoneMachine("lost before", "10.0.0.1")}
    monkeypatch.setattr(cluster_share, "gone_machines", lambda: gone)
    sentences = list[str]()
    share, driver = Claimed(sentences.append), Driver("abcd")
    share.allowed = 3
    searcher = JobSearcher(driver, driver, num_concurrent=6, share=share)
    share.ask()
    for trial in "123":
        searcher.suggest(trial)
    searcher.record_address("1", "10.0.0.7")
    searcher.record_fault("1", Fault(None, ""))  # Ray says no more of one that was killed
    error = RayActorError(error_msg="The actor died.\n\tip: 10.0.0.7\nits node has died")
    searcher.record_fault("2", tune_engine._actor_fault(error))
    searcher.record_fault("3", Fault(None, ""))
    gone = {**gone, "2": GoneMachine("w7", "10.0.0.7"), "3": GoneMachine("w8", "10.0.0.8")}
    share.ask()
    share.ask()
    searcher.suggest("4")
    assert sorted(sentences) == [
        "machine w7 is gone, its 2 trials resume elsewhere.",
        "machine w8 is gone.",
    ]


@pytest.mark.parametrize(
    ("gone_after", "told"),
    [(0.0, {0: Failure.LOST}), (3.0, {4: Failure.LOST}), (9.0, {6: None})],
    ids=["at once", "in time", "too late"],
)
def test_a_killed_trial_was_lost_if_its_machine_goes_within_seconds(
    gone_after: float, told: dict[int, Failure | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0]
    monkeypatch.setattr(tune_engine.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(tune_engine, "is_gone", lambda _: clock[0] >= gone_after)
    driver = Driver("ab")
    searcher = JobSearcher(driver, driver, share=Claimed(print))
    searcher.suggest("1")
    searcher.report_started("1")
    searcher.record_address("1", "10.0.0.7")
    searcher.on_trial_complete("1", error=True)
    searcher.record_fault("1", Fault(None, ""))
    ended = dict[int, Failure | None]()
    driver.tell = lambda event: ended.update({clock[0]: event.failure})  # type: ignore
    for clock[0] in (0, 4, 6):
        searcher.report_ended()
    assert ended == told


def test_what_is_asked_and_answered_crosses_as_json() -> None:
    claim = Claim(launch="a", slot=Share(), machines=MACHINES)
    answer = Allowance.model_validate_json(Arbiter().beat(claim.model_dump_json()))
    assert answer == Allowance(num_trials=4, num_launches=1, fair_trials=4.0)
