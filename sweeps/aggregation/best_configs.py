"""The best configurations of a sweep, from Python."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import VALIDATION_ERROR, Metric, Objective
from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.notebook_pieces import (
    Grid,
    Shown,
    block,
    facts,
    folded,
    mean_text,
    settings,
    summary,
    value_text,
)
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
from sweeps.aggregation.results.ranking import RankedArm, ranking, without_place
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.results.varied_settings import Setting, varied_settings
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.trained_models import load_trained, training_config_of
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, on_split
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import ARTIFACT_SOURCE, ARTIFACT_WEIGHTS, Json, Outcome
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.recorded_weights import warn_of_replaced_weights
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig
    from capsmodel.training.trained import Trained
    from sweeps.aggregation.results.predictions import Predictions

_ERROR = Objective(VALIDATION_ERROR)
_ALIKE = "indistinguishable from the first"


@dataclass(frozen=True)
class RankedTrial:
    """A finished trial as ranking sees it, without test values."""

    trial_key: str
    seed: int
    validation_error: float


@dataclass(frozen=True, repr=False)
class BestConfig:
    """An arm with its rank.

    Attributes:
        rank: From 1, by the mean of `objective`.
        config: The full training config as plain JSON values, without the seed.
        validation_error: Mean last-epoch validation error, a fraction, with its 95 % interval for
            new seeds and new validation images; without ends where that is not known.
        num_trials: Finished trials that the mean rests on.
        num_planned: Trials that the sweep plans of this arm on those seeds.
        trials: Those trials, the lowest validation error first.
        is_confirmed: Whether the seeds had no part in finding the arm: False only of a search
            whose confirmation is not there.
        objective: The metric that ranks, validation error unless a search minds another.
        metric: What that is.
        value: Its mean, with such an interval where the metric is an error.
        values: Values of its finished trials.
        settings: What it has of the settings that the sweep varies, path -> value.
        set_apart_by: Paths of those that differ from the baseline's, of all in a search.
        may_be_best: Whether it cannot be told from the first, for all arms together at 95 %; None
            where it was not compared: fewer than three seeds, a trial that did not finish, or no
            predictions of the same validation images.
        num_parameters: What it costs, of a search that minds it; None of others.
        splits: Seed -> split of its data, in place of that in `config`; empty where all have one.
        data_set: That of a sweep across several on which it is ranked; "" of any other sweep.
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
    values: tuple[float, ...]
    settings: Mapping[str, Setting]
    set_apart_by: tuple[str, ...]
    may_be_best: bool | None
    num_parameters: int | None
    metric: Metric = field(repr=False)
    store: RecordStore = field(repr=False, compare=False)
    splits: Mapping[int, int] = field(default_factory=dict[int, int])
    data_set: str = ""

    def __repr__(self) -> str:
        value = f"{self.metric.text} {mean_text(self.value, self.metric)}"
        parts = (value, self._trials, "" if self.is_confirmed else "not confirmed")
        return summary("BestConfig", f"{self.rank} '{self.arm}'", *parts)

    def _repr_html_(self) -> str:
        """Return it for a notebook: its value, settings and trials, small and escaped."""
        rows = [
            (self.metric.text, mean_text(self.value, self.metric)),
            ("trials", self._trials),
            ("confirmed", "yes" if self.is_confirmed else "no: its own seeds found it"),
            (_ALIKE, "" if self.may_be_best is None else ("no", "yes")[self.may_be_best]),
            ("parameters", "" if self.num_parameters is None else f"{self.num_parameters:,}"),
            *((path, str(value)) for path, value in self.settings.items() if value is not None),
        ]
        trials = Grid(
            ("trial", "seed", "validation error"),
            [
                [
                    Shown(trial.trial_key),
                    Shown(str(trial.seed)),
                    Shown(value_text(trial.validation_error, VALIDATION_ERROR)),
                ]
                for trial in self.trials
            ],
            (1, 2),
        )
        folds = (folded("trials", trials.html), settings(self.config))
        return block(f"{self.rank}. {self.arm}", facts(rows), *folds)

    @property
    def _trials(self) -> str:
        return f"{self.num_trials} of {self.num_planned} trials"

    @property
    def words(self) -> str:
        """The settings that distinguish it, in short names: `routing dynamic, iterations 3`."""
        names = short_names([*self.settings])
        return ", ".join(
            f"{names[path]} {value:.3g}" if isinstance(value, float) else f"{names[path]} {value}"
            for path, value in self.settings.items()
            if value is not None and path in self.set_apart_by
        )

    def training_config(self, parts: Sequence[type[Any]] = ()) -> "TrainingConfig":
        """Return its training config, as `Training` and `Sweep` take it.

            config = sweeps.best_configs("mine")[0].training_config(parts=[MyLoss])
            longer = with_settings(config, {"stopping.epochs": 40}, parts=[MyLoss])

        It imports PyTorch. The split of the data is that in `config`; see `splits`.

        Args:
            parts: Classes of the user's own parts that the config names.

        Raises:
            BadInput: If the config names a part that is not given, or is not valid here.
            StoreUnreachable: If it names one, and the tracking store does not answer.
        """
        call = "training_config(parts=[...])"
        return training_config_of(self.config, parts, call, self._location_of_code)

    def _location_of_code(self) -> str:
        """Return where a record holds the code of the user's own parts, "" if none does."""
        records = self.store.records(trial.trial_key for trial in self.trials)
        held = (r for r in records.values() if self.store.holds(r, ARTIFACT_SOURCE))
        return next((one_line(self.store.location(r, ARTIFACT_SOURCE)) for r in held), "")

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
            raise BadInput(f"The record of trial {chosen.trial_key} was deleted meanwhile.")
        if not self.store.holds(record, ARTIFACT_WEIGHTS):
            raise BadInput(
                f"The weights of trial {chosen.trial_key} (arm '{self.arm}', seed {chosen.seed}) "
                "are missing: a launch did not keep them (--keep-weights), or they were deleted. "
                "Ask for another seed, or train it again, --retrain."
            )
        weights = self.store.artifact(record, ARTIFACT_WEIGHTS)
        config = on_split(self.config, self.splits.get(chosen.seed))
        return load_trained(weights, config, seed=chosen.seed, parts=parts, device=device)


@dataclass(frozen=True)
class Ranking:
    """The ranked arms of a sweep, and those without a rank.

    Attributes:
        configs: The best first.
        without_place: Those that have no finished trial; none of a search, whose proposals may be
            stopped.
        num_deleted: Cells whose record was deleted in the tracking store.
        beyond_limits: Proposals of full length that are no candidates, each with the limits on what
            is measured that it does not keep.
        sizes: A sentence on each arm whose width was matched to another's number of parameters.
    """

    configs: tuple[BestConfig, ...]
    without_place: tuple[ArmResults, ...] = ()
    num_deleted: int = 0
    beyond_limits: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()


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
    arms of its front alone, none with more parameters than those before it. A sweep across data
    sets has a ranking on each of them, one after the other.

    Args:
        name: The sweep's name.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        count: How many to return; None returns all.

    Raises:
        BadInput: If there is no such sweep or store, or `count` is below 1.
        StoreUnreachable: If the tracking store does not answer.
    """
    check_count(count)
    rankings = rankings_by_data_set(name, tracking_uri, storage)
    return [config for ranked in rankings.values() for config in ranked.configs[:count]]


def check_count(count: int | None) -> None:
    """Check that at least one configuration is asked for.

    Raises:
        BadInput: If `count` is below 1.
    """
    if count is not None and count < 1:
        raise BadInput(f"At least one configuration is asked for, given was {count}.")


def rankings_by_data_set(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> dict[str, Ranking]:
    """Return the ranked arms of a sweep on each of its data sets, in the order of its table.

    Returns:
        Data set -> ranking; "" -> the only ranking of a sweep of one data set.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    rankings = dict[str, Ranking]()
    for data_set, sweep in (sweeps_by_data_set(store, name) or {"": name}).items():
        ranked = ranked_configs(sweep, store, storage)
        configs = tuple(replace(config, data_set=data_set) for config in ranked.configs)
        rankings[data_set] = replace(ranked, configs=configs)
    return rankings


def ranked_configs(
    name: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> Ranking:
    """Return the ranked arms of a sweep, and those that have no rank.

    Raises:
        BadInput: If there is no such sweep or store.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    manifest = store.manifest(name)
    records = store.records(manifest.cell_keys().values())
    warn_of_replaced_weights(name, store, records.values())
    ranked = ranking(manifest, records)
    settings = varied_settings(manifest)
    has_cost = bool(manifest.search and manifest.search.cost)
    predictions = _predictions(ranked, store)
    alike = {} if has_cost else _may_be_best(ranked, predictions)
    configs = tuple(
        replace(
            _best_config(
                rank, arm, store, predictions=predictions, alike=alike.get(arm.arm.arm.name)
            ),
            num_parameters=arm.arm.arm.num_parameters if has_cost else None,
            settings={path: by_arm[arm.arm.arm.name] for path, by_arm in settings.items()},
            set_apart_by=_set_apart_by(arm.arm.arm.name, manifest, settings),
        )
        for rank, arm in enumerate(ranked, start=1)
    )
    from sweeps.aggregation.results.design_sentences import size_sentences  # it loads NumPy

    missing = [key for key in manifest.cell_keys().values() if key not in records]
    beyond = search_results(manifest, records).beyond_limits if manifest.search else ()
    return Ranking(
        configs,
        without_place(manifest, records),
        len(store.deleted(missing)),
        tuple(result.broken_text for result in beyond),
        tuple(size_sentences(manifest)),
    )


def _predictions(ranked: Sequence[RankedArm], store: RecordStore) -> "Mapping[str, Predictions]":
    """Return the predictions of the first arms; those of a thousand would take long to read."""
    from sweeps.aggregation.results.prediction_files import read_predictions  # numpy comes with it
    from sweeps.aggregation.results.rank_confidence import MOST_ARMS

    trials = [trial for arm in ranked[:MOST_ARMS] for trial in arm.arm.trials.values()]
    finished = [trial for trial in trials if trial and trial.outcome is Outcome.FINISHED]
    return read_predictions(store, finished)


def _may_be_best(
    ranked: Sequence[RankedArm], predictions: "Mapping[str, Predictions]"
) -> Mapping[str, bool]:
    """Return whether each arm may be as good as the first, where validation error ranks them."""
    if not ranked or ranked[0].objective != _ERROR:
        return {}
    from sweeps.aggregation.results.rank_confidence import may_be_best  # numpy comes with it

    return may_be_best([arm for arm in ranked if arm.is_whole], predictions)


def _best_config(
    rank: int,
    ranked: RankedArm,
    store: RecordStore,
    *,
    predictions: "Mapping[str, Predictions]",
    alike: bool | None,
) -> BestConfig:
    from sweeps.aggregation.results.mean_errors import mean_of

    arm, errors = ranked.arm, ranked.arm.chosen_by(_ERROR)
    metric = ranked.objective.metric
    return BestConfig(
        rank=rank,
        arm=arm.arm.name,
        config=arm.arm.config,
        splits=arm.splits,
        validation_error=mean_of(arm, errors, _ERROR.metric.name, predictions).interval,
        num_trials=len(ranked.values),
        num_planned=len(arm.trials),
        trials=_ranked_trials(arm),
        is_confirmed=ranked.is_confirmed,
        objective=metric.name,
        metric=metric,
        value=mean_of(arm, ranked.values, metric.name, predictions).interval,
        values=tuple(ranked.values.values()),
        settings={},
        set_apart_by=(),
        may_be_best=alike,
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


def _set_apart_by(
    arm: str, manifest: Manifest, settings: Mapping[str, Mapping[str, Setting]]
) -> tuple[str, ...]:
    if manifest.search:
        return tuple(settings)
    return tuple(
        path for path, by_arm in settings.items() if by_arm[arm] != by_arm[manifest.baseline]
    )
