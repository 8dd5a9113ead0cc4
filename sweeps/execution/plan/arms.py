"""Arms as the manifest holds them."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from capsmodel.config import TrainingConfig, num_parameters
from search_spaces.plans.base import Arm
from search_spaces.trial_key import trial_key
from sweeps.records.manifest import ManifestArm, ManifestCell

_ONE_SPLIT: Mapping[int, int] = MappingProxyType({})


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


def manifest_cells(
    arms: Mapping[str, Arm],
    places: Iterable[tuple[str, int]],
    splits: Mapping[int, int] = _ONE_SPLIT,
) -> list[ManifestCell]:
    """Return the cells in some places.

    Args:
        arms: By name.
        places: Arm and seed.
        splits: Split of each seed; of none where all have that of the arm's config.
    """

    def key(name: str, seed: int) -> str:
        return trial_key(_on_split(arms[name].config, splits.get(seed)), seed)

    return [ManifestCell(arm=name, seed=seed, trial_key=key(name, seed)) for name, seed in places]


def _on_split(config: TrainingConfig, split: int | None) -> TrainingConfig:
    if split is None:
        return config
    data = config.data.model_copy(update={"split_seed": split})
    return config.model_copy(update={"data": data})


def _num_parameters(arm: str, config: TrainingConfig) -> int:
    try:
        return num_parameters(config)
    except ValueError as error:
        raise ValueError(f"Arm '{arm}': {error}") from error
