"""Trained models of records: the one module of this package that needs capsmodel and torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Json

if TYPE_CHECKING:
    from capsmodel.training.trained import Trained


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
