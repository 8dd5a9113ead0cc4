"""The lines of a sweep's log: written, read, torn and damaged."""

from pathlib import Path

import pytest

from search_spaces.plans.decisions import (
    DONE,
    Cell,
    Continue,
    Decision,
    EndSearch,
    Pause,
    Propose,
    ProposeRandom,
    Select,
    Stop,
    Unselect,
    WarmStart,
)
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.sweep_log import SweepLog, stored_entries
from sweeps.records.sweep_log import (
    Decided,
    Declared,
    LaunchEnded,
    LaunchStarted,
    TrialNoted,
    decided,
    decisions_under,
    entries_of,
    intact_part,
    line_of,
    manifest_of,
    text_of,
)
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.search.examples import params, proposed, searched
from tests.sweeps.published import line_with

KEY = "0" * 20
CELLS = tuple(Cell("a", {"a": 1, "b": 0.1 + 0.2, "c": "x", "d": True}, seed) for seed in (0, 1))
DECISIONS: list[Decision] = [
    Propose(CELLS),
    ProposeRandom(CELLS, 7),
    Stop(KEY, 1, float("inf")),
    Stop(KEY, 2, 1 / 3),
    Pause(KEY, 3),
    Continue(KEY, 3),
    WarmStart("other", ({"a": 1},), 4),
    EndSearch("no more", "13 epochs", 4),
    Select(("a", "b"), "c", "the question", "d"),
    Select(()),
    Unselect(),
    DONE,
]


def test_every_entry_is_read_as_it_was_written() -> None:
    grown = proposed(searched(), 2)
    entries = [
        Declared(manifest=manifest(), question="which?", starts_over=True),
        LaunchStarted(at=1.5, num_cells=3),
        TrialNoted(at=2.5, trial_key=KEY, event="failed", detail='it\'s "no"\nnot\u2028'),
        *(decided(decision) for decision in DECISIONS),
        *grown.decisions,
        LaunchEnded(at=3.5, exit_code=130),
    ]
    text = text_of(entries)
    assert text.count(b"\n") == len(entries)
    assert entries_of(text) == entries
    assert text_of(entries_of(text)) == text


def test_a_log_torn_at_any_byte_has_the_whole_lines_before() -> None:
    grown = proposed(searched(), 2)
    entries = [grown.declared, *grown.decisions]
    text = text_of(entries)
    ends = [len(text_of(entries[:count])) for count in range(len(entries) + 1)]
    for size in range(0, len(text) + 1, 7):
        num_whole = sum(end <= size for end in ends) - 1
        assert entries_of(text[:size]) == entries[:num_whole]


@pytest.mark.parametrize("where", ["checksum", "entry", "line end", "line"])
def test_any_other_damage_is_an_error(where: str) -> None:
    grown = proposed(searched(), 3)
    lines = [line_of(entry) for entry in (grown.declared, *grown.decisions)]
    damaged = {
        "checksum": lines[1].replace(lines[1][8:16], b"00000000"),
        "entry": lines[1].replace(b"proposal 0", b"proposal 7"),
        "line end": lines[1][:-1],
        "line": b"{}\n",
    }[where]
    content = b"".join([lines[0], damaged, *lines[2:]])
    with pytest.raises(ValueError, match="line 2 is not as it was written"):
        entries_of(content)
    assert intact_part(content) == lines[0]


@pytest.mark.parametrize(
    "entry",
    [
        '{"type":"decided","kind":"stop","decision":{}}',
        '{"type":"decided","kind":"stop","decision":' + "[" * 1000 + "]" * 1000 + "}",
        '{"type":"decided","kind":"stop","decision":null}',
        '{"type":"decided","kind":"propose","decision":{"cells":[]}}',
        '{"type":"decided","kind":"propose","decision":{"cells":[{"arm":1,"settings":[]}]}}',
        '{"type":"decided","kind":"dance","decision":{}}',
        '{"type":"dance"}',
        '{"type":"trial","at":1e400,"trial_key":"x","event":""}',
    ],
)
def test_an_entry_that_cannot_be_is_an_error(entry: str) -> None:
    valid = line_of(LaunchEnded(at=1, exit_code=0))
    line = line_with(entry)
    with pytest.raises((ValueError, RecursionError)):
        entries_of(valid + line)
    assert intact_part(valid + line) == valid


def test_a_design_is_a_log_of_one_entry() -> None:
    assert manifest_of([Declared(manifest=manifest())]) == manifest()
    assert manifest_of([]) is None


def test_a_decision_is_written_once_but_selections_may_follow(tmp_path: Path) -> None:
    definition = searched()
    again = [Continue(KEY, 1), Stop(KEY, 1, 0.9), Propose(CELLS), Propose(CELLS), DONE, DONE]
    selections = [Select(("a",)), Unselect(), Select(("b",)), Unselect(), Select(("a",))]
    for decision in (*again, *selections):
        log = SweepLog(tmp_path, "example")  # as if it was a launch of its own
        log.declare(definition.declared, log_decisions(tmp_path, definition))
        log.append(decided(decision))
    entries = stored_entries(tmp_path, "example")
    written = [entry.decision for entry in decisions_under(definition.decided_by, entries)]
    assert written == [Continue(KEY, 1), Stop(KEY, 1, 0.9), Propose(CELLS), DONE, *selections]


def log_decisions(journals: Path, definition: SweepDefinition) -> list[Decided]:
    return decisions_under(definition.decided_by, stored_entries(journals, "example"))


def test_a_torn_line_is_cut_off_before_the_next_one_is_written(tmp_path: Path) -> None:
    grown = proposed(searched(), 2)
    log = SweepLog(tmp_path, "example")
    log.declare(grown.declared, grown.decisions)
    path = tmp_path / "example.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    SweepLog(tmp_path, "example").declare(grown.declared, grown.decisions)
    assert stored_entries(tmp_path, "example") == [grown.declared, *grown.decisions]
    assert params(1) == grown.decisions[1].decision.cells[0].settings
