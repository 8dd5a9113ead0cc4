"""What a filter may ask of trials, and the refusal of one that asks for what none can have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from capsmodel.spelling import hint
from sweeps.aggregation.filters.grammar import (
    Comparison,
    Condition,
    Given,
    Name,
    comparisons,
    names_in,
)
from sweeps.aggregation.filters.matching import MISSING, comparable, kind_of, matches
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import shortened
from sweeps.records.trial_record import Json

SETTING = "setting."
"""What the name of a setting begins with where a column has its path."""

_KINDS = {
    "number": "a number",
    "text": "a text",
    "truth": "True or False",
    "list": "a list",
    "none": "None",
}


@dataclass(frozen=True)
class Asked:
    """What a filter may ask of one trial.

    Attributes:
        columns: Of its row in a frame, None where it has no value.
        metrics: All that its record holds.
        config: Its settings.
    """

    columns: Mapping[str, Any]
    metrics: Mapping[str, float]
    config: Json

    def value(self, name: str) -> Any:
        """Return a column, a metric or a setting by its path, `MISSING` where it has none."""
        if name in self.columns:
            value = self.columns[name]
            return MISSING if value is None else comparable(value)
        if name in self.metrics:
            return comparable(self.metrics[name])
        found = self._setting(name.removeprefix(SETTING))
        return found if found is MISSING else comparable(found)

    def has(self, name: str) -> bool:
        """Return whether it has a column, a metric or a setting of that name."""
        if name in self.columns or name in self.metrics:
            return True
        found = self._setting(name.removeprefix(SETTING))
        return found is not MISSING and comparable(found) is not MISSING

    def names(self) -> Iterator[str]:
        """Yield every name that it has."""
        yield from self.columns
        yield from self.metrics
        yield from _paths(self.config, "")

    def _setting(self, path: str) -> Any:
        value: Any = self.config
        for step in path.split("."):
            if not isinstance(value, Mapping) or step not in value:
                return MISSING
            value = cast(Mapping[str, Any], value)[step]
        return value


def chosen(condition: Condition, rows: Sequence[Asked]) -> list[bool]:
    """Return of each row whether it matches.

    Raises:
        BadInput: If no row has a name that is asked for, or one never has values of the kind that
            it is compared with.
    """
    for name in names_in(condition):
        if rows and not any(row.has(name) for row in rows):
            raise _unknown(name, rows)
        values = (row.value(name) for row in rows)
        kinds = {kind_of(value) for value in values if value is not MISSING} - {"none"}
        for comparison in comparisons(condition):
            _refuse_unlike(comparison, name, kinds)
    return [matches(condition, row.value) for row in rows]


def _unknown(name: str, rows: Iterable[Asked]) -> BadInput:
    known = dict.fromkeys(one for row in rows for one in row.names())
    return BadInput(
        f"The filter asks for '{shortened(name, 80)}', which no trial has.{hint(name, known)} It "
        f"can ask for columns of the frame, metrics and settings by their paths, as capsweep show "
        f"TRIAL lists them."
    )


def _refuse_unlike(comparison: Comparison, name: str, kinds: set[str]) -> None:
    left, right = comparison.left, comparison.right
    if isinstance(right, Name):
        if comparison.operator in ("in", "not in"):
            if right == Name(name) and kinds and not kinds & {"list", "text"}:
                has = " or ".join(_KINDS[kind] for kind in sorted(kinds))
                raise BadInput(
                    f"The filter looks into {shortened(name, 80)}, which is {has}: only a list or "
                    f"a text can be looked into."
                )
            return
        left, right = right, left
    if left != Name(name) or not isinstance(right, Given):
        return
    is_list = comparison.operator in ("in", "not in") and isinstance(right.value, list)
    given = [*right.value] if is_list else [right.value]
    wanted = {kind_of(value) for value in given} - {"none"}
    if kinds and wanted and not kinds & wanted:
        has, against = (
            " or ".join(_KINDS[kind] for kind in sorted(both)) for both in (kinds, wanted)
        )
        raise BadInput(
            f"The filter compares {shortened(name, 80)}, which is {has}, with {against} "
            f"({shortened(repr(right.value), 40)}), which it never is."
        )


def _paths(config: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the paths of settings: parts, which are compared by kind, and what is no group."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            inside = cast(Mapping[str, Any], value)
            if isinstance(inside.get("kind"), str):
                yield prefix + name
            yield from _paths(inside, f"{prefix}{name}.")
        elif name != "kind":  # the part's own path stands for it
            yield prefix + name
