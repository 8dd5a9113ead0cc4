"""Configs and trained models of records: the one module here that needs capsmodel and torch."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Json, Outcome, TrialRecord
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig
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
            f"'{name}' is a sweep, not a trial: "
            f"{SuggestedCommand('status', name)} shows its progress, and "
            f"{SuggestedCommand('best', name)} its arms with the keys of their trials."
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
    from capsmodel.training.trained import Trained  # here, as torch comes with it

    settings = training_config_of(config, parts, "load_model(parts=[...])")
    try:
        return Trained.load(weights, settings, seed=seed, device=device)
    except ValueError as error:
        raise BadInput(str(error)) from error


def training_config_of(
    config: Json, parts: Sequence[type[Any]], call: str, code_of: Callable[[], str] = str
) -> "TrainingConfig":
    """Return the training config that plain JSON values describe.

    Args:
        config: The full training config as plain JSON values.
        parts: Classes of the user's own parts.
        call: What takes the class of a part that is missing.
        code_of: Returns where the code of the user's own parts lies, "" if that is not known.

    Raises:
        BadInput: If the config names an unknown part or is not valid.
    """
    from capsmodel.config import TrainingConfig  # here, as torch comes with it

    try:
        return TrainingConfig.model_validate(config, context={"parts": tuple(parts)})
    except ValidationError as error:
        code = code_of()
        remedy = f"pass its class, {call}" + f"; its code lies in {code}" * bool(code)
        raise BadInput(_sentence(error, remedy)) from error


def _sentence(error: ValidationError, remedy: str) -> str:
    first = error.errors(include_url=False)[0]
    path = [str(place) for place in first["loc"]]
    if first["type"] == "union_tag_invalid" and path:
        return _unknown_part(path[-1], first.get("ctx", {}).get("tag"), remedy)
    if first["type"] == "literal_error" and path[-1:] == ["kind"] and len(path) > 1:
        return _unknown_part(path[-2], first["input"], remedy)  # of a family with one member
    return f"The training config is not valid here: {'.'.join(path)}: {first['msg']}"


def _unknown_part(family: str, kind: object, remedy: str) -> str:
    return (
        f"The training config uses the {family.replace('_', ' ')} '{kind}', which is not part of "
        f"capsmodel: {remedy}."
    )
