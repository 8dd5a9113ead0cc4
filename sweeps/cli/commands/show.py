"""`capsweep show`."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from sweeps.cli.completion import trial_keys
from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console, plain, say, table_of
from sweeps.remote.submissions import check_trials

if TYPE_CHECKING:
    from sweeps.aggregation.pictures.trial_pictures import Pictures
    from sweeps.aggregation.results.recorded_evaluations import RecordedEvaluation
    from sweeps.aggregation.trial_view import TrialView
    from sweeps.cli.answers import ShowAnswer


def show(
    trial: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL",
            help="The beginning of a trial key, or a run id.",
            callback=launched_name,
            autocompletion=trial_keys,
        ),
    ],
    *,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Draw reconstructions, moved poses and couplings.")
    ] = False,
    out: Annotated[
        str, typer.Option(help="Folder of the pictures, in a subfolder named by the trial key.")
    ] = "pictures",
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show one trial: its config, its curve, the place of its weights, and its pictures."""
    check_trials(storage, tracking_uri)
    if pictures:
        from sweeps.aggregation.pictures.trial_pictures import pictures as draw

        drawn = draw(trial, tracking_uri, storage, out=out)
        if as_json:
            from sweeps.cli.answers import PicturesAnswer

            print_json(PicturesAnswer.of(drawn, files=tuple(map(str, drawn.paths))))
        else:
            _print_pictures(drawn)
        return
    from sweeps.aggregation.trial_view import show as show_trial

    view = show_trial(trial, tracking_uri, storage)
    if as_json:
        print_json(_answer(view))
    else:
        print_trial(view)


def _answer(view: "TrialView") -> "ShowAnswer":
    from sweeps.cli.answers import Evaluated, ShowAnswer

    evaluations = tuple(
        Evaluated(
            key=evaluation.key,
            kind=evaluation.record.kind if evaluation.record else None,
            settings=evaluation.record.settings if evaluation.record else {},
            metrics=dict(evaluation.metrics),
        )
        for evaluation in view.evaluations
    )
    return ShowAnswer.of(view, evaluations=evaluations)


def print_trial(view: "TrialView") -> None:
    """Print one trial."""
    from capsmodel.metrics import VALIDATION_ERROR

    out = console()
    record = view.record
    out.print(f"trial {record.trial_key}: {plain(record.arm)}, seed {record.seed}")
    reason = f": {record.reason}" if record.reason else ""
    out.print(f"outcome: {record.outcome.value}{plain(reason)}")
    _print_results(view)
    for warning in record.warnings:
        say(f"warning: {warning}")
    for evaluation in view.evaluations:
        for line in evaluation_lines(evaluation):
            out.print(escape(line), soft_wrap=True)
    say(f"weights: {view.weights or 'none are kept'}")
    out.print(f"MLflow run: {record.record_id}")
    giving = ("train loss", "validation loss")
    measured = view.headings[len(giving) + 1 :]
    columns = ("epoch", *giving, "validation error %", *measured)
    table = table_of(*columns, numbers=len(columns), giving=giving)
    for epoch, train_loss, validation_loss, error, *others in view.epochs():
        losses = (f"{train_loss:.5f}", f"{validation_loss:.5f}")
        figures = (f"{VALIDATION_ERROR.shown(error):.2f}", *(f"{value:.5g}" for value in others))
        table.add_row(str(epoch), *losses, *figures)
    out.print(table)
    out.print("config:")
    out.print(escape(json.dumps(view.config, indent=2)), soft_wrap=True)


def _print_results(view: "TrialView") -> None:
    """Print the errors on test splits, whose weights they are of, and the target."""
    from capsmodel.metrics import TEST_ERROR
    from sweeps.aggregation.results.targets import target_text

    out, record = console(), view.record
    if record.test_error is not None:
        out.print(f"test error: {TEST_ERROR.written(record.test_error)}")
    for name, error in record.extra_test_errors.items():
        out.print(f"test error, {plain(name)}: {TEST_ERROR.written(error)}")
    if record.tested_epoch:
        out.print(f"tested weights: after epoch {record.tested_epoch} of {record.epochs}")
    if record.target:
        target = target_text(view.config)
        out.print(plain(f"target: {record.target}{f' ({target})' if target else ''}"))


def evaluation_lines(evaluation: "RecordedEvaluation") -> Iterator[str]:
    """Yield a line for an evaluation, and one for each metric."""
    from sweeps.records.evaluation_names import evaluation_title
    from sweeps.records.plain_text import one_line

    record = evaluation.record
    if record is None:
        yield f"evaluation {evaluation.key}: its file is gone or cannot be read"
        yield from (f"  {name}: {value:.5g}" for name, value in sorted(evaluation.metrics.items()))
        return
    title = evaluation_title(record.kind, record.settings)
    yield f"evaluation {title}, of {record.looks_at} images"
    for name, value in record.metrics.items():
        metric = record.metric_of(name)
        yield f"  {one_line(metric.text)}: {metric.written(value)}"
    if record.pictures:
        yield f"  pictures: {', '.join(record.pictures)}"
    yield from (f"  {one_line(sentence)}" for sentence in record.left_out)


def _print_pictures(pictures: "Pictures") -> None:
    """Print which pictures were drawn, and why others were not."""
    for path in pictures.paths:
        say(str(path))
    for sentence in pictures.left_out:
        console().print(plain(sentence))
