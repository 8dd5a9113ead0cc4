"""Arms as the manifest holds them."""

from collections.abc import Sequence

from capsmodel.config import TrainingConfig, num_parameters
from search_spaces.plans.listed import Arm
from search_spaces.trial_key import trial_key
from sweeps.records.manifest import ManifestArm, ManifestCell


def manifest_arm(arm: Arm) -> ManifestArm:
    """Return an arm as the manifest holds it.

    Raises:
        ValueError: If its model cannot be built.
    """
    return ManifestArm(
        name=arm.name,
        config=arm.config.model_dump(mode="json"),
        changes=arm.changes,
        num_parameters=_num_parameters(arm.name, arm.config),
    )


def manifest_cells(arms: Sequence[Arm], seeds: Sequence[int]) -> list[ManifestCell]:
    """Return the cells of some arms with each of some seeds."""
    return [
        ManifestCell(arm=arm.name, seed=seed, trial_key=trial_key(arm.config, seed))
        for arm in arms
        for seed in seeds
    ]


def _num_parameters(arm: str, config: TrainingConfig) -> int:
    try:
        return num_parameters(config)
    except ValueError as error:
        raise ValueError(f"Arm '{arm}': {error}") from error
