"""`capsweep predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sweeps.cli.completion import sweeps_and_trials
from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console, plain, say, table_of
from sweeps.records.errors import BadInput
from sweeps.remote.submissions import check_trials

if TYPE_CHECKING:
    from capsmodel.training.trained import Prediction, Trained
    from sweeps.cli.answers import PredictAnswer


_Named = Annotated[
    str,
    typer.Argument(
        metavar="TRIAL|SWEEP",
        help="The beginning of a trial key, or a run id; or a sweep or its file, whose best "
        "trial by validation predicts.",
        callback=launched_name,
        autocompletion=sweeps_and_trials,
    ),
]


def predict(
    trial: _Named,
    images: Annotated[list[str], typer.Argument(help="Picture files, or folders of them.")],
    *,
    out: Annotated[
        str | None, typer.Option(help="Folder for what the decoder draws of each image.")
    ] = None,
    sweep_file: Annotated[
        str | None, typer.Option("--file", help="The sweep's file, if it has parts of its own.")
    ] = None,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Say what a trained network takes pictures for: classes by name, and beliefs."""
    check_trials(storage, tracking_uri)
    from sweeps.aggregation.named_models import named_trial
    from sweeps.aggregation.trained_models import trained_of
    from sweeps.tracking.opening import open_to_read

    parts = _parts(sweep_file)
    store = open_to_read(tracking_uri, storage)
    record, why = named_trial(trial, store)
    trained = trained_of(record, store, parts=parts)
    try:
        prediction = trained.predict([*map(Path, images)])
    except ValueError as error:
        raise BadInput(str(error)) from error
    answer = _answer(record.trial_key, trained, prediction, drawn=_drawn(prediction, out))
    if as_json:
        print_json(answer)
    else:
        if why:
            say(why)
        _print(answer)


def _parts(sweep_file: str | None) -> tuple[type[Any], ...]:
    """Return the parts of a sweep's file, which the user asks to run."""
    if sweep_file is None:
        return ()
    from search_spaces.sweep_file import custom_parts, module_from_text, sweep_from_file

    try:
        _, text = sweep_from_file(Path(sweep_file))
    except ValueError as error:
        raise BadInput(str(error)) from error
    return custom_parts(module_from_text(text))


def _drawn(prediction: "Prediction", out: str | None) -> tuple[str, ...]:
    """Write what the decoder draws of each image; of several classes of the first."""
    if out is None:
        return ()
    if prediction.reconstructions is None:
        raise BadInput("The network has no decoder that draws: leave out --out.")
    import io

    from PIL import Image

    from sweeps.aggregation.rendering.result_files import write_results
    from sweeps.storage.folder import Folder

    files: list[tuple[str, bytes]] = []
    for number, drawn in enumerate(prediction.reconstructions.cpu()):
        pixels = drawn[0] if drawn.ndim == 4 else drawn
        values = (pixels.clamp(0, 1) * 255).round().byte().movedim(0, -1).numpy()
        written = io.BytesIO()
        Image.fromarray(values if values.shape[-1] == 3 else values[..., 0]).save(written, "PNG")
        name = f"{number:04}-{Path(prediction.sources[number]).stem}.png"
        files.append((name, written.getvalue()))
    return tuple(map(str, write_results(Folder(Path(out)), files)))


def _answer(
    trial_key: str, trained: "Trained", prediction: "Prediction", *, drawn: tuple[str, ...]
) -> "PredictAnswer":
    from sweeps.cli.answers import PredictAnswer, Predicted

    data = trained.config.data
    names = [data.name_of(label) for label in range(data.num_classes)]
    poses = prediction.poses
    images = (
        Predicted(
            image=source,
            name=prediction.names[number],
            beliefs=dict(zip(names, prediction.lengths[number].tolist(), strict=True)),
            pose=None if poses is None else poses[number, _first(prediction, number)].tolist(),
            drawn=drawn[number] if drawn else None,
        )
        for number, source in enumerate(prediction.sources)
    )
    return PredictAnswer(
        trial_key=trial_key, conversion=prediction.conversion, images=tuple(images)
    )


def _first(prediction: "Prediction", number: int) -> int:
    return int(prediction.classes[number].reshape(-1)[0])


def _print(answer: "PredictAnswer") -> None:
    say(answer.conversion)
    table = table_of("image", "class", "belief", "next", "belief of it", numbers=0)
    for image in answer.images:
        ranked = sorted(image.beliefs.items(), key=lambda pair: pair[1], reverse=True)
        (_, belief), (second, other) = ranked[:2]
        beliefs = (f"{belief:.3f}", plain(second), f"{other:.3f}")
        table.add_row(plain(image.image), plain(image.name), *beliefs)
    console().print(table)
    for path in (image.drawn for image in answer.images if image.drawn):
        say(path)
