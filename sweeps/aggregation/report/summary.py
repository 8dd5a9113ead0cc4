"""The summary of a sweep that MLflow's pages show: its answers, best arm, means over seeds, trials.

The numbers are made here, and `sweeps.tracking.mlflow.browsing_runs` writes them.
"""

from collections.abc import Mapping, Sequence
from statistics import stdev

from sweeps.aggregation.results.arms import (
    ArmResults,
    arm_results,
    arms_as_trained,
    arms_to_their_end,
)
from sweeps.aggregation.results.ranking import ranking
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import (
    METRIC_EXTRA_TEST_ERRORS,
    METRIC_TEST_ERROR,
    METRIC_VALIDATION_ERROR,
    TrialRecord,
)
from sweeps.tracking.record_facts import flat_settings
from sweeps.tracking.store import RecordStore
from sweeps.tracking.sweep_summary import NUM_TRIALS, ArmSummary, SweepSummary, TrialEntry

DEVIATION = "_sd"
_FEWEST_SEEDS = 2


def summary_of(store: RecordStore, manifest: Manifest, answers: Sequence[str] = ()) -> SweepSummary:
    """Return the summary of a sweep by its records as they are now.

    Args:
        store: Where the records are read.
        manifest: Of the sweep.
        answers: Those of its report.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    return summarise(manifest, store.records(manifest.cell_keys().values()), answers)


def summarise(
    manifest: Manifest, records: Mapping[str, TrialRecord], answers: Sequence[str] = ()
) -> SweepSummary:
    """Return the summary of a sweep. Its numbers are those of the tables.

    Only trials that tables count enter a mean; the others only lower the count.

    Args:
        manifest: Of the sweep.
        records: By trial key.
        answers: Those of its report.
    """
    best, numbers = best_so_far(manifest, records)
    shown = arm_results(manifest, records) if manifest.search is None else ()
    return SweepSummary(
        sweep=manifest.sweep,
        description=manifest.description,
        answers=tuple(answers),
        numbers=numbers,
        best=best,
        arms=tuple(_shown(arm) for arm in shown if len(arm.trials) >= _FEWEST_SEEDS),
        trials=_trials(manifest, records),
    )


def best_so_far(
    manifest: Manifest, records: Mapping[str, TrialRecord]
) -> tuple[str, dict[str, float]]:
    """Return the best arm with its means over the same seeds, and how many trials count.

    Args:
        manifest: Of the sweep.
        records: By trial key.

    Returns:
        The arm's name, "" where none has a result, and the numbers by name.
    """
    counted = sum(len(arm.counted) for arm in arms_to_their_end(manifest, records))
    first = next(iter(ranking(manifest, records)), None)
    if first is None:
        return "", {NUM_TRIALS: counted}
    arm, name = first.arm, first.objective.metric.name
    numbers = {metric: arm.interval(arm.errors(metric)).mean for metric in _metrics(arm)}
    numbers[name] = first.mean
    known = {name: value for name, value in numbers.items() if value is not None}
    return arm.arm.name, known | {NUM_TRIALS: counted}


def _shown(arm: ArmResults) -> ArmSummary:
    numbers: dict[str, float] = {}
    for metric in _metrics(arm):
        errors = arm.errors(metric)
        deviation = stdev(errors.values()) if len(errors) > 1 else None
        values = {metric: arm.interval(errors).mean, metric + DEVIATION: deviation}
        numbers |= {name: value for name, value in values.items() if value is not None}
    is_whole = not arm.count("missing") and not arm.count("unfinished")
    numbers[NUM_TRIALS] = len(arm.counted)
    return ArmSummary(arm.arm.name, numbers, _note(arm), is_whole)


def _note(arm: ArmResults) -> str:
    """Return an arm's description in Markdown: its changes and its number of trials."""
    changes = [f"`{path}` = `{text}`" for path, text in flat_settings(arm.arm.changes).items()]
    text = ", ".join(changes) or "nothing changed"
    return (
        f"{'The baseline' if arm.is_baseline else 'An arm'}: {text}.\n\n"
        f"Means over {len(arm.counted)} finished of {len(arm.trials)} trials, with their "
        f"standard deviations. Written anew by each launch, and read by no table."
    )


def _metrics(arm: ArmResults) -> list[str]:
    """Return the names of the errors that an arm's counted trials have."""
    extra = {name for trial in arm.counted.values() for name in trial.extra_test_errors}
    names = [METRIC_EXTRA_TEST_ERRORS + name for name in sorted(extra)]
    return [METRIC_TEST_ERROR, METRIC_VALIDATION_ERROR, *names]


def _trials(manifest: Manifest, records: Mapping[str, TrialRecord]) -> tuple[TrialEntry, ...]:
    """Return each record once, in its first cell."""
    shown: dict[str, TrialEntry] = {}
    for arm in arms_as_trained(manifest, records):
        data = flat_settings(arm.arm.config).get("data", "")
        for trial in arm.trials.values():
            if trial is not None:
                facts = data, trial.data_fingerprint, trial.git_revision
                place = TrialEntry(trial.record_id, arm.arm.name, *facts)
                shown.setdefault(trial.record_id, place)
    return tuple(shown.values())
