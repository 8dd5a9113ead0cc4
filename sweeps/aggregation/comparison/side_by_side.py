"""A table of two sweeps side by side, written as files in the first one's report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.comparison.arm_matching import (
    ArmMatch,
    Aspect,
    comparable_records,
    differing_sweeps,
    match_arms,
)
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import measured_spread_cell
from sweeps.aggregation.rendering.renderers import section_files
from sweeps.aggregation.rendering.result_files import write_results
from sweeps.aggregation.rendering.table import Cell, Column, Table, count_cell, text_cell
from sweeps.aggregation.results.arms import ArmResults, arms_to_their_end
from sweeps.aggregation.results.comparisons import diverged_share
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import SLUG, SLUG_WORDS
from sweeps.storage.folder import Folder
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

_STATISTICS = ("mean", "sd", "se", "min", "max")
_ASPECTS: dict[Aspect, str] = {
    "data": "Data fingerprints differ",
    "code protocol": "Code protocols differ, as equal settings, seeds and data have other keys",
    "epochs": "Epochs differ",
    "seeds": "Seeds differ",
    "settings": "Settings differ",
}
_LONGEST_LIST = 300


@dataclass(frozen=True)
class ComparedSweeps:
    """Two sweeps side by side.

    Attributes:
        table: One row per arm.
        paths: Its files.
    """

    table: Table
    paths: tuple[Path, ...]


def compare_sweeps(
    sweep: str,
    other: str,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    reports: str | Path = "reports",
) -> ComparedSweeps:
    """Write a table of two sweeps side by side: `compare-<other>` in the first one's folder.

    Args:
        sweep: The name of a launched sweep.
        other: That of another one of the same store.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: The storage folder.
        reports: Where the first sweep's own folder is made.

    Raises:
        BadInput: If there is no such sweep, both are the same, or a file cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    first, second = store.manifest(sweep), store.manifest(other)
    _check_sweeps(first, second)
    arms = [_arms(store, manifest) for manifest in (first, second)]
    table = side_by_side(first, second, list(match_arms(arms[0], arms[1])))
    section = Section("compare", "compare", (table,), formats=("markdown", "csv", "latex"))
    folder = Folder(Path(reports), first.sweep)
    return ComparedSweeps(table, write_results(folder, section_files(section)))


def _check_sweeps(first: Manifest, second: Manifest) -> None:
    if first.sweep == second.sweep:
        raise BadInput(
            f"'{first.sweep}' would be compared with itself: give --compare the name of another "
            f"sweep."
        )
    for manifest in (first, second):
        if not SLUG.fullmatch(manifest.sweep):
            raise BadInput(f"'{manifest.sweep}' cannot be a file's name: {SLUG_WORDS}.")
    name = f"compare-{second.sweep}"
    if any(table.name == name for table in first.tables):
        raise BadInput(
            f"'{first.sweep}' has a table '{name}' of its own, which would be written over: "
            f"compare the other way round, or rename it."
        )


def _arms(store: RecordStore, manifest: Manifest) -> tuple[ArmResults, ...]:
    """Return a sweep's arms, without results of trials that its scheduler stopped."""
    return arms_to_their_end(manifest, comparable_records(store, manifest))


def side_by_side(first: Manifest, second: Manifest, matched: Sequence[ArmMatch]) -> Table:
    """Return one row per matched pair of arms, and one for each arm that stands alone."""
    return Table(
        name=f"compare-{second.sweep}",
        title=f"{first.sweep} beside {second.sweep}: test error by arm",
        lead=_lead(matched),
        columns=(
            Column("Arm", ("arm", "second_arm", "matched_by"), align="left"),
            *_columns(first.sweep, "first"),
            *_columns(second.sweep, "second"),
            Column("Differs in", ("differs_in",), align="left", hide_if_empty=True),
            Column("", ("num_same_trials",), hide_if_empty=True),
        ),
        rows=tuple(_row(match, first, second) for match in matched),
        notes=tuple(_notes(first, second, matched)),
    )


def _lead(matched: Sequence[ArmMatch]) -> str:
    pairs = [match for match in matched if match.first and match.second]
    if not pairs:
        return "No arm of one has the config or the name of an arm of the other."
    unlike = [aspect for aspect in _ASPECTS if any(aspect in pair.differences() for pair in pairs)]
    count = f"{len(pairs)} arm{'s' * (len(pairs) > 1)} stand{'s' * (len(pairs) == 1)} in both"
    if not unlike:
        return f"{count}, with equal settings, data, epochs and seeds."
    return f"{count}; not all is alike: {', '.join(unlike)}."


def _columns(sweep: str, place: str) -> tuple[Column, ...]:
    return (
        Column(f"{sweep}: error % (sd)", tuple(f"{place}_{name}" for name in _STATISTICS)),
        Column("n", (f"{place}_n", f"{place}_num_planned")),
        Column(f"{sweep}: diverged", (f"{place}_num_diverged",), align="left", hide_if_empty=True),
    )


def _row(match: ArmMatch, first: Manifest, second: Manifest) -> tuple[Cell, ...]:
    names = [arm.arm.name if arm else None for arm in (match.first, match.second)]
    text = one_line(match.name)
    if match.first and match.second and names[0] != names[1]:
        text = f"{text} | {one_line(match.second.arm.name)}"
    differs = match.differences_text
    if not (match.first and match.second):
        differs = f"only in {first.sweep if match.first else second.sweep}"
    return (
        Cell(text, (names[0], names[1], match.by or None)),
        *_results(match.first),
        *_results(match.second),
        text_cell(differs),
        Cell("", (match.num_same_trials(),)),
    )


def _results(arm: ArmResults | None) -> tuple[Cell, ...]:
    if arm is None:
        return (Cell("", (None,) * 5), Cell("", (None, None)), Cell("", (None,)))
    errors = arm.test_errors.values()
    diverged = diverged_share(arm)
    text = f"{diverged.count:.0f} of {diverged.total}" if diverged.count else ""
    return (
        measured_spread_cell(errors, TEST_ERROR),
        count_cell(len(errors), len(arm.trials)),
        Cell(text, (int(diverged.count),)),
    )


def _notes(first: Manifest, second: Manifest, matched: Sequence[ArmMatch]) -> Iterator[str]:
    yield (
        "Nothing is tested across two sweeps: there is no difference and no bold. sd: spread over "
        "seeds. To compare arms, have both in one sweep."
    )
    yield "Arms are matched by equal configs, else by their names."
    for aspect, heading in _ASPECTS.items():
        names = [one_line(match.name) for match in matched if aspect in match.differences()]
        if names:
            yield f"{heading}: {shortened(', '.join(names), _LONGEST_LIST)}."
    for aspect, (left, right) in differing_sweeps(matched).items():
        both = f"{first.sweep} {left}; {second.sweep} {right}"
        yield shortened(f"{aspect.capitalize()} of all trials differ: {both}.", _LONGEST_LIST)
    by_name = [one_line(match.name) for match in matched if "settings" in match.differences()]
    if by_name:
        yield "If settings differ, keys do not show whether the code's protocol differs as well."
    if same := sum(match.num_same_trials() for match in matched):
        yield f"{same} of the trials are the same in both sweeps, by their keys."
    for manifest in (first, second):
        if sentence := departure_sentence(manifest):
            yield f"{manifest.sweep}: {sentence}"
