"""What a plan varies itself, and so cannot be set for all of its arms."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from capsmodel.config import TrainingConfig
from capsmodel.overrides import paths_set, with_settings
from capsmodel.settings.parts import Part
from search_spaces.plans.listed import ListedArms
from search_spaces.plans.search import Search
from search_spaces.space.settings_tree import is_at_or_below

Parts = tuple[type[Part], ...]

_KIND = ".kind"


class _Varied(NamedTuple):
    """A path that a plan varies, and who does."""

    path: str
    who: str
    advice: str


def refuse_varied(paths: Iterable[str], plan: ListedArms | Search) -> None:
    """Refuse paths at which a plan has values of its own, which would hide those set for all.

    Raises:
        ValueError: If an arm or the space changes one of them, or no arm would read it.
    """
    varied = list(_varied_by(plan))
    for path in paths:
        for one in varied:
            if _is_hidden(path, one, plan):
                raise ValueError(f"'{path}' is varied by {one.who}: {one.advice}.")
        if isinstance(plan, ListedArms) and all(
            any(path.startswith(own + ".") for own in changes) for changes in plan.arms.values()
        ):
            raise ValueError(
                f"'{path}' has no effect: every arm of the sweep chooses that part itself."
            )


def refuse_varied_profiles(
    settings: Mapping[str, Any], base: TrainingConfig, plan: ListedArms | Search, parts: Parts
) -> None:
    """Refuse what a profile sets for all arms and a plan varies, or the other way round.

    Args:
        settings: What is set for all, path -> value.
        base: With these settings.
        plan: The sweep's.
        parts: A user's own parts.

    Raises:
        ValueError: If an arm, alone or by a profile, or the space changes what is set.
    """
    varied = list(_varied_by(plan, base, parts))
    for given, paths in paths_set(base, settings).items():
        for path in paths:
            set_by = given if given.endswith(_KIND) else path
            for one in varied:
                if _is_hidden(set_by, one, plan):
                    sets = "" if path == given else f" sets '{path}', which"
                    raise ValueError(f"'{given}'{sets} is varied by {one.who}: {one.advice}.")


def _varied_by(
    plan: ListedArms | Search, base: TrainingConfig | None = None, parts: Parts = ()
) -> Iterator[_Varied]:
    """Yield what a plan varies; what the profiles of arms set is known over a base alone."""
    if isinstance(plan, Search):
        advice = "set something that it does not vary, or write a sweep of your own with a smaller"
        for one in plan.space.dimensions:
            yield _Varied(one.path, f"the search itself ('{one.name}')", f"{advice} space")
        return
    advice = "set something that no arm changes, or write the arm in a sweep of your own"
    for name, changes in plan.arms.items():
        for path, own in _paths_of(changes, base, parts):
            yield _Varied(path, f"the sweep itself (arm '{name}' changes '{own}')", advice)


def _paths_of(
    changes: Mapping[str, Any], base: TrainingConfig | None, parts: Parts
) -> Iterator[tuple[str, str]]:
    """Yield each path that an arm sets, and the path by which it does."""
    if base is None or not any(path.split(".")[-1] == "profile" for path in changes):
        yield from ((_part_of_kind(path), path) for path in changes)
        return
    for own, paths in paths_set(with_settings(base, changes, parts), changes).items():
        yield from ((path, own) for path in (own, *paths))


def _is_hidden(path: str, one: _Varied, plan: ListedArms | Search) -> bool:
    """Return whether what a plan varies would hide a value at a path.

    A kind that is set for all stays in arms that change but settings below its part.
    """
    if path.endswith(_KIND) and isinstance(plan, ListedArms):
        return one.path == _part_of_kind(path)
    return is_at_or_below(one.path, _part_of_kind(path))


def _part_of_kind(path: str) -> str:
    return path.removesuffix(_KIND)
