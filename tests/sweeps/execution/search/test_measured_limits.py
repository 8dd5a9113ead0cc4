"""Limits on what trials measure: candidates, what samplers hear, and that no kill matters."""

import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from capsmodel.evaluation import Confidence
from search_spaces import (
    AtTarget,
    Confirm,
    Limit,
    NoImprovement,
    PromotionAsha,
    Search,
)
from search_spaces.evaluation_key import evaluation_key
from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    Entry,
    EpochTold,
    Measured,
    Pause,
    Propose,
    Stop,
)
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.search.decider import decider_of
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.proposals import study_of
from sweeps.execution.search.search_known import NOT_MEASURED, SearchKnown
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.manifest_plan import ManifestSearch
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.execution.search.examples import (
    FEW_POINTS,
    RATE,
    SCHEDULER,
    confirm,
    expect_valid,
    params,
    rate_of,
    search,
    searched,
    sweep,
)
from tests.sweeps.execution.search.scores import number_of, of
from tests.sweeps.execution.search.simulated import Launch, World
from tests.sweeps.execution.search.test_kills import Unbroken, built
from tests.sweeps.execution.search.test_kills import score as by_rate

pytestmark = pytest.mark.usefixtures("few_points_tried")

SECONDS = Limit("seconds_per_epoch", at_most=2)
CONFIRM = confirm(1)
SCORES = (0.4, 0.1, 0.3, 0.2)
Run = Callable[..., Launch]


@pytest.fixture(autouse=True)
def _learning_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", built)
    monkeypatch.setattr(Search, "num_startup", 2)


def limited(**changes: Any) -> SweepDefinition:
    known: dict[str, Any] = {
        "sampler": "random",
        "scheduler": "none",
        "trials": 4,
        "limits": SECONDS,
        "confirm": confirm(2),
    }
    return searched(**(known | changes))


def slow(*numbers: int) -> Callable[[TrialSpec], float]:
    """Let some proposals take three seconds an epoch, and all others one."""
    return lambda spec: 3.0 if spec.arm in {f"proposal {number}" for number in numbers} else 1.0


def slow_above(rate: float) -> Callable[[TrialSpec], float]:
    return lambda spec: 3.0 if rate_of(spec.config) > rate else 1.0


def search_in(launch: Launch) -> ManifestSearch:
    assert launch.manifest.search
    return launch.manifest.search


def confirmed(launch: Launch) -> tuple[str, ...]:
    confirmation = search_in(launch).confirmation
    assert confirmation
    assert confirmation.arms is not None
    return confirmation.arms


def known_of(launch: Launch) -> SearchKnown:
    assert isinstance(launch.plan.known, SearchKnown)
    return launch.plan.known


def test_a_proposal_beyond_a_limit_is_not_confirmed_however_good_it_is(run: Run) -> None:
    launch = run(limited(), of(*SCORES), seconds=slow(1))
    assert confirmed(launch) == ("proposal 3", "proposal 2")
    assert confirmed(run(limited(sampler_seed=1), of(*SCORES), seconds=slow()))[0] == "proposal 1"
    expect_valid(launch.manifest)


def test_where_all_are_beyond_a_limit_nothing_is_confirmed(run: Run) -> None:
    launch = run(limited(), of(*SCORES), seconds=slow(0, 1, 2, 3))
    assert confirmed(launch) == ()
    assert not launch.manifest.is_growing


def test_a_proposal_keeps_a_limit_if_each_of_its_seeds_does(run: Run) -> None:
    def seconds(spec: TrialSpec) -> float:
        return 3.0 if (spec.arm, spec.seed) == ("proposal 1", 1) else 0.5

    launch = run(limited(seeds=(0, 1)), of(*SCORES), seconds=seconds)
    assert confirmed(launch) == ("proposal 3", "proposal 2")
    assert known_of(launch).violation("proposal 1") == 0.5
    assert known_of(launch).violation("proposal 2") == 0.0


def test_what_is_measured_is_in_the_log_before_what_follows_from_it(run: Run) -> None:
    decisions = run(limited(), of(*SCORES), seconds=slow(1)).decisions()
    order = [type(decision) for decision in decisions if isinstance(decision, Measured | Propose)]
    assert order == [Measured, *[Propose, Measured] * 4]  # of the base, then of each proposal
    measured = [decision for decision in decisions if isinstance(decision, Measured)]
    assert [entry.values["seconds_per_epoch"] for entry in measured] == [1, 1, 3, 1, 1]
    assert {entry.epoch for entry in measured} == {3}


def test_the_manifest_says_which_proposals_break_which_limit(run: Run) -> None:
    launch = run(limited(), of(*SCORES), seconds=slow(1))
    search, keys = search_in(launch), launch.manifest.cell_keys()
    assert search.measured_limits == {"seconds_per_epoch": 2}
    assert search.broken_limits([keys["proposal 1", 0]]) == ("seconds_per_epoch",)
    assert search.broken_limits([keys["proposal 2", 0]]) == ()
    assert search.broken_limits(["f" * 20]) == ("seconds_per_epoch not measured",)


def test_memory_that_no_machine_has_measured_keeps_no_limit(run: Run) -> None:
    launch = run(limited(limits=Limit("peak_memory_bytes", at_most=10**9)), of(*SCORES))
    assert confirmed(launch) == ()
    assert known_of(launch).violation("proposal 1") == NOT_MEASURED


@pytest.mark.parametrize(
    ("stop", "ending"),
    [
        (AtTarget(value=0.35), "ended after 4 of 6"),  # the third is the first that counts
        (NoImprovement(proposals=2), "ended after 3 of 6"),
    ],
)
def test_ends_go_by_proposals_within_the_limits(run: Run, stop: Any, ending: str) -> None:
    scores = of(0.4, 0.2, 0.5, 0.3, 0.3, 0.3)
    launch = run(limited(trials=6, stop=stop, confirm=None), scores, seconds=slow(1))
    assert ending in search_in(launch).ending


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2"])
def test_a_sampler_hears_by_how_much_a_proposal_exceeds_a_limit(sampler: str) -> None:
    definition = limited(sampler=sampler, trials=12)
    plan = definition.sweep.plan
    assert isinstance(plan, Search)
    beyond = Observation("complete", 0.1, 3, excesses={SECONDS.description: 0.5})
    within = Observation("complete", 0.2, 3, excesses={SECONDS.description: -0.5})
    history = [(params(0), beyond), (params(1), within), (params(2), Observation("open"))]
    measures = Measures(plan, definition.sweep)
    trials = study_of(plan, history, measures=measures).get_trials()
    excesses = [trial.constraints[SECONDS.description] for trial in trials[-3:]]
    assert excesses == [0.5, -0.5, 0.0]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_a_sampler_learns_which_region_is_beyond_a_limit(tmp_path: Path, sampler: str) -> None:
    def num_within(limits: tuple[Limit, ...]) -> int:
        changes = {"sampler": sampler, "sampler_seed": 1, "trials": 20, "confirm": None}
        world = World(tmp_path / f"{len(limits)}")
        launch = Launch(
            world, limited(limits=limits, **changes), best_where_slow, seconds=slow_above(2e-3)
        ).run()
        return sum(float(point[RATE]) <= 2e-3 for point in launch.proposals())

    assert num_within((SECONDS,)) >= num_within(()) + 4


def best_where_slow(spec: TrialSpec, epoch: int) -> float:
    return 0.5 - 30 * rate_of(spec.config)


def test_random_points_beyond_a_limit_are_no_reference(run: Run) -> None:
    definition = limited(
        sampler="tpe", startup=2, confirm=Confirm(best=1, seeds=(101,), against_random=True)
    )

    def seconds(spec: TrialSpec) -> float:
        return 3.0 if spec.arm.startswith("random") else 1.0

    def score(spec: TrialSpec, epoch: int) -> float:
        return 0.3

    launch = run(definition, score, seconds=seconds)
    reference = launch.manifest.random_reference
    assert reference
    assert reference.draws
    assert reference.best is None


def test_what_a_paused_trial_has_measured_is_known_at_its_rung(run: Run) -> None:
    definition = limited(scheduler=PromotionAsha(grace=0.34, reduction_factor=2), confirm=None)
    launch = run(definition, by_rate, seconds=slow(0, 1))
    decisions = launch.decisions()
    places = [number for number, decision in enumerate(decisions) if isinstance(decision, Pause)]
    assert places
    for place in places:
        pause, measured = decisions[place], decisions[place - 1]
        assert isinstance(measured, Measured)
        assert isinstance(pause, Pause)
        assert (measured.trial_key, measured.epoch) == (pause.trial_key, pause.epoch)
    assert known_of(launch).violation("proposal 0") == 0.5
    assert known_of(launch).violation("proposal 2") == 0.0


def test_what_a_stopped_trial_has_measured_until_then_is_in_the_log(run: Run) -> None:
    launch = run(
        limited(scheduler=SCHEDULER, trials=6, confirm=None),
        lambda spec, epoch: 0.3 + number_of(spec) / 100,
        seconds=slow(4, 5),
    )
    stops = [decision for decision in launch.decisions() if isinstance(decision, Stop)]
    assert {decision.epoch for decision in stops} == {2}
    measured = {
        (entry.trial_key, entry.epoch): entry.values["seconds_per_epoch"]
        for entry in launch.decisions()
        if isinstance(entry, Measured)
    }
    keys = launch.manifest.cell_keys()
    assert measured[keys["proposal 5", 0], 2] == 3.0
    assert [launch.observations()[5].violation, launch.observations()[5].state] == [0.5, "pruned"]


def record_of(key: str, seconds: float) -> TrialRecord:
    """Return the record of a trial that another sweep has trained on a machine of some speed."""
    return TrialRecord(
        record_id="elsewhere",
        trial_key=key,
        outcome=Outcome.FINISHED,
        seed=0,
        epochs=3,
        metrics={"validation_error": 0.05, "validation_loss": 0.05, "test_error": 0.5},
        duration_seconds=3 * seconds,
    )


@pytest.mark.parametrize(("seconds", "is_confirmed"), [(1.0, True), (3.0, False)])
def test_a_reused_trial_brings_what_its_record_holds(
    tmp_path: Path, seconds: float, is_confirmed: bool
) -> None:
    first = Launch(World(tmp_path / "first"), limited(), of(*SCORES)).run()
    key = first.manifest.cell_keys()["proposal 0", 0]
    known = {key: record_of(key, seconds)}
    launch = Launch(World(tmp_path / "second"), limited(), of(*SCORES), record_of=known.get).run()
    assert key not in launch.started
    assert ("proposal 0" in confirmed(launch)) == is_confirmed
    assert search_in(launch).measured[key] == {"seconds_per_epoch": seconds}


def test_what_the_log_says_is_never_measured_again(tmp_path: Path) -> None:
    world = World(tmp_path / "world")
    first = Launch(world, limited(confirm=None), of(*SCORES), seconds=slow(1)).run()
    key = first.manifest.cell_keys()["proposal 1", 0]
    shutil.rmtree(world.folder(key).path)
    known = {key: record_of(key, 1.0)}  # trained anew meanwhile, on a faster machine
    longer = limited(trials=6, confirm=None)
    second = Launch(world, longer, of(*SCORES, 0.3, 0.3), record_of=known.get).run()
    assert second.started
    assert search_in(second).measured[key] == {"seconds_per_epoch": 3}
    assert known_of(second).violation("proposal 1") == 0.5


CALIBRATED = Limit("confidence.calibration_error", at_most=0.1)


def calibrated(bins: int = 15, **changes: Any) -> SweepDefinition:
    known: dict[str, Any] = {"sampler": "random", "scheduler": "none", "trials": 3}
    plan = search(**(known | {"limits": CALIBRATED, "confirm": CONFIRM} | changes))
    return define(sweep(plan=plan, evaluations=(Confidence(bins=bins),)), Changes(), ())


def evaluate(world: World, trial_key: str) -> None:
    """Make the evaluation of a finished trial: only that of `proposal 1` is beyond the limit."""
    folder = world.folder(trial_key)
    final, key = folder.read_final(), evaluation_key(Confidence())
    if final is None:
        return
    error = 0.5 if final.head.arm == "proposal 1" else 0.05
    record = EvaluationRecord(
        evaluation_key=key,
        trial_key=trial_key,
        evaluation={"kind": "confidence"},
        looks_at="validation",
        metrics={"mean_belief": 0.5, "calibration_error": error},
        time=1,
        fence=1,
    )
    CellEvaluations(folder.path).write(record, b"", {})


def test_a_metric_of_an_evaluation_of_validation_images_may_be_limited(world: World) -> None:
    made = partial(evaluate, world)
    launch = Launch(world, calibrated(), of(*SCORES), trainer_step=made).run()
    assert confirmed(launch) == ("proposal 2",)
    assert not launch.plan.is_look_due
    assert search_in(launch).broken_limits([launch.manifest.cell_keys()["proposal 1", 0]])
    expect_valid(launch.manifest)


def test_nothing_is_proposed_before_a_limited_evaluation_is_made(tmp_path: Path) -> None:
    reference = World(tmp_path / "unbroken")
    made = partial(evaluate, reference)
    unbroken = Launch(reference, calibrated(), of(*SCORES), trainer_step=made).run()
    world = World(tmp_path / "killed")
    num_proposed: list[int] = []
    for _ in range(10):
        launch = Launch(world, calibrated(), of(*SCORES)).run()
        num_proposed.append(len(launch.proposals()))
        if not launch.plan.is_look_due:
            break
        evaluate(world, launch.started[-1])
    assert num_proposed == [0, 1, 2, 3, 3]
    assert world.decisions(launch.definition) == reference.decisions(unbroken.definition)
    assert set(world.epochs_trained().values()) == {1}


def test_a_reused_trial_whose_evaluation_is_missing_is_not_trained_again(world: World) -> None:
    key = calibrated().manifest.cell_keys()["base", 0]
    launch = Launch(world, calibrated(), of(*SCORES), record_of={key: record_of(key, 1)}.get).run()
    assert launch.plan.is_look_due
    assert launch.started == launch.proposals() == []


def test_a_finished_trial_is_not_judged_while_its_evaluation_is_missing(tmp_path: Path) -> None:
    world = World(tmp_path / "late")
    changes: dict[str, Any] = {"sampler": "random", "trials": 5, "confirm": None}
    scores = of(0.1, 0.2, 0.3, 0.4, 0.5)
    trained = Launch(world, searched(**changes, scheduler="none"), scores).run()
    made = world.copy(tmp_path / "made")
    for key in trained.manifest.cell_keys().values():
        evaluate(made, key)
    definition = calibrated(**changes, scheduler=SCHEDULER)
    at_once = Launch(made, definition, scores).run()
    assert at_once.started == []
    late = Launch(world, definition, scores).run()
    while late.plan.is_look_due:
        evaluate(world, late.manifest.cells[-1].trial_key)
        late = Launch(world, definition, scores).run()
    assert world.decisions(definition) == made.decisions(definition)


def test_a_finished_seed_is_not_stopped_while_its_evaluation_is_missing(tmp_path: Path) -> None:
    """Its other seed is stopped, and the search goes on once the evaluation is made."""
    changes: dict[str, Any] = {"sampler": "random", "trials": 4, "confirm": None}
    scores = of(0.1, 0.2, 0.3, 0.4)
    definition = calibrated(**changes, seeds=(0, 1), scheduler=SCHEDULER)
    decided = list[Any]()
    for name, late in (("made", ()), ("late", (("proposal 2", 0), ("proposal 3", 0)))):
        world = World(tmp_path / name)
        of_first_seed = searched(**changes, seeds=(0,), scheduler="none")
        trained = Launch(world, of_first_seed, scores).run().manifest.cell_keys()
        for place, key in trained.items():
            if place not in late:
                evaluate(world, key)
        launch = Launch(world, definition, scores, trainer_step=partial(evaluate, world)).run(2)
        while launch.plan.is_look_due:
            for place in late:
                evaluate(world, trained[place])
            launch = Launch(world, definition, scores, trainer_step=partial(evaluate, world)).run(2)
        names = {cell.trial_key: (cell.arm, cell.seed) for cell in launch.manifest.cells}
        stops = [each for each in world.decisions(definition) if isinstance(each, Stop)]
        decided.append([names[stop.trial_key] for stop in stops])
        assert len(launch.proposals()) == 4
    assert decided[0] == decided[1] == [("proposal 2", 1), ("proposal 3", 1)]


def test_the_settings_of_a_limited_evaluation_decide_what_is_proposed() -> None:
    assert calibrated().decided_by != calibrated(bins=5).decided_by
    without = {"limits": (), "confirm": None}
    assert calibrated(**without).decided_by == calibrated(bins=5, **without).decided_by


def known_after(*entries: Entry, **changes: Any) -> SearchKnown:
    """Return what is known of a limited search with one proposal after some entries about it."""
    definition = limited(confirm=None, **changes)
    decider = decider_of(definition.sweep, definition.lost)
    known = decider.nothing_known({}, {"proposal 0": 3})
    for entry in (Propose((Cell("proposal 0", params(0), 0),)), *entries):
        known.take(entry)
    return known


TRIAL = "proposal 0 0"
EPOCH = EpochTold(TRIAL, 2, {"validation_error": 0.3})


def took(seconds: float, epoch: int) -> Measured:
    return Measured(TRIAL, epoch, {"seconds_per_epoch": seconds})


def test_a_sampler_hears_of_a_waiting_trial_what_it_has_measured_at_its_rung() -> None:
    scheduler = PromotionAsha(grace=0.5, reduction_factor=2)
    known = known_after(EPOCH, took(3, 2), Pause(TRIAL, 2), scheduler=scheduler)
    assert known.observations[0].state == "open"
    assert [known.weighed[0].state, known.weighed[0].violation] == ["pruned", 0.5]


def test_a_stopped_trial_counts_by_what_it_had_measured_whoever_trains_it_on() -> None:
    stopped = (EPOCH, took(3, 2), Stop(TRIAL, 2, 0.3))
    known = known_after(*stopped, took(1, 3), CellEnded(TRIAL, "finished", 3, EPOCH.metrics))
    assert known.violation("proposal 0") == known.observations[0].violation == 0.5


def test_of_a_trial_that_went_on_the_last_measure_counts() -> None:
    ended = CellEnded(TRIAL, "finished", 3, EPOCH.metrics)
    assert known_after(EPOCH, took(3, 2), took(1, 3), ended).violation("proposal 0") == 0.0


def test_a_diverged_proposal_keeps_what_it_has_measured() -> None:
    known = known_after(took(3, 1), CellEnded(TRIAL, "diverged", 1))
    assert [known.weighed[0].state, known.weighed[0].violation] == ["diverged", 0.5]


def test_trials_are_promoted_at_the_end_until_one_within_the_limits_is_whole(run: Run) -> None:
    scheduler = PromotionAsha(grace=0.34, reduction_factor=2)
    definition = limited(scheduler=scheduler, confirm=CONFIRM)
    launch = run(definition, of(0.1, 0.2, 0.3, 0.4), seconds=slow(0, 1, 2))
    assert confirmed(launch) == ("proposal 3",)


KILLED = {
    "tpe": {"sampler": "tpe", "trials": 5},
    "asha": {"sampler": "tpe", "trials": 5, "scheduler": SCHEDULER},
    "promotion": {
        "sampler": "tpe",
        "trials": 5,
        "scheduler": PromotionAsha(grace=0.34, reduction_factor=2),
    },
    "random reference": {
        "sampler": "tpe",
        "space": FEW_POINTS,
        "confirm": Confirm(best=1, seeds=(101,), against_random=True),
        "trials": 3,
        "startup": 2,
    },
}


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("changes", KILLED.values(), ids=KILLED)
def test_a_driver_killed_at_any_step_and_run_again_changes_nothing(
    tmp_path: Path, changes: dict[str, Any], every: int
) -> None:
    definition, seconds = limited(**({"confirm": confirm(1)} | changes)), slow_above(1e-3)
    world, copies, steps = World(tmp_path / "unbroken"), list[World](), count(1)

    def step() -> None:
        if next(steps) % every == 0:
            copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    ended = Launch(world, definition, by_rate, step=step, seconds=seconds).run()
    seconds_measured = [
        values["seconds_per_epoch"] for values in search_in(ended).measured.values()
    ]
    assert {*seconds_measured} == {1.0, 3.0}
    unbroken = Unbroken(world, ended)
    for killed in copies:
        resumed = Launch(killed, definition, by_rate, seconds=seconds).run()
        unbroken.expect_same(killed, resumed)
