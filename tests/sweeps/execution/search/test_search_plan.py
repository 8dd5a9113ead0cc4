"""A search as a plan: who is compared with whom, and what is trained at all."""

import shutil
from collections.abc import Callable

from capsmodel.stopping import FixedEpochs
from search_spaces import Median
from sweeps.execution.engine.engine import EpochEnded, Job, Next
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import StoreUnreachable
from sweeps.records.manifest import ManifestCell, Stopped
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.examples import epoch
from tests.sweeps.execution.search.examples import FEW_POINTS, search, sweep
from tests.sweeps.execution.search.scores import (
    falling,
    number_of,
    of,
    random,
    stopped_arms,
    verdicts,
)
from tests.sweeps.execution.search.simulated import Launch, World, train_elsewhere
from tests.sweeps.tracking.memory_store import MemoryStore


class Store:
    """A tracking store that hears of one trial."""

    def __init__(self, world: World, key: str) -> None:
        self._store = MemoryStore()
        self._queue = RecorderQueue(world.journals, self._store.address)
        self._queue.add([key], "example", "own")
        self._recorder = Recorder(self._store.writer(), self._queue, world.cells)
        self._key = key

    def carry(self) -> tuple[str, str]:
        """Carry what is new and return outcome and reason."""
        self._recorder.drain()
        record = self._store.record(self._key)
        assert record
        return record.outcome.value, record.reason

    def close(self) -> None:
        """Let go of the queue."""
        self._queue.close()


def test_the_worse_are_stopped_once_there_are_rivals(run: Callable[..., Launch]) -> None:
    launch = run(random(trials=5), of(0.9, 0.1, 0.8, 0.05, 0.7))
    assert verdicts(launch) == [(0, False), (1, False), (2, True), (3, False), (4, True)]
    assert stopped_arms(launch) == ["proposal 2", "proposal 4"]


def test_without_a_scheduler_nobody_is_judged(run: Callable[..., Launch]) -> None:
    launch = run(random(trials=5, scheduler="none"), of(0.9, 0.1, 0.8, 0.05, 0.7))
    assert verdicts(launch) == []
    assert set(launch.states()) == {"complete"}


def test_the_median_rule_judges_at_every_epoch_after_the_grace(run: Callable[..., Launch]) -> None:
    scheduler = Median(grace=0.3, rivals=2)
    launch = run(random(trials=3, scheduler=scheduler), of(0.1, 0.3, 0.15))
    epochs = [(verdict.epoch, verdict.is_stop) for verdict in launch.verdicts()]
    assert epochs == [(1, False), (2, False)] * 3
    assert stopped_arms(run(random(trials=4, scheduler=scheduler), of(0, 0, 0, 0.5))) == [
        "proposal 3"
    ]


def test_a_proposal_is_judged_once_by_the_mean_of_its_seeds(run: Callable[..., Launch]) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        return 0.1 + spec.seed / 10

    launch = run(random(trials=1, seeds=(0, 1, 2, 3)), score)
    assert [verdict.is_stop for verdict in launch.verdicts()] == [False], (
        "no seed is a rival of another"
    )

    def uneven(spec: TrialSpec, epoch: int) -> float:
        return 0.5 + number_of(spec) / 100 * (1 if spec.seed == 4 else -2)

    launch = run(random(trials=4, seeds=(4, 5)), uneven)
    assert stopped_arms(launch) == [], "each has the best mean"


def test_the_seeds_of_a_proposal_are_stopped_together(world: World) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        return 0.3 + number_of(spec) / 100 + spec.seed / 1000

    base = small_config(stopping=FixedEpochs(epochs=6))
    plan = search(trials=3, seeds=(0, 1), sampler="random")
    definition = define(sweep(base=base, plan=plan), Changes(), ())
    launch = Launch(world, definition, score).run(num_concurrent=2)
    stopped = [cell for cell in launch.manifest.cells if cell.stopped]
    assert [(cell.arm, cell.seed) for cell in stopped] == [("proposal 2", 0), ("proposal 2", 1)]
    assert {cell.stopped for cell in stopped} == {Stopped(epoch=3, value=0.3205)}
    lengths = [world.folder(cell.trial_key).epochs_done() for cell in stopped]
    assert lengths == [4, 3], "the first heard of it after its next epoch"
    observed = launch.observations()[2]
    assert (observed.state, observed.epoch) == ("pruned", 3)
    second = Launch(world, definition, score).run(num_concurrent=2)
    assert second.started == []
    assert second.manifest == launch.manifest


def test_a_proposal_with_a_stopped_seed_is_observed_where_that_was_stopped(
    run: Callable[..., Launch],
) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        return 0.75 if number_of(spec) == 2 and spec.seed else 0.25

    launch = run(random(trials=3, seeds=(0, 1)), score)
    observation = launch.observations()[2]
    assert (observation.state, observation.value, observation.epoch) == ("pruned", 0.5, 2), (
        "the mean of both"
    )


def test_a_proposal_that_is_the_base_is_trained_once_and_observed_for_both(
    world: World, run: Callable[..., Launch]
) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        return spec.config["batch_size"] / 1000 + spec.config["optimiser"]["learning_rate"]

    launch = run(random(trials=4, space=FEW_POINTS), score)
    keys = [cell.trial_key for cell in launch.manifest.cells]
    assert len(keys) == 5
    assert len(set(keys)) == 4
    assert keys[-1] == keys[0], "it is proposed once all others were"
    assert sorted(launch.started) == sorted(set(keys))
    assert launch.observations()[-1].state == "complete"
    assert set(world.epochs_trained().values()) == {1}


def test_of_several_at_once_each_is_handed_out_once(world: World) -> None:
    launch = Launch(world, random(trials=4, space=FEW_POINTS), falling)
    handed_out: list[str] = []
    while isinstance(job := launch.queue.next(), Job):
        handed_out.extend(job.trial_keys)
    assert job is Next.WAIT, "for those that run"
    keys = [cell.trial_key for cell in launch.manifest.cells]
    assert len(keys) == 5
    assert handed_out == list(dict.fromkeys(keys))


def test_a_proposal_that_another_sweep_has_trained_is_not_trained_again(
    world: World, run: Callable[..., Launch]
) -> None:
    first = run(random(trials=4, scheduler="none"), falling)
    other = define(
        sweep(name="other", plan=search(trials=4, sampler="random", scheduler="none")),
        Changes(),
        (),
    )
    second = run(other, falling)
    assert second.started == []
    assert second.proposals() == first.proposals()
    assert second.observations() == first.observations()
    assert set(world.epochs_trained().values()) == {1}


def test_a_proposal_that_is_only_in_the_store_is_not_trained_again(
    world: World, run: Callable[..., Launch]
) -> None:
    first = run(random(trials=2), of(0.25, 0.5))
    keys = [cell.trial_key for cell in first.manifest.cells]
    shutil.rmtree(world.cells)

    def record_of(key: str) -> TrialRecord:
        return TrialRecord(
            record_id="r",
            trial_key=key,
            outcome=Outcome.FINISHED,
            seed=0,
            epochs=3,
            metrics=dict.fromkeys(
                ("validation_error", "validation_loss"), 0.25 if key == keys[1] else 0.5
            ),
        )

    second = run(random(trials=2), falling, record_of=record_of)
    assert second.started == []
    assert second.observations() == first.observations()


def last_stopped(launch: Launch) -> ManifestCell:
    return [cell for cell in launch.manifest.cells if cell.stopped][-1]


def test_another_sweep_goes_on_with_a_stopped_trial_and_this_one_keeps_the_stop(
    world: World, run: Callable[..., Launch]
) -> None:
    definition, score = random(trials=3), of(0.1, 0.2, 0.5)
    first = run(definition, score)
    cell = last_stopped(first)
    assert cell.stopped == Stopped(epoch=2, value=0.5)
    store = Store(world, cell.trial_key)
    assert store.carry() == ("pruned", "stopped by asha after epoch 2, validation_error 0.5")
    job = TrialJob(cells=str(world.cells), spec=first.definition.spec(cell))
    train_elsewhere(world, job, score)

    assert store.carry() == ("finished", "")
    assert [world.epochs_trained()[cell.trial_key, epoch] for epoch in (1, 2, 3)] == [1, 1, 1]
    relaunched = run(definition, score)
    assert relaunched.started == []
    assert relaunched.manifest == first.manifest
    assert relaunched.observations() == first.observations()
    store.close()


def test_a_trial_that_another_sweep_left_at_a_rung_is_judged_as_it_is_taken_up(
    world: World, run: Callable[..., Launch]
) -> None:
    definition, score = random(trials=3), of(0.1, 0.2, 0.5)
    run(definition, score)
    plan = search(trials=3, sampler="random")
    other = run(define(sweep(name="other", plan=plan), Changes(), ()), score)
    assert other.started == []
    assert last_stopped(other).stopped == Stopped(epoch=2, value=0.5)


def test_a_verdict_that_fell_is_not_turned_round_by_an_epoch_trained_anew(
    run: Callable[..., Launch],
) -> None:
    launch = run(random(trials=4), of(0.4, 0.3, 0.2, 0.1))
    before = launch.verdicts()
    report = EpochEnded(trial_key=launch.started[1], result=epoch(2, 0.4, 0.4))
    assert launch.queue.tell(report) is None
    assert launch.verdicts() == before
    assert stopped_arms(launch) == []


def test_a_failed_proposal_is_tried_again_by_the_next_launch_before_any_other(
    run: Callable[..., Launch],
) -> None:
    is_broken = [True]

    def score(spec: TrialSpec, epoch: int) -> float:
        if is_broken[0] and number_of(spec) == 1:
            raise ValueError("no")
        return falling(spec, epoch)

    first = run(random(trials=3), score)
    assert first.states() == ["complete", "failed", "complete"]
    is_broken.clear()
    is_broken.append(False)
    second = run(random(trials=4), score)
    assert second.started[0] == first.manifest.cells[2].trial_key
    assert second.states() == ["complete"] * 4


def test_a_tracking_store_that_goes_away_is_asked_once_and_ends_nothing(
    run: Callable[..., Launch],
) -> None:
    asked: list[str] = []

    def record_of(key: str) -> TrialRecord | None:
        asked.append(key)
        raise StoreUnreachable("it does not answer")

    launch = run(random(trials=3), falling, record_of=record_of)
    assert launch.states() == ["complete"] * 3
    assert len(asked) == 1
