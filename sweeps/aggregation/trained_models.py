"""Trained models of records: the one module of this package that needs capsmodel and torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Json, Outcome, TrialRecord
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    from capsmodel.training.trained import Trained


def trial_of(name: str, store: RecordStore) -> TrialRecord:
    """Return the trial with that id or beginning of a key.

    Raises:
        BadInput: If there is none, or more than one; of a sweep it says what shows that.
        StoreUnreachable: If the store does not answer.
    """
    try:
        return store.find(name)
    except BadInput as error:
        if name not in store.sweeps():
            raise
        raise BadInput(
            f"'{name}' is a sweep, not a trial: capsweep status {name} shows its progress, and "
            f"capsweep best {name} its arms with the keys of their trials."
        ) from error


def check_finished(record: TrialRecord) -> None:
    """Check that a trial has finished.

    Raises:
        BadInput: If it has not.
    """
    if record.outcome is not Outcome.FINISHED:
        raise BadInput(
            f"Trial {record.trial_key} is {record.outcome.value}: only a finished one has weights."
        )


def trained_of(
    record: TrialRecord, store: RecordStore, *, parts: Sequence[type[Any]], device: str = "cpu"
) -> "Trained":
    """Return the network of a finished trial's recorded weights.

    Raises:
        BadInput: If its weights are missing, or as `load_trained` does.
        StoreUnreachable: If the tracking store does not answer.
    """
    if not store.holds(record, ARTIFACT_WEIGHTS):
        raise BadInput(
            f"The weights of trial {record.trial_key} are missing: a launch did not keep them "
            f"(--keep-weights), or they were deleted. Ask for another trial, or train it again, "
            f"--retrain."
        )
    weights = store.artifact(record, ARTIFACT_WEIGHTS)
    config = store.config(record)
    return load_trained(weights, config, seed=record.seed, parts=parts, device=device)


def load_trained(
    weights: Path, config: Json, *, seed: int, parts: Sequence[type[Any]], device: str
) -> "Trained":
    """Return the model of a config and a weights file.

    Nothing is imported because the config names it: parts that are not capsmodel's own come as
    classes.

    Args:
        weights: A safetensors file; its header is checked against the config before it is read.
        config: The full training config as plain JSON values.
        seed: The trial's seed.
        parts: Classes of the user's own parts.
        device: Where the weights go.

    Raises:
        BadInput: If the config names an unknown part or is not valid, or the file does not fit.
    """
    from capsmodel.config import TrainingConfig  # here, as torch comes with them
    from capsmodel.training.trained import Trained

    try:
        settings = TrainingConfig.model_validate(config, context={"parts": tuple(parts)})
    except ValidationError as error:
        raise BadInput(_sentence(error)) from error
    try:
        return Trained.load(weights, settings, seed=seed, device=device)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    path = [str(place) for place in first["loc"]]
    if first["type"] == "union_tag_invalid" and path:
        return _unknown_part(path[-1], first.get("ctx", {}).get("tag"))
    if first["type"] == "literal_error" and path[-1:] == ["kind"] and len(path) > 1:
        return _unknown_part(path[-2], first["input"])  # of a family with one built-in member
    return f"The model's config is not valid here: {'.'.join(path)}: {first['msg']}"


def _unknown_part(family: str, kind: object) -> str:
    return (
        f"This model uses the {family.replace('_', ' ')} '{kind}', which is not part of "
        "capsmodel: pass its class, load_model(parts=[...])."
    )
