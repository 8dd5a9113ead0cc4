"""Our values beside published ones: how these are written, and what a reader has to know."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell, Column, Needed, Table
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.columns import with_departures
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import Json

_LONGEST_NAME = 60


def beside_published(
    table: Table, manifest: Manifest, arms: Sequence[ArmResults], published_data: str
) -> Table:
    """Return a table that names its data and what the launch changed of the declared sweep.

    Args:
        table: Beside published values.
        manifest: The sweep's manifest.
        arms: Those in the table.
        published_data: Name of the data set that the published values are of, "" if not told.
    """
    return with_data(with_departures(manifest, table), arms, published_data)


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
        lead=Needed(sentence),
        columns=(*table.columns, Column("Data", ("data",), align="left", hide_if_empty=True)),
        rows=tuple((*row, Cell("", (sentence,))) for row in table.rows),
    )


def data_sentence(arms: Sequence[ArmResults], published_data: str) -> str:
    """Return the data of our values, and those of the published values where these differ.

    "Data: viewpoints, fraction 0.1; the published figures are of smallNORB." Where the arms differ
    each data set has its arms beside it. "" where no arm tells.
    """
    groups: dict[str, list[str]] = {}
    for arm in arms:
        if text := _data_text(arm.arm.config):
            groups.setdefault(text, []).append(arm.shown_name)
    if not groups:
        return ""
    is_mixed = len(groups) > 1
    ours = "; ".join(
        f"{text} ({', '.join(names)})" if is_mixed else text for text, names in groups.items()
    )
    is_other = any(not _is_same(kind, published_data) for kind in _kinds(arms))
    theirs = shortened(published_data, _LONGEST_NAME)
    return f"Data: {ours}{f'; the published figures are of {theirs}' * bool(theirs and is_other)}."


def _data_text(config: Json) -> str:
    data, kind = _data(config), _kind(config)
    fraction = data.get("fraction", 1)
    is_part = isinstance(fraction, int | float) and fraction != 1
    return f"{kind}, fraction {fraction:g}" if kind and is_part else kind


def _data(config: Json) -> Mapping[str, Any]:
    data = config.get("data")
    return cast(Mapping[str, Any], data) if isinstance(data, Mapping) else {}


def _kind(config: Json) -> str:
    return shortened(str(_data(config).get("kind", "")), _LONGEST_NAME)


def _is_same(kind: str, published_data: str) -> bool:
    """Whether a data set is the published one: "fashion_mnist" is "Fashion-MNIST"."""
    ours, theirs = (
        "".join(letter for letter in name.lower() if letter.isalnum())
        for name in (kind, published_data)
    )
    return ours == theirs


def _kinds(arms: Sequence[ArmResults]) -> list[str]:
    return list(dict.fromkeys(kind for arm in arms if (kind := _kind(arm.arm.config))))


def other_data(arms: Sequence[ArmResults], published_data: str) -> str:
    """Return a sentence where our data differ from the published ones, else ""."""
    others = [kind for kind in _kinds(arms) if not _is_same(kind, published_data)]
    if not published_data or not others:
        return ""
    theirs = shortened(published_data, _LONGEST_NAME)
    return f"Ours on {' and '.join(others)}, published on {theirs}."


def published_text(published: float | None, spread: float | None) -> str:
    """Return a published value with its spread, "" where there is none."""
    text = "" if published is None else _as_printed(published)
    if text and spread is not None:
        text += f" {PLUS_MINUS} {_as_printed(spread)}"
    return text


def _as_printed(value: float) -> str:
    """Return a value with at least two decimals, and with all that it was published with."""
    return f"{value:.2f}" if round(value, 2) == value else repr(value)


def own_note(manifest: Manifest, arms: Sequence[ArmResults], values: str) -> str:
    """Return the note on our values.

    Args:
        manifest: The sweep's manifest.
        arms: Those in the table.
        values: What they are, such as "mean test error in percent".
    """
    trials = [trial for arm in arms for trial in arm.counted.values()]
    epochs = sorted({trial.tested_epoch or trial.epochs for trial in trials})
    length = f", number {' to '.join(map(str, epochs[:: len(epochs) - 1 or 1]))}" if epochs else ""
    epoch = epoch_of_test_text(arm.arm.config for arm in arms)
    return (
        f"Ours: {values} of n trials, one a seed ({notes.seed_list(manifest.seeds)}), each that of "
        f"{epoch}{length}. Selection never saw the test split."
    )


def published_note(spread: str, has_spread: bool) -> str:
    """Return the note on the published values.

    Args:
        spread: What the published ± is; "" if that is not known.
        has_spread: Whether any published value has a ±.
    """
    meaning = one_line(spread).rstrip(".") or "as published, its meaning not known"
    of_spread = f"; {PLUS_MINUS} there: {meaning}" * has_spread
    return Needed(
        f"Published: the figure that the source gives, in percent{of_spread}. No difference from "
        f"ours is tested, as the published trials are not at hand: nothing is bold."
    )


def trial_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield notes on our trials: targets, cells that do not count, warnings, reasons."""
    yield from notes.target_notes(arms)
    yield from notes.gap_notes(arms)
    yield from notes.machine_notes(arms)
    yield from notes.health_notes(arms)
    yield from notes.reason_notes(arms)
