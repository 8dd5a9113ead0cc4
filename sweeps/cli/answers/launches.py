"""What is told of launches, as the shapes of `--json`."""

from collections import Counter
from typing import TYPE_CHECKING

from sweeps.cli.answers.shapes.launches import (
    ExpectedCells,
    FailedCell,
    ListAnswer,
    PlanAnswer,
    PlannedArm,
    PlannedCell,
    PlannedDisk,
    RunAnswer,
    ShippedSweep,
)
from sweeps.records.expected_cells import expected_cells

if TYPE_CHECKING:
    from collections.abc import Iterable

    from search_spaces.catalogue import SweepEntry
    from sweeps.execution.launch.result import SweepResult
    from sweeps.execution.survey.survey import Survey


def list_answer(entries: "Iterable[SweepEntry]") -> ListAnswer:
    """Return the shipped sweeps."""
    return ListAnswer(
        sweeps=tuple(ShippedSweep(name=entry.name, asks=entry.summary) for entry in entries)
    )


def plan_answer(survey: "Survey") -> PlanAnswer:
    """Return what a launch would do."""
    manifest, disk = survey.definition.manifest, survey.disk
    is_tuned = bool(manifest.plan and manifest.plan.tuned)
    return PlanAnswer(
        sweep=survey.name,
        kind="search" if manifest.search else "tuned" if is_tuned else "design",
        num_cells=manifest.num_expected,
        expected=tuple(
            ExpectedCells(what=kind.what, num_cells=kind.number)
            for kind in expected_cells(manifest)
        ),
        counts=Counter(cell.state.value for cell in survey.cells),
        arms=_arms(survey),
        cells=tuple(
            PlannedCell(
                arm=one.cell.arm,
                seed=one.cell.seed,
                trial_key=one.cell.trial_key,
                state=one.state.value,
                epochs=one.epochs,
                reason=one.reason,
            )
            for one in survey.cells
        ),
        refusal=survey.refusal,
        gpus_per_trial=survey.capacity.gpus_per_trial,
        num_concurrent=survey.capacity.num_concurrent,
        estimate_seconds=survey.estimate_seconds,
        disk=PlannedDisk(
            kept_bytes=disk.kept_bytes, most_bytes=disk.most_bytes, free_bytes=disk.free_bytes
        ),
    )


def _arms(survey: "Survey") -> tuple[PlannedArm, ...]:
    manifest = survey.definition.manifest
    there: dict[str, list[int]] = {arm.name: [] for arm in manifest.arms}
    empty: dict[str, list[int]] = {arm.name: [] for arm in manifest.arms}
    for one in survey.cells:
        (there if one.is_filled else empty)[one.cell.arm].append(one.cell.seed)
    return tuple(
        PlannedArm(
            arm=arm.name,
            is_baseline=arm.name == manifest.baseline,
            num_parameters=arm.num_parameters,
            epochs=survey.definition.epochs[arm.name],
            seeds_there=tuple(there[arm.name]),
            seeds_to_train=tuple(empty[arm.name]),
        )
        for arm in manifest.arms
    )


def run_answer(result: "SweepResult", again: str) -> RunAnswer:
    """Return how a launch ended.

    Args:
        result: How it ended.
        again: The command that goes on with it.
    """
    return RunAnswer(
        sweep=result.sweep,
        exit_code=result.exit_code,
        num_cells=result.num_cells,
        num_filled=result.num_filled,
        num_trained=result.num_trained,
        is_recorded=result.is_recorded,
        complaint=result.complaint,
        failures=tuple(
            FailedCell(arm=one.arm, seed=one.seed, reason=one.reason, log=str(one.log))
            for one in result.failures
        ),
        told=result.sentences,
        files=tuple(map(str, result.report.paths)) if result.report else (),
        go_on_with=again if result.exit_code else None,
    )
