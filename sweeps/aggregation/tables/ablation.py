"""The ablation table: what each arm's mean test error is, and how far it is from the baseline's."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import (
    measured_cell,
    measured_column,
    measured_difference_cell,
)
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    arm_cell,
    count_cell,
    integer_cell,
    no_difference_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.statistics import mean_interval, paired_difference
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import marked, target_cells, target_columns, target_notes
from sweeps.aggregation.tables.uncounted_cells import GAP_COLUMN, gap_cell, gap_notes, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import EPOCH_METRICS, METRIC_TEST_ERROR, TrialRecord

_NO_WIDTH = 1e-11  # rounding in the last place, not spread
_COLUMNS = (
    Column("Arm", ("arm", "is_baseline"), align="left"),
    Column("n", ("n", "num_planned")),
    measured_column(TEST_ERROR, "Test error"),
    Column(
        "Difference (points)",
        (*(f"difference_points{end}" for end in ("", "_low", "_high")), "difference_n"),
    ),
    Column("Parameters", ("num_parameters",)),
)


def ablation_table(
    manifest: Manifest, records: Mapping[str, TrialRecord], name: str = "ablation"
) -> Table:
    """Return one row an arm, in the manifest's order, compared with the baseline.

    Holds only what trial keys decide: no times, devices or record ids.

    Args:
        manifest: The sweep's arms, baseline and cells.
        records: By trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
    """
    arms = arm_results(manifest, records)
    baseline = next(arm for arm in arms if arm.is_baseline)
    more = target_columns(arms)
    rows = tuple((*_row(arm, baseline), *target_cells(arm, more)) for arm in arms)
    table = Table(
        name=name,
        title=f"Ablation {manifest.sweep}: test error by arm",
        description=one_line(manifest.description),
        columns=(*_COLUMNS, GAP_COLUMN, *more),
        rows=rows,
        notes=(
            *_reading_notes(manifest, arms),
            *_identity_notes(arms),
            *target_notes(arms),
            *health_notes(arms),
            *reason_notes(arms),
        ),
    )
    return with_departures(manifest, table)


def _row(arm: ArmResults, baseline: ArmResults) -> tuple[Cell, ...]:
    errors = arm.test_errors
    return (
        arm_cell(arm.arm.name, arm.is_baseline),
        count_cell(len(errors), len(arm.trials)),
        marked(measured_cell(errors.values(), TEST_ERROR), arm),
        no_difference_cell()
        if arm.is_baseline
        else measured_difference_cell(errors, baseline.test_errors, TEST_ERROR),
        integer_cell(arm.arm.num_parameters),
        gap_cell(arm),
    )


def _reading_notes(manifest: Manifest, arms: Sequence[ArmResults]) -> Iterator[str]:
    word = "seed" if len(manifest.seeds) == 1 else "seeds"
    seeds = ", ".join(str(seed) for seed in manifest.seeds)
    yield (
        f"n: trials counted, out of {len(manifest.seeds)} an arm ({word} {seeds}). Test error: "
        f"their mean in percent, {PLUS_MINUS} half the width of its 95 % t interval "
        "(n - 1 degrees of freedom); where n is 1 there is none."
    )
    yield (
        f"Difference: arm minus the baseline {manifest.baseline}, in percentage points, paired by "
        f"seed over the seeds that both have, {PLUS_MINUS} half the width of its 95 % t interval. "
        "Bold: that interval leaves out 0. The intervals are not corrected for the number of arms."
    )
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: "
        "whatever chooses is given validation figures only."
    )
    baseline = next(arm for arm in arms if arm.is_baseline)
    if any(_is_without_spread(arm, baseline) for arm in arms):
        yield "An interval of width 0 says that its values are equal, not that the mean is certain."
    yield from gap_notes(arms)


def _is_without_spread(arm: ArmResults, baseline: ArmResults) -> bool:
    intervals = [mean_interval(arm.test_errors.values())]
    if arm is not baseline:
        intervals.append(paired_difference(arm.test_errors, baseline.test_errors))
    return any(i.half_width is not None and i.half_width < _NO_WIDTH for i in intervals)


def _identity_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Name each pair of arms with equal results, pairs in the order of the arms."""
    prints = [_fingerprint(arm) for arm in arms]
    later: dict[object, deque[ArmResults]] = {}
    for arm, fingerprint in zip(arms, prints, strict=True):
        later.setdefault(fingerprint, deque()).append(arm)
    for first, fingerprint in zip(arms, prints, strict=True):
        later[fingerprint].popleft()
        for second in later[fingerprint] if fingerprint else ():
            yield (
                f"Arms {first.arm.name} and {second.arm.name} gave identical results on every "
                "seed: losses and errors of the last epoch are exactly equal."
            )


def _fingerprint(arm: ArmResults) -> tuple[tuple[float | None, ...], ...]:
    """Return every last-epoch metric of every seed, or nothing where a seed is not counted."""
    if len(arm.counted) < len(arm.trials):
        return ()
    names = (*EPOCH_METRICS, METRIC_TEST_ERROR)
    return tuple(tuple(getattr(trial, name) for name in names) for trial in arm.counted.values())
