"""The best configurations of a sweep, from Python."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from capsmodel.metrics import VALIDATION_ERROR, Objective
from sweeps.aggregation.best_config import BestConfig, RankedTrial, Ranking
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.ranking import RankedArm, ranking, without_place
from sweeps.aggregation.results.varied_settings import Setting, varied_settings
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    from sweeps.aggregation.results.standing import Standing

_ERROR = Objective(VALIDATION_ERROR)


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
    by the seeds that found them, which are not confirmed. Of a search with a cost these are the
    arms of its front alone, none with more parameters than those before it.

    Args:
        name: The sweep's name.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.
        count: How many to return; None returns all.

    Raises:
        BadInput: If there is no such sweep or store, or `count` is below 1.
        StoreUnreachable: If the tracking store does not answer.
    """
    refuse_count(count)
    return [*ranked_configs(name, tracking_uri, storage).configs[:count]]


def refuse_count(count: int | None) -> None:
    """Refuse to return fewer than one configuration.

    Raises:
        BadInput: If `count` is below 1.
    """
    if count is not None and count < 1:
        raise BadInput(f"At least one configuration is asked for, given was {count}.")


def ranked_configs(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> Ranking:
    """Return all arms of a sweep in their places, and those that have none.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    manifest = store.manifest(name)
    records = store.records(manifest.cell_keys().values())
    ranked = ranking(manifest, records)
    settings = varied_settings(manifest)
    has_cost = bool(manifest.search and manifest.search.cost)
    standing = {} if has_cost else _standings(ranked, store)
    configs = tuple(
        replace(
            _best_config(rank, arm, store, standing.get(arm.arm.arm.name)),
            num_parameters=arm.arm.arm.num_parameters if has_cost else None,
            settings={path: by_arm[arm.arm.arm.name] for path, by_arm in settings.items()},
            set_apart_by=_set_apart_by(arm.arm.arm.name, manifest, settings),
        )
        for rank, arm in enumerate(ranked, start=1)
    )
    return Ranking(configs, without_place(manifest, records))


def _set_apart_by(
    arm: str, manifest: Manifest, settings: Mapping[str, Mapping[str, Setting]]
) -> tuple[str, ...]:
    if manifest.search:
        return tuple(settings)
    return tuple(path for path, held in settings.items() if held[arm] != held[manifest.baseline])


def _standings(ranked: Sequence[RankedArm], store: RecordStore) -> "Mapping[str, Standing]":
    """Return how sure it is where arms stand, of arms that are ranked by validation error."""
    if not ranked or ranked[0].objective != _ERROR:
        return {}
    from sweeps.aggregation.results.predictions import read_predictions  # numpy comes with it
    from sweeps.aggregation.results.standing import MOST_ARMS, standings

    whole = [arm for arm in ranked if arm.is_whole][:MOST_ARMS]
    trials = [trial for arm in whole for trial in arm.arm.trials.values() if trial is not None]
    return standings(whole, read_predictions(store, trials))


def _best_config(
    rank: int, ranked: RankedArm, store: RecordStore, standing: "Standing | None"
) -> BestConfig:
    arm = ranked.arm
    errors = arm.chosen_by(_ERROR)
    return BestConfig(
        rank=rank,
        arm=arm.arm.name,
        config=arm.arm.config,
        splits=arm.splits,
        validation_error=arm.metric_interval(errors, _ERROR.metric),
        num_trials=len(ranked.values),
        num_planned=len(arm.trials),
        trials=_ranked_trials(arm),
        is_confirmed=ranked.is_confirmed,
        objective=ranked.objective.metric.name,
        metric=ranked.objective.metric,
        value=ranked.value,
        values=tuple(ranked.values.values()),
        settings={},
        set_apart_by=(),
        chance_of_best=standing.chance_of_best if standing else None,
        may_be_best=standing.may_be_best if standing else None,
        num_parameters=None,
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
