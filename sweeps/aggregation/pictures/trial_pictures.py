"""Pictures of a finished trial: what its network draws, what its poses hold, how it routes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sweeps.aggregation.pictures.picture_contents import Array, Pictured, pictured
from sweeps.aggregation.pictures.picture_drawing import (
    coupling_picture,
    perturbation_picture,
    reconstruction_picture,
)
from sweeps.aggregation.rendering.figure_style import figure_style, image_bytes
from sweeps.aggregation.rendering.result_files import write_results
from sweeps.aggregation.results.recorded_evaluations import RecordedEvaluation, recorded_evaluations
from sweeps.aggregation.tables.confusion_figure import KIND as CONFUSION
from sweeps.aggregation.tables.confusion_figure import confused, confusion_drawing
from sweeps.aggregation.trained_models import check_finished, trained_of, trial_of
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import TrialRecord
from sweeps.storage.folder import Folder, read_named_file
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

EVALUATION = "pictures"
_LEFT_OUT = {
    "reconstructions.png": "reconstructions.png is left out, as the network has no decoder.",
    "perturbations.png": "perturbations.png is left out, as the network draws nothing from poses.",
    "couplings.png": "couplings.png is left out, as the network has no couplings.",
}


@dataclass(frozen=True)
class Pictures:
    """The pictures of a trial.

    Attributes:
        paths: The files.
        left_out: Why others were not drawn, a sentence each.
    """

    paths: tuple[Path, ...]
    left_out: tuple[str, ...]


def pictures(
    trial: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    out: str | Path = "pictures",
    parts: Sequence[type[Any]] = (),
) -> Pictures:
    """Draw a finished trial's pictures, under `out/<trial key>/`.

    They are drawn of what the evaluation `pictures` found, if a sweep had it made, and else of what
    it finds of the recorded weights now. All are of validation images:

    - reconstructions.png: images of each class with what the decoder draws of them;
    - perturbations.png: what it draws when one number of a pose at a time is moved;
    - couplings.png: which children go to the class that is believed in most.

    Pictures of other evaluations stand next to them, as `KIND.KEY.NAME.png`, and those of the
    evaluation `confusion` as `confusion.KEY.png`.

    Args:
        trial: The first characters of its trial key, or the id of its record.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.
        out: Where the folder of pictures is put.
        parts: Classes of the user's own parts that the config names.

    Raises:
        BadInput: If no trial, or more than one, answers to it, it has not finished, there is no
            evaluation and its weights were not kept or its data cannot be loaded, or the folder
            cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    record = trial_of(trial, store)
    check_finished(record)
    arrays = _recorded(record, store) or _made(record, store, parts)
    drawn = [*_drawn(pictured(arrays)), *_of_other_evaluations(record, store)]
    names = {name for name, _ in drawn}
    return Pictures(
        paths=write_results(Folder(Path(out), record.trial_key), drawn),
        left_out=tuple(sentence for name, sentence in _LEFT_OUT.items() if name not in names),
    )


def _recorded(record: TrialRecord, store: RecordStore) -> dict[str, Array]:
    """Return the arrays of the recorded evaluation `pictures`, {} where there is none."""
    from safetensors.numpy import load_file

    for evaluation in recorded_evaluations(record, store):
        if evaluation.record and evaluation.record.kind == EVALUATION and evaluation.record.arrays:
            return load_file(store.artifact(record, f"{evaluation.key}.safetensors"))
    return {}


def _of_other_evaluations(record: TrialRecord, store: RecordStore) -> Iterator[tuple[str, bytes]]:
    """Yield the pictures that other evaluations have recorded, and those of confusions."""
    for evaluation in recorded_evaluations(record, store):
        if evaluation.record is None:
            continue
        if evaluation.record.kind == CONFUSION and "counts" in evaluation.record.arrays:
            yield f"{CONFUSION}.{evaluation.key[:8]}.png", _confusion(record, evaluation, store)
        for name in evaluation.record.pictures:
            content = read_named_file(store.artifact(record, f"{evaluation.key}.{name}.png"))
            yield f"{evaluation.record.kind}.{evaluation.key[:8]}.{name}.png", content


def _confusion(record: TrialRecord, evaluation: RecordedEvaluation, store: RecordStore) -> bytes:
    from safetensors.numpy import load_file

    arrays = load_file(store.artifact(record, f"{evaluation.key}.safetensors"))
    split = evaluation.record.looks_at if evaluation.record else ""
    title = f"Trial {record.trial_key[:8]}: {split} images"
    with figure_style():
        return image_bytes(confusion_drawing(confused([arrays]), title), "png")


def _made(record: TrialRecord, store: RecordStore, parts: Sequence[type[Any]]) -> dict[str, Array]:
    """Return what the evaluation gives of the recorded weights."""
    from capsmodel.data import load_checked  # here, as torch comes with it
    from capsmodel.evaluation import Pictures as PicturesEvaluation

    trained = trained_of(record, store, parts=parts)
    try:
        data = load_checked(trained.config.data, "cpu")
    except (ValueError, OSError) as error:
        raise BadInput(f"The images of this trial cannot be loaded: {error}") from error
    arrays = PicturesEvaluation().evaluate(trained, data).arrays
    return {name: values.numpy() for name, values in arrays.items()}


def _drawn(pictured: Pictured) -> Iterator[tuple[str, bytes]]:
    if pictured.examples:
        yield "reconstructions.png", reconstruction_picture(pictured.examples, pictured.names)
    if pictured.perturbed:
        yield "perturbations.png", perturbation_picture(pictured.perturbed, pictured.names)
    if pictured.couplings:
        yield "couplings.png", coupling_picture(pictured.couplings, pictured.names)
