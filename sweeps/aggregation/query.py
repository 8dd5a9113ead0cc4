"""Questions to the records, from Python: trials, the best configurations, one trial, its model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import VALIDATION_ERROR, Metric, Objective
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.found_evaluations import FoundEvaluation, found_evaluations
from sweeps.aggregation.results.ranking import RankedArm, ranking
from sweeps.aggregation.results.statistics import Interval, mean_interval
from sweeps.aggregation.tables.trials import trial_rows
from sweeps.aggregation.trained_models import load_trained
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Json, Outcome, TrialRecord
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import CurvePoint, RecordStore

if TYPE_CHECKING:
    import pandas as pd

    from capsmodel.training.trained import Trained

_ERROR = Objective(VALIDATION_ERROR)
_WHOLE_NUMBERS = ("epochs", "stopped_epoch", "num_parameters", "peak_memory_bytes", "threads")
_NUMBERS = ("train_loss", "validation_loss", "validation_error", "test_error", "duration_seconds")


@dataclass(frozen=True)
class RankedTrial:
    """A finished trial as ranking sees it, without test values."""

    trial_key: str
    seed: int
    validation_error: float


@dataclass(frozen=True)
class BestConfig:
    """An arm with its place among the others.

    Attributes:
        rank: From 1, by the mean of `objective`.
        config: The full training config as plain JSON values, without the seed.
        validation_error: Mean last-epoch validation error, a fraction, with its t interval.
        num_trials: Finished trials that the mean rests on.
        num_planned: Trials that the sweep plans of this arm on those seeds.
        trials: Those trials, the lowest validation error first.
        is_confirmed: Whether the seeds had no part in finding the arm: False only of a search
            whose confirmation is not there.
        objective: The metric that ranks, validation error unless a search minds another.
        metric: What that is.
        value: Its mean with its t interval.
    """

    rank: int
    arm: str
    config: Json
    validation_error: Interval
    num_trials: int
    num_planned: int
    trials: tuple[RankedTrial, ...]
    is_confirmed: bool
    objective: str
    value: Interval
    metric: Metric = field(repr=False)
    store: RecordStore = field(repr=False, compare=False)

    def load_model(
        self, seed: int | None = None, parts: Sequence[type[Any]] = (), device: str = "cpu"
    ) -> "Trained":
        """Return the trained model of one seed of this arm, ready to predict.

        Args:
            seed: None takes the seed with the lowest last-epoch validation error.
            parts: Classes of the user's own parts that the config names.
            device: Where the weights go.

        Raises:
            BadInput: If no finished trial has that seed, its weights were not kept or do not fit
                the config, or the config names a part that is not given.
        """
        by_seed = {trial.seed: trial for trial in self.trials}
        if seed is not None and seed not in by_seed:
            known = ", ".join(str(known) for known in sorted(by_seed))
            raise BadInput(
                f"Arm '{self.arm}' has no finished trial with seed {seed}. Finished: {known}."
            )
        chosen = self.trials[0] if seed is None else by_seed[seed]
        record = self.store.records([chosen.trial_key]).get(chosen.trial_key)
        if record is None:
            raise BadInput(f"The record of trial {chosen.trial_key} is no longer there.")
        if not self.store.holds(record, ARTIFACT_WEIGHTS):
            raise BadInput(
                f"The weights of trial {chosen.trial_key} (arm '{self.arm}', seed {chosen.seed}) "
                "are not there: a launch did not keep them (--keep-weights), or they were deleted. "
                "Ask for another seed, or train it anew, --fresh."
            )
        weights = self.store.artifact(record, ARTIFACT_WEIGHTS)
        return load_trained(weights, self.config, seed=chosen.seed, parts=parts, device=device)


@dataclass(frozen=True)
class TrialView:
    """One trial closely.

    Attributes:
        config: Its full training config.
        curve: Its epochs, in order.
        weights: Where its weights lie (path or address), None where none are kept.
        evaluations: What was found of its network after its training.
    """

    record: TrialRecord
    config: Json
    curve: tuple[CurvePoint, ...]
    weights: str | None
    evaluations: tuple[FoundEvaluation, ...] = ()


def trials(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> "pd.DataFrame":
    """Return a frame with one row a trial of the sweep, arms and seeds in the sweep's order.

    Cells without a record are rows with the outcome "missing". Errors are fractions.

    Args:
        name: The sweep's name.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd  # here, so that other questions do not wait for it

    store = open_store(tracking_uri, storage)
    manifest = store.manifest(name)
    frame = pd.DataFrame(trial_rows(manifest, store.records(manifest.cell_keys().values())))
    types = dict.fromkeys(_WHOLE_NUMBERS, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    return frame.astype(types)


def best_configs(
    name: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    count: int | None = None,
) -> list[BestConfig]:
    """Return the sweep's arms, the lowest mean last-epoch validation error first.

    Test values play no part. Only finished trials enter; an arm without any is left out. Equal
    means keep the sweep's order. Of a search these are the arms that it ran again, ranked by its
    objective on those fresh seeds alone; until that is over, the proposals that ran to full length
    by the seeds that found them, which are not confirmed.

    Args:
        name: The sweep's name.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.
        count: How many to return; None returns all.

    Raises:
        BadInput: If there is no such sweep or store, or `count` is below 1.
        StoreUnreachable: If the tracking store does not answer.
    """
    if count is not None and count < 1:
        raise BadInput(f"At least one configuration is asked for, given was {count}.")
    store = open_store(tracking_uri, storage)
    manifest = store.manifest(name)
    ranked = ranking(manifest, store.records(manifest.cell_keys().values()))
    return [_best_config(rank, arm, store) for rank, arm in enumerate(ranked[:count], start=1)]


def show(
    trial: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> TrialView:
    """Return one trial's record, config, curve and where its weights lie.

    Args:
        trial: The first characters of its trial key, or the id of its record.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If no trial, or more than one, answers to it.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_store(tracking_uri, storage)
    record = store.find(trial)
    return TrialView(
        record=record,
        config=store.config(record),
        curve=tuple(store.curve(record)),
        weights=store.location(record, ARTIFACT_WEIGHTS)
        if record.outcome is Outcome.FINISHED and store.holds(record, ARTIFACT_WEIGHTS)
        else None,
        evaluations=found_evaluations(record, store),
    )


def _best_config(rank: int, ranked: RankedArm, store: RecordStore) -> BestConfig:
    arm = ranked.arm
    errors = arm.chosen_by(_ERROR)
    return BestConfig(
        rank=rank,
        arm=arm.arm.name,
        config=arm.arm.config,
        validation_error=mean_interval(errors.values()),
        num_trials=len(ranked.values),
        num_planned=len(arm.trials),
        trials=_ranked_trials(arm),
        is_confirmed=ranked.is_confirmed,
        objective=ranked.objective.metric.name,
        metric=ranked.objective.metric,
        value=ranked.value,
        store=store,
    )


def _ranked_trials(arm: ArmResults) -> tuple[RankedTrial, ...]:
    """Return an arm's finished trials, the lowest validation error first."""
    errors = arm.chosen_by(_ERROR)
    trials = (
        RankedTrial(trial.trial_key, seed, errors[seed])
        for seed, trial in arm.trials.items()
        if trial is not None and seed in errors
    )
    return tuple(sorted(trials, key=lambda trial: trial.validation_error))
