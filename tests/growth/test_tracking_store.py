"""A tracking store costs one file: here it is a folder of plain JSON lines.

It is passed to recorder and readers as an argument, keeps the contract of every store, and a
sweep's report comes out of it byte for byte as out of the others.
"""

import json
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from capsmodel.metrics import EpochMetrics
from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.report import publish_report, write_report
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.records.evaluation_names import evaluation_tag, recorded_kinds
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Entry
from sweeps.records.trial_record import (
    EPOCH_METRICS,
    METRIC_TEST_ERROR,
    ConfigDocument,
    Json,
    Outcome,
    TrialRecord,
)
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import write_format
from sweeps.tracking import record_facts, validation
from sweeps.tracking.record_facts import (
    TAG_DATA_FINGERPRINT,
    TAG_OUTCOME,
    TAG_REPLACED,
    TAG_SWEEP,
    TAG_TRIAL_KEY,
)
from sweeps.tracking.store import (
    NO_LABELS,
    FreedWeights,
    RecordStore,
    SettledSweep,
    SweepRef,
    TrialRef,
)
from sweeps.tracking.sweep_logs import log_digest, log_name
from sweeps.tracking.sweep_summary import SweepSummary
from tests.sweeps.execution.examples import final, manifest, reported, spec, start
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.memory_store import MemoryStore
from tests.sweeps.tracking.store_contract import StoreContract

TYPE, HASH, IS_RUNNING = record_facts.TAG_TYPE, record_facts.TAG_LOG_HASH, "lines.is_running"


class Folded(NamedTuple):
    """A record as its lines leave it: metric -> (step, time) -> value."""

    record_id: str
    started: int
    facts: dict[str, str]
    points: dict[str, dict[tuple[int, int], float]]

    def history(self, metric: str) -> dict[int, float]:
        return {step: value for (step, _), value in sorted(self.points.get(metric, {}).items())}

    def read(self) -> TrialRecord:
        last = {name: points[max(points)] for name, points in self.points.items()}
        return record_facts.record_of(self.record_id, self.facts, last)


class LinesStore:
    """One folder a record: its lines, which are only added to, and its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"lines:{folder}"

    def exists(self) -> bool:
        return self.folder.is_dir()

    def writer(self) -> "LinesStore":
        self.check_reachable()
        return self

    def publisher(self) -> "LinesStore":
        return self.writer()

    def check_reachable(self) -> None:
        if self.folder.is_file():
            raise StoreUnreachable(f"{self.folder} is no folder.")

    # reading

    def settled(self, sweep: str) -> SettledSweep | None:
        return None

    def sweeps(self) -> list[str]:
        return validation.valid_names(record.facts[TAG_SWEEP] for record in self._live("sweep"))

    def sweep_id(self, sweep: str) -> str:
        return self._sweep(sweep).record_id

    def sweep_log(self, sweep: str) -> list[Entry]:
        return validation.valid_log(sweep, self._log(sweep).read_bytes())

    def manifest(self, sweep: str) -> Manifest:
        return validation.valid_manifest(sweep, self._log(sweep).read_bytes())

    def _log(self, sweep: str) -> Path:
        folded = self._sweep(sweep)
        return self._file(folded.record_id, log_name(folded.facts))

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        wanted = set(keys)
        live = (record for record in self._live("trial") if record.facts[TAG_TRIAL_KEY] in wanted)
        return validation.counted_records(record.read() for record in live)

    def record(self, key: str) -> TrialRecord | None:
        return self.records([key]).get(key)

    def deleted(self, keys: Iterable[str]) -> frozenset[str]:
        return frozenset()  # what is deleted leaves no trace

    def first_tests(self, fingerprints: Iterable[str]) -> dict[str, float]:
        wanted = set(fingerprints)
        tested = [
            record
            for record in self._live("trial")
            if record.facts.get(TAG_DATA_FINGERPRINT) in wanted
            and record.history(METRIC_TEST_ERROR)
        ]
        starts = {record.facts[TAG_SWEEP]: record.started / 1000 for record in reversed(tested)}
        return {sweep: starts[sweep] for sweep in self.sweeps() if sweep in starts}

    def find(self, prefix: str) -> TrialRecord:
        wanted = str(prefix).strip().lower() or "none"
        live = self._live("trial")
        matching = [record for record in live if record.facts[TAG_TRIAL_KEY].startswith(wanted)]
        matching = matching or [record for record in live if record.record_id == wanted]
        counting = validation.counted_records(record.read() for record in matching)
        return validation.single_record(counting, prefix, self.address)

    def histories(self, records: Iterable[TrialRecord], metric: str) -> dict[str, dict[int, float]]:
        return {
            record.trial_key: self._folded(record.record_id).history(metric) for record in records
        }

    def config(self, record: TrialRecord) -> Json:
        content = self._file(record.record_id, "config.json").read_bytes()
        return validation.valid_config(record, content)

    def artifact(self, record: TrialRecord, name: str) -> Path:
        validation.check_artifact_name(name)
        return self._file(record.record_id, name)

    def artifacts(self, records: Iterable[TrialRecord], name: str) -> dict[str, Path]:
        validation.check_artifact_name(name)
        return {
            record.trial_key: self.artifact(record, name)
            for record in records
            if self.holds(record, name)
        }

    def holds(self, record: TrialRecord, name: str) -> bool:
        return self._place(record.record_id, name).is_file()

    def location(self, record: TrialRecord, name: str) -> str:
        return str(self._place(record.record_id, name))

    # writing

    def find_trial(self, trial_key: str) -> TrialRef | None:
        live = (
            record for record in self._live("trial") if record.facts[TAG_TRIAL_KEY] == trial_key
        )
        first = next(live, None)
        return TrialRef(first.record_id, Outcome(first.facts[TAG_OUTCOME])) if first else None

    def records_of(self, trial_key: str) -> tuple[str, ...]:
        of_key = (
            record for record in self._all_folded() if record.facts.get(TAG_TRIAL_KEY) == trial_key
        )
        return tuple(record.record_id for record in of_key)

    def create_trial(self, spec: TrialSpec, sweep_id: str, time: int) -> str:
        return self._create(record_facts.facts_at_creation(spec) | {"lines.of": sweep_id}, time)

    def describe_trial(self, record_id: str, spec: TrialSpec) -> None:
        self._refuse_gone(record_id)
        config = ConfigDocument(config=spec.config).model_dump_json()
        self._place(record_id, "config.json").write_text(config)
        if spec.source:
            source = record_facts.source_text(spec.source)
            self._place(record_id, "parts.py").write_text(source)

    def describe_attempt(self, record_id: str, spec: TrialSpec) -> None:
        self._add(record_id, facts=record_facts.facts_of_attempt(spec))

    def epochs(self, record_id: str) -> frozenset[int]:
        folded = self._folded(record_id)
        return frozenset.intersection(*(frozenset(folded.history(name)) for name in EPOCH_METRICS))

    def log_epochs(self, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]) -> None:
        for line, time in epochs:
            self.log_metrics(record_id, line.numbers(), time, line.epoch)
        self._add(record_id, facts={record_facts.TAG_EPOCHS: str(epochs[-1][0].epoch)})

    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        self._add(record_id, points=[(name, step, time, value) for name, value in numbers.items()])

    def set_outcome(
        self,
        record_id: str,
        outcome: Outcome,
        *,
        reason: str | None = None,
        epochs: int | None = None,
        time: int | None = None,
    ) -> None:
        facts = record_facts.facts_of_outcome(outcome, reason, epochs)
        self._add(record_id, facts=facts, time=time)

    def set_final(self, record_id: str, final: FinalRecord) -> None:
        numbers = record_facts.numbers_of_final(final)
        self.log_metrics(record_id, numbers, final.time, len(final.curve))
        self._add(record_id, facts=record_facts.facts_of_final(final), time=final.time)

    def upload(self, record_id: str, path: Path, name: str = "") -> None:
        if path.exists():
            shutil.copy(path, self._place(record_id, name or path.name))

    def recorded_evaluation_keys(self, record_id: str) -> frozenset[str]:
        return frozenset(recorded_kinds(self._folded(record_id).facts))

    def record_evaluation(self, record_id: str, key: str, kind: str) -> None:
        self._add(record_id, facts={evaluation_tag(key): kind})

    def is_deleted(self, record_id: str) -> bool:
        return not self._lines(record_id).exists()

    def delete_record(self, record_id: str) -> None:
        self._refuse_gone(record_id)
        shutil.rmtree(self._lines(record_id).parent)

    def mark_replaced(self, trial_keys: Iterable[str]) -> None:
        for key in trial_keys:
            while ref := self.find_trial(key):
                self._add(ref.record_id, facts={TAG_REPLACED: "true"})

    def delete_weights(self, record_id: str) -> FreedWeights:
        path = self._place(record_id, "weights.safetensors")
        freed = path.stat().st_size if path.exists() else 0
        path.unlink(missing_ok=True)
        return FreedWeights(freed, "")

    def find_sweep(self, sweep: str) -> SweepRef | None:
        folded = next(
            (record for record in self._live("sweep") if record.facts[TAG_SWEEP] == sweep), None
        )
        return SweepRef(folded.record_id, folded.facts[IS_RUNNING] == "True") if folded else None

    def open_sweep(
        self, sweep: str, description: str, labels: Mapping[str, str] = NO_LABELS
    ) -> str:
        del labels
        if ref := self.find_sweep(sweep):
            return ref.record_id
        facts = record_facts.facts_of_sweep(sweep) | {IS_RUNNING: "True", "lines.is": description}
        return self._create(facts, 0)

    def set_sweep_log(self, sweep_id: str, text: str) -> None:
        facts = {HASH: log_digest(text)}
        place = self._place(sweep_id, log_name(facts))
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        self._add(sweep_id, facts=facts)

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        self._add(sweep_id, facts={IS_RUNNING: str(exit_code is None)})

    def write_summary(self, sweep_id: str, summary: SweepSummary) -> None:
        del sweep_id, summary

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        self._place(sweep_id, "report").mkdir(exist_ok=True)
        for path in paths:
            shutil.copy(path, self._place(sweep_id, f"report/{path.name}"))

    # lines

    def _create(self, facts: dict[str, str], started: int) -> str:
        record_id = uuid.uuid4().hex
        self._place(record_id, "").mkdir(parents=True)
        self._lines(record_id).touch()
        self._add(record_id, facts=facts, started=started)
        return record_id

    def _add(self, record_id: str, **change: Any) -> None:
        self._refuse_gone(record_id)
        with self._lines(record_id).open("a") as lines:
            lines.write(json.dumps(change) + "\n")

    def _refuse_gone(self, record_id: str) -> None:
        if self.is_deleted(record_id):
            raise StoreRefused("There is no such record.", "there is no such record")

    def _folded(self, record_id: str) -> Folded:
        self._refuse_gone(record_id)
        folded = Folded(record_id, 0, {}, {})
        for line in self._lines(record_id).read_text().splitlines():
            change = json.loads(line)
            folded = folded._replace(started=change.get("started", folded.started))
            folded.facts.update(change.get("facts", {}))
            for name, step, time, value in change.get("points", []):
                folded.points.setdefault(name, {})[step, time] = value
        return folded

    def _live(self, type_of_record: str) -> list[Folded]:
        live = (record for record in self._all_folded() if TAG_REPLACED not in record.facts)
        typed = (record for record in live if record.facts[TYPE] == type_of_record)
        return sorted(typed, key=lambda record: record.started)

    def _all_folded(self) -> list[Folded]:
        self.check_reachable()
        return [self._folded(path.parent.name) for path in self.folder.glob("*/lines.jsonl")]

    def _sweep(self, sweep: str) -> Folded:
        if ref := self.find_sweep(sweep):
            return self._folded(ref.record_id)
        raise validation.unknown_sweep(sweep, self.sweeps(), self.address)

    def _lines(self, record_id: str) -> Path:
        return self.folder / record_id / "lines.jsonl"

    def _place(self, record_id: str, name: str) -> Path:
        return self.folder / record_id / "files" / name

    def _file(self, record_id: str, name: str) -> Path:
        path = self._place(record_id, name)
        if not path.is_file():
            raise validation.missing_artifact(record_id, name)
        return path


class TestLines(StoreContract):
    """The contract, over plain files."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> LinesStore:
        (tmp_path / "lines").mkdir()
        return LinesStore(tmp_path / "lines")

    @pytest.fixture
    def away(self, tmp_path: Path) -> LinesStore:
        (tmp_path / "file").touch()
        return LinesStore(tmp_path / "file")

    def delete(self, store: LinesStore, record_id: str) -> None:
        shutil.rmtree(store.folder / record_id)

    def num_points(self, store: LinesStore, record_id: str, metric: str) -> int:
        return len(store._folded(record_id).points[metric])

    def files(self, store: LinesStore, record_id: str) -> dict[str, bytes]:
        folder = store.folder / record_id / "files"
        files = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def recorded(store: RecordStore, folder: Path) -> dict[str, bytes]:
    """Carry a sweep's cells to a store, and return its report's files by their names."""
    (folder / "journals").mkdir(parents=True)
    write_format(Storage(folder))
    sweep = manifest()
    sweep_id = publish_manifest(store.writer(), sweep)
    queue = RecorderQueue(folder / "journals", store.address)
    queue.add([cell.trial_key for cell in sweep.cells], "example", sweep_id)
    recorder = Recorder(store.writer(), queue, folder / "cells")
    for number, cell in enumerate(sweep.cells):
        key, error = cell.trial_key, (number + 1) / 16
        place = CellFolder(folder / "cells", key)
        place.path.mkdir(parents=True)
        of_trial = spec(key, arm=cell.arm, seed=cell.seed)
        for line in (start().model_copy(update={"head": of_trial}), reported(1)):
            place.append(line)
        recorder.drain()
        place.write_final(final(2, head=of_trial, test_error=error))
    recorder.drain()
    assert queue.open_cells() == []
    queue.close()
    report = write_report(store, "example", folder / "reports")
    publish_report(store.writer(), sweep_id, report)
    return {path.name: path.read_bytes() for path in report.paths}


def test_a_sweep_is_recorded_and_reported_as_by_every_other_store(tmp_path: Path) -> None:
    store = LinesStore(tmp_path / "lines")
    files = recorded(store, tmp_path / "a")
    others = recorded(MemoryStore(), tmp_path / "b")
    costs = "report-runs.html"  # names the records, which each store does in its own way
    assert files.keys() == others.keys()
    assert {name for name in files if files[name] != others[name]} == {costs}
    assert b"base" in files["ablation.csv"]
    assert [best.arm for best in best_configs("example", store)] == ["base", "other"]
    published = store.folder / store.sweep_id("example") / "files" / "report"
    assert {path.name: path.read_bytes() for path in published.iterdir()} == files
