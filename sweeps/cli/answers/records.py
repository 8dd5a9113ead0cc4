"""What is told of records, as the shapes of `--json`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sweeps.cli.answers.shapes.records import (
    BestAnswer,
    BestArm,
    BestTrial,
    CellStanding,
    DiffAnswer,
    DiffRow,
    Epoch,
    Evaluated,
    LastLaunch,
    ListedSweep,
    PicturesAnswer,
    ShowAnswer,
    StatusAnswer,
    SweepsAnswer,
)

if TYPE_CHECKING:
    from sweeps.aggregation.best_configs import BestConfig
    from sweeps.aggregation.comparison.diff import Difference
    from sweeps.aggregation.pictures.trial_pictures import Pictures
    from sweeps.aggregation.trial_view import TrialView
    from sweeps.execution.survey.listing import ListedSweep as Listed
    from sweeps.execution.survey.status import SweepStatus


def status_answer(status: "SweepStatus") -> StatusAnswer:
    """Return how far a sweep is."""
    launch = status.last_launch
    return StatusAnswer(
        sweep=status.sweep,
        counts=status.counts(),
        cells=tuple(
            CellStanding(
                arm=one.cell.arm,
                seed=one.cell.seed,
                trial_key=one.cell.trial_key,
                state=one.state,
                epoch=one.epoch,
                reason=one.reason,
            )
            for one in status.cells
        ),
        evaluations=Counter(evaluation.state.value for evaluation in status.evaluations),
        is_recorded=status.is_recorded,
        ending=status.ending,
        is_running=status.is_running,
        last_launch=None
        if launch is None
        else LastLaunch(
            started_at=launch.started, ended_at=launch.ended, exit_code=launch.exit_code
        ),
    )


def sweeps_answer(listed: "Iterable[Listed]") -> SweepsAnswer:
    """Return the launched sweeps."""
    return SweepsAnswer(sweeps=tuple(ListedSweep(**vars(one)) for one in listed))


def best_answer(sweep: str, configs: "Sequence[BestConfig]", notes: Iterable[str]) -> BestAnswer:
    """Return arms, the best first, and what is said of the ranking as a whole."""
    metric = configs[0].metric if configs else None
    return BestAnswer(
        sweep=sweep,
        metric=metric.name if metric else None,
        unit=metric.unit if metric else None,
        arms=tuple(map(_best_arm, configs)),
        notes=tuple(notes),
    )


def _best_arm(config: "BestConfig") -> BestArm:
    return BestArm(
        rank=config.rank,
        arm=config.arm,
        is_confirmed=config.is_confirmed,
        value=config.value.mean,
        low=config.value.low,
        high=config.value.high,
        values=config.values,
        num_planned=config.num_planned,
        chance_of_best=config.chance_of_best,
        may_be_best=config.may_be_best,
        num_parameters=config.num_parameters,
        settings=dict(config.settings),
        trials=tuple(
            BestTrial(trial_key=one.trial_key, seed=one.seed, validation_error=one.validation_error)
            for one in config.trials
        ),
        config=config.config,
    )


def show_answer(view: "TrialView") -> ShowAnswer:
    """Return one trial."""
    record = view.record
    return ShowAnswer(
        trial_key=record.trial_key,
        record_id=record.record_id,
        sweep=record.sweep,
        arm=record.arm,
        seed=record.seed,
        outcome=record.outcome.value,
        reason=record.reason,
        target=record.target,
        warnings=record.warnings,
        metrics=record.metrics,
        duration_seconds=record.duration_seconds,
        curve=tuple(Epoch(**point._asdict()) for point in view.curve),
        evaluations=tuple(
            Evaluated(
                key=found.key,
                kind=found.told.kind if found.told else None,
                settings=found.told.settings if found.told else {},
                metrics=dict(found.metrics),
            )
            for found in view.evaluations
        ),
        weights=view.weights,
        config=view.config,
    )


def pictures_answer(pictures: "Pictures") -> PicturesAnswer:
    """Return which pictures were drawn."""
    return PicturesAnswer(files=tuple(map(str, pictures.paths)), left_out=pictures.left_out)


def diff_answer(differing: "Difference") -> DiffAnswer:
    """Return in what two trials, or two sweeps, differ."""
    return DiffAnswer(
        kind=differing.kind,
        first=differing.first,
        second=differing.second,
        rows=tuple(
            DiffRow(
                part=one.part,
                name=one.name,
                first=one.first,
                second=one.second,
                difference=one.difference,
                unit=one.unit,
            )
            for one in differing.rows
        ),
    )
