"""A trial's training config as a worker rebuilds it."""

from typing import TYPE_CHECKING

from sweeps.records.trial_record import Json

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig


def training_config(config: Json, source: str | None) -> "TrainingConfig":
    """Return a training config, with a user's own parts from the source beside it.

    Raises:
        ValueError: If the config does not fit its parts, or the source cannot be run.
    """
    from capsmodel.config import TrainingConfig
    from search_spaces.sweep_file import module_from_text, own_parts

    parts = own_parts(module_from_text(source)) if source else ()
    return TrainingConfig.model_validate(config, context={"parts": parts})
