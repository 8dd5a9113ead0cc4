"""The factors of a design, read from its manifest, and the level of each arm."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from jaxtyping import Int

from capsmodel.spelling import short_names
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.statistics.contrasts import ABSENT, Term, all_terms
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDesign
from sweeps.records.plain_text import one_line, shortened

TIMES = " x "
ARROW = "\N{RIGHTWARDS ARROW}"
_LEVEL_LONGEST = 40


@dataclass(frozen=True)
class Factor:
    """A setting that a design varies.

    Attributes:
        path: Path of the setting.
        name: The shortest end of the path that no other factor has.
        levels: Plain JSON values: the baseline's first, the others as declared.
    """

    path: str
    name: str
    levels: tuple[Any, ...]

    def place(self, changes: Mapping[str, Any]) -> int:
        """Return the place of an arm's level, `ABSENT` where the arm lacks the setting."""
        if self.path not in changes:
            return ABSENT
        known = [_text(level) for level in self.levels]
        value = _text(changes[self.path])
        return known.index(value) if value in known else ABSENT


def factors_of(manifest: Manifest) -> tuple[Factor, ...]:
    """Return the factors in the order of their declaration.

    Raises:
        BadInput: If the sweep's design has none.
    """
    declared = manifest.design.factors if manifest.design else {}
    if not declared:
        raise BadInput(
            f"The sweep '{manifest.sweep}' crosses no factors, so that there are no effects to "
            f"tell apart: leave the effects table out, or declare a FullFactorial."
        )
    baseline = next((arm for arm in manifest.arms if arm.name == manifest.baseline), None)
    changes = baseline.changes if baseline else {}
    names = short_names(tuple(declared))
    return tuple(
        Factor(path, names[path], _first(levels, changes.get(path)))
        for path, levels in declared.items()
    )


def level_places(
    arms: Sequence[ArmResults], factors: Sequence[Factor]
) -> Int[np.ndarray, "arms factors"]:
    """Return the place of each arm's level of each factor."""
    rows = [[factor.place(arm.arm.changes) for factor in factors] for arm in arms]
    return np.array(rows, dtype=int).reshape(len(arms), len(factors))


def term_name(term: Term, factors: Sequence[Factor]) -> str:
    """Return the name of an effect, made of the paths of its factors."""
    return TIMES.join(factors[place].path for place in term)


def aliases_of(design: ManifestDesign | None) -> Mapping[str, tuple[str, ...]]:
    """Return which effects the design cannot separate: name of one -> names of the others."""
    return design.aliases if design else {}


def estimable_terms(
    design: ManifestDesign | None, factors: Sequence[Factor]
) -> dict[Term, list[Term]]:
    """Return the effects to fit, each with the effects that the design cannot separate from it.

    Of effects that cannot be separated, only the first is fitted; main effects come first.
    """
    every = {
        frozenset(term_name(term, factors).split(TIMES)): term for term in all_terms(len(factors))
    }
    same: dict[Term, set[Term]] = {term: set() for term in every.values()}
    for name, others in aliases_of(design).items():
        named = every.get(frozenset(name.split(TIMES)))
        for other in (every.get(frozenset(name.split(TIMES))) for name in others):
            if named and other and named != other:
                same[named].add(other)
                same[other].add(named)
    fitted: dict[Term, list[Term]] = {}
    for term in same:
        if not same[term] & fitted.keys():
            fitted[term] = sorted(same[term], key=lambda other: (len(other), other))
    return fitted


def _first(levels: Sequence[Any], first: Any) -> tuple[Any, ...]:
    return tuple(sorted(levels, key=lambda level: _text(level) != _text(first)))


def _text(level: Any) -> str:
    return json.dumps(level, sort_keys=True, default=str)


def change_text(levels: Sequence[Any]) -> str:
    """Return what varies: `dynamic → uniform` of two levels, `1, 2, 3` of more."""
    texts = level_texts(levels)
    return f" {ARROW} ".join(texts) if len(texts) == 2 else ", ".join(texts)


def level_texts(levels: Sequence[Any]) -> tuple[str, ...]:
    """Return each level in words, a part by its kind and by what sets it apart from others of it.

    Args:
        levels: Levels of one factor, as plain JSON values.
    """
    return tuple(shortened(_level_text(level, levels), _LEVEL_LONGEST) for level in levels)


def _level_text(level: Any, levels: Sequence[Any]) -> str:
    if isinstance(level, Mapping):
        return _part_text(cast(Mapping[str, Any], level), levels)
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, list | tuple):
        return (
            ", ".join(_level_text(element, ()) for element in cast(Sequence[Any], level)) or "none"
        )
    return "none" if level is None else one_line(str(level))


def _part_text(part: Mapping[str, Any], levels: Sequence[Any]) -> str:
    kind = part.get("kind")
    parts = [cast(Mapping[str, Any], level) for level in levels if isinstance(level, Mapping)]
    alike = [other for other in parts if other.get("kind") == kind]
    apart = [
        f"{name} {_level_text(value, ())}"
        for name, value in part.items()
        if name != "kind" and any(other.get(name) != value for other in alike)
    ]
    settings = ", ".join(apart)
    if kind is None:
        return settings
    return f"{kind} ({settings})" if settings else str(kind)


def is_off(level: Any) -> bool:
    """Return whether a level says that something is not there."""
    if isinstance(level, Mapping):
        return cast(Mapping[str, Any], level).get("kind") == "none"
    return level is None or level is False or level == "none"
