"""Which data values are of: the first line of a table that stands beside published values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sweeps.aggregation.rendering.table import Cell, Column, Table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import Json

_LONGEST_NAME = 60


def with_data(table: Table, arms: Sequence[ArmResults], published_data: str) -> Table:
    """Return the table with its data as the line under the title, and as a column in CSV.

    Where the published values are of other data than ours, the title begins with that.

    Args:
        table: Beside published values.
        arms: Those that are in it.
        published_data: Name of the data set that the published values are of, "" if not told.
    """
    sentence = data_sentence(arms, published_data)
    if not sentence:
        return table
    other = other_data(arms, published_data)
    return replace(
        table,
        title=f"{other} {table.title}" if other else table.title,
        lead=sentence,
        columns=(*table.columns, Column("Data", ("data",), align="left", hide_if_empty=True)),
        rows=tuple((*row, Cell("", (sentence,))) for row in table.rows),
    )


def data_sentence(arms: Sequence[ArmResults], published_data: str) -> str:
    """Return which data our values are of, and which the published ones if these are others.

    "Data: viewpoints, fraction 0.1; the published figures are of smallNORB." Where the arms differ
    each data set has its arms beside it. "" where no arm tells.
    """
    groups: dict[str, list[str]] = {}
    for arm in arms:
        if text := _data_text(arm.arm.config):
            groups.setdefault(text, []).append(one_line(arm.arm.name))
    if not groups:
        return ""
    is_mixed = len(groups) > 1
    ours = "; ".join(
        f"{text} ({', '.join(names)})" if is_mixed else text for text, names in groups.items()
    )
    is_other = any(not _is_same(kind, published_data) for kind in _kinds(arms))
    theirs = shortened(published_data, _LONGEST_NAME)
    return f"Data: {ours}{f'; the published figures are of {theirs}' * bool(theirs and is_other)}."


def other_data(arms: Sequence[ArmResults], published_data: str) -> str:
    """Return that ours are of other data than the published values, "" where they are not."""
    others = [kind for kind in _kinds(arms) if not _is_same(kind, published_data)]
    if not published_data or not others:
        return ""
    theirs = shortened(published_data, _LONGEST_NAME)
    return f"Ours on {' and '.join(others)}, published on {theirs}."


def _data_text(config: Json) -> str:
    data, kind = _data(config), _kind(config)
    fraction = data.get("fraction", 1)
    is_part = isinstance(fraction, int | float) and fraction != 1
    return f"{kind}, fraction {fraction:g}" if kind and is_part else kind


def _kinds(arms: Sequence[ArmResults]) -> list[str]:
    return list(dict.fromkeys(kind for arm in arms if (kind := _kind(arm.arm.config))))


def _kind(config: Json) -> str:
    return shortened(str(_data(config).get("kind", "")), _LONGEST_NAME)


def _data(config: Json) -> Mapping[str, Any]:
    data = config.get("data")
    return cast(Mapping[str, Any], data) if isinstance(data, Mapping) else {}


def _is_same(kind: str, published_data: str) -> bool:
    """Whether a data set is the published one: "fashion_mnist" is "Fashion-MNIST"."""
    own, other = (
        "".join(letter for letter in name.lower() if letter.isalnum())
        for name in (kind, published_data)
    )
    return own == other
