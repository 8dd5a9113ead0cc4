"""Stores that the pinned commit has written are read, reported and run again as it did.

Each is unpacked once; what is asked of it only reads. Text and files are compared byte for byte.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden import access, write
from tests.golden.stores.archive import STORAGE, changes, contents, files_of
from tests.golden.stores.questions import (
    FINISHED,
    FINISHED_DESIGN,
    Store,
    answer,
    predicted_classes,
    report_files,
    trials_text,
    without_the_machine,
)

# What the pinned commit changed of a store by running a finished sweep again: MLflow's row of the
# sweep's own run, which is running for a moment and ends anew. The report is uploaded again as it
# was. No log, no queue and no cell is touched.
CHANGED_BY_RERUN = ["mlflow.db: runs"]
# The summary that MLflow's pages show is made anew as well, with today's numbers of the arms.
SUMMARY_OF_TODAY = {f"mlflow.db: {name}" for name in ("metrics", "latest_metrics", "tags")}
SUMMARY_OF_TODAY |= {"mlflow.db: experiment_tags"}
stores = pytest.mark.parametrize("store", FINISHED, ids=lambda store: store.name)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Store], Path]:
    """Return where a store was unpacked to and asked for its report, once for all tests."""
    known: dict[str, Path] = {}

    def folder_of(store: Store) -> Path:
        if store.name not in known:
            known[store.name] = store.unpacked(tmp_path_factory.mktemp(store.name))
        return known[store.name]

    return folder_of


def expected(store: Store) -> dict[str, Any]:
    return json.loads(store.answers.read_text(encoding="utf-8"))


def answers(store: Store, *, reports: bool) -> list[tuple[list[str], str]]:
    """Return the commands and their answers, that of `report` or all others."""
    reported = expected(store)["answers"]
    return [(words, then) for words, then in reported if (words[0] == "report") is reports]


def report_of_then(store: Store) -> dict[str, bytes]:
    """Return the report's files as they were last meant to be."""
    return files_of(store.reports)


@stores
def test_a_store_answers_every_question_as_it_did(
    store: Store, unpacked: Callable[[Store], Path]
) -> None:
    for words, then in answers(store, reports=False):
        assert without_the_machine(answer(unpacked(store), *words)) == then, words


@pytest.mark.slow  # figures take seconds, and are drawn where the sweeps are run again
@stores
def test_the_report_has_the_words_and_the_bytes_it_had(
    store: Store, unpacked: Callable[[Store], Path]
) -> None:
    ((words, then),) = answers(store, reports=True)
    assert answer(unpacked(store), *words) == then
    assert_same_files(report_files(store, unpacked(store)), report_of_then(store))


@stores
def test_the_frame_of_all_trials_is_as_it_was(
    store: Store, unpacked: Callable[[Store], Path]
) -> None:
    then = expected(store)["trials"]
    columns = then.splitlines()[0].split(",")  # settings that no arm varies have become columns
    assert trials_text(store, unpacked(store), columns) == then


@stores
def test_running_a_finished_sweep_again_writes_nothing(store: Store, tmp_path: Path) -> None:
    storage = store.unpacked(tmp_path) / STORAGE
    stored = contents(storage)
    assert answer(tmp_path, *store.rerun) == expected(store)["run again"]
    before = contents(storage)
    others = {*changes(stored, before)} - {*CHANGED_BY_RERUN}
    made_today = {name for name in others if "/report/" in name} | SUMMARY_OF_TODAY
    assert others <= made_today
    assert answer(tmp_path, *store.rerun) == expected(store)["run again"]
    after = contents(storage)
    assert changes(before, after) == []
    assert_same_files(report_files(store, tmp_path), report_of_then(store))


def test_a_kept_network_sees_what_it_saw(unpacked: Callable[[Store], Path]) -> None:
    seen = predicted_classes(FINISHED_DESIGN, unpacked(FINISHED_DESIGN))
    assert seen == expected(FINISHED_DESIGN)["predicted classes"]


@stores
def test_manifests_outboxes_and_final_records_are_read_and_written_as_they_were(
    store: Store,
) -> None:
    files = files_of(store.archive)
    counts = dict.fromkeys(("log", "outbox", "final"), 0)
    for kind, text, second in texts_in(files):
        assert second == text, kind
        counts[kind] += 1
    assert all(counts.values()), counts


def test_every_named_sweep_is_listed_as_it_was(tmp_path: Path) -> None:
    today = answer(tmp_path, "list").splitlines()
    assert [line for line in write.LISTED.read_text().splitlines() if line not in today] == []


def texts_in(files: dict[str, bytes]) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of each text that a store holds, the text, and the text written again."""
    for name, content in files.items():
        text = content.decode() if name.endswith((".json", ".jsonl")) else ""
        if name.endswith(".jsonl") and not name.endswith("outbox.jsonl"):
            yield "log", text, access.rewritten_log(text)
        elif name.endswith("outbox.jsonl"):
            for line in text.splitlines():
                yield "outbox", line, access.rewritten_outbox_line(line)
        elif name.endswith("final.json"):
            yield "final", text, access.rewritten_final(text)


def assert_same_files(today: dict[str, bytes], then: dict[str, bytes]) -> None:
    """Check names and bytes; of a text that differs the message shows how."""
    assert list(today) == list(then)
    for name, content in then.items():
        if name.endswith((".png", ".svg")):
            assert today[name] == content, f"{name} is another picture"
        else:
            assert today[name].decode() == content.decode(), name
