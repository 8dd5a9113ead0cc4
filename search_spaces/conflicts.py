"""What a plan varies itself, and so cannot be set for all of its arms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import paths_set, with_settings
from search_spaces.plans.base import Definition, Parts, Plan
from search_spaces.plans.varied import KIND, Varied


@dataclass(frozen=True)
class _Changed:
    """A sweep over another base, as its plan sees it."""

    base: TrainingConfig
    parts: Parts
    arm_seeds: tuple[int, ...]


def changed_base(definition: Definition, plan: Plan, settings: Mapping[str, Any]) -> TrainingConfig:
    """Return the base of a sweep with settings changed for all of its arms.

    Args:
        definition: Of the sweep.
        plan: Of the sweep.
        settings: Path -> value.

    Raises:
        ValueError: If a path leads nowhere, or the plan varies what it sets, alone or by a
            profile, so that the value would not be seen there.
    """
    varied = plan.varied(definition, with_profiles=False)
    _refuse_varied(settings, list(varied), plan.arms_at_start(definition))
    base = with_settings(definition.base, settings, definition.parts)
    changed = _Changed(base, definition.parts, definition.arm_seeds)
    _refuse_varied_profiles(settings, base, list(plan.varied(changed)))
    return base


def _refuse_varied(
    paths: Iterable[str], varied: Sequence[Varied], arms: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse paths at which a plan has values of its own, which would hide those set for all.

    Args:
        paths: Set for all arms.
        varied: What the plan varies.
        arms: Those that it starts with, name -> changes.

    Raises:
        ValueError: If an arm or the space changes one of them, or no arm would read it.
    """
    for path in paths:
        for own in varied:
            if own.hides(path):
                raise ValueError(f"'{path}' is varied by {own.who}: {own.advice}.")
        if arms and all(
            any(path.startswith(f"{changed}.") for changed in changes) for changes in arms.values()
        ):
            raise ValueError(
                f"'{path}' has no effect: every arm of the sweep chooses that part itself."
            )


def _refuse_varied_profiles(
    settings: Mapping[str, Any], base: TrainingConfig, varied: Sequence[Varied]
) -> None:
    """Refuse what a profile sets for all arms and a plan varies, or the other way round.

    Args:
        settings: What is set for all, path -> value.
        base: With these settings.
        varied: What the plan varies over that base.

    Raises:
        ValueError: If an arm, alone or by a profile, or the space changes what is set.
    """
    for given, paths in paths_set(base, settings).items():
        for path in paths:
            set_by = given if given.endswith(KIND) else path
            for own in varied:
                if own.hides(set_by):
                    sets = "" if path == given else f" sets '{path}', which"
                    raise ValueError(f"'{given}'{sets} is varied by {own.who}: {own.advice}.")
