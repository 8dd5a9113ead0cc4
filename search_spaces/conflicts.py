"""What a plan varies itself, and so cannot be set for all of its arms."""

from collections.abc import Iterable, Mapping
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import paths_set
from search_spaces.plans.varied import KIND, Varied


def refuse_varied(
    paths: Iterable[str], varied: Iterable[Varied], arms: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse paths at which a plan has values of its own, which would hide those set for all.

    Args:
        paths: Set for all arms.
        varied: What the plan varies.
        arms: Those that it starts with, name -> changes.

    Raises:
        ValueError: If an arm or the space changes one of them, or no arm would read it.
    """
    known = list(varied)
    for path in paths:
        for one in known:
            if one.hides(path):
                raise ValueError(f"'{path}' is varied by {one.who}: {one.advice}.")
        if arms and all(
            any(path.startswith(own + ".") for own in changes) for changes in arms.values()
        ):
            raise ValueError(
                f"'{path}' has no effect: every arm of the sweep chooses that part itself."
            )


def refuse_varied_profiles(
    settings: Mapping[str, Any], base: TrainingConfig, varied: Iterable[Varied]
) -> None:
    """Refuse what a profile sets for all arms and a plan varies, or the other way round.

    Args:
        settings: What is set for all, path -> value.
        base: With these settings.
        varied: What the plan varies over that base.

    Raises:
        ValueError: If an arm, alone or by a profile, or the space changes what is set.
    """
    known = list(varied)
    for given, paths in paths_set(base, settings).items():
        for path in paths:
            set_by = given if given.endswith(KIND) else path
            for one in known:
                if one.hides(set_by):
                    sets = "" if path == given else f" sets '{path}', which"
                    raise ValueError(f"'{given}'{sets} is varied by {one.who}: {one.advice}.")
