"""Writing to records in memory."""

import time as clock
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sweeps.records.cell_contents import TrialHead
from sweeps.records.evaluation_names import evaluation_tag, recorded_kinds
from sweeps.records.trial_record import (
    ARTIFACT_CONFIG,
    ARTIFACT_MANIFEST,
    ARTIFACT_SOURCE,
    ARTIFACT_WEIGHTS,
    EPOCH_METRICS,
    ConfigDocument,
    Outcome,
    manifest_artifact,
)
from sweeps.storage.regular_files import read_regular
from sweeps.tracking import record_facts as facts
from sweeps.tracking.manifests import manifest_digest
from sweeps.tracking.memory.shelf import HeldRecord, Shelf
from sweeps.tracking.record_facts import EpochTold, OutcomeFacts
from sweeps.tracking.shown_sweep import ShownSweep
from sweeps.tracking.store import FoundSweep, FoundTrial, FreedWeights


class MemoryWriter:
    """Writes to the records of one store in memory; a `RecordWriter`."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        with self._shelf.locked():
            pass

    def find_trial(self, trial_key: str) -> FoundTrial | None:
        """Return the live record of a trial key, the earliest if there are several."""
        with self._shelf.locked():
            held = self._trial(trial_key)
            if held is None:
                return None
            told = held.facts.get(facts.TAG_OUTCOME)
            return FoundTrial(held.record_id, Outcome(told) if told in set(Outcome) else None)

    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all live records of a trial key, those set aside as well."""
        with self._shelf.locked():
            return tuple(held.record_id for held in self._shelf.there(trial_key))

    def create_trial(self, head: TrialHead, sweep_id: str, time: int) -> str:
        """Create the record of a trial and return its id."""
        with self._shelf.locked():
            held = self._shelf.add(facts.facts_at_creation(head), time)
            held.sweep_id = sweep_id
            return held.record_id

    def describe_trial(self, record_id: str, head: TrialHead) -> None:
        """Write the settings, config and source of a trial. Repeating it does nothing."""
        with self._shelf.locked():
            held = self._shelf.open(record_id)
            document = ConfigDocument(config=head.config)
            held.files[ARTIFACT_CONFIG] = document.model_dump_json().encode()
            if head.source:
                held.files[ARTIFACT_SOURCE] = facts.source_text(head.source).encode()

    def describe_attempt(self, record_id: str, head: TrialHead) -> None:
        """Write what another attempt at the same trial may change."""
        with self._shelf.locked():
            self._shelf.open(record_id).facts |= facts.facts_of_attempt(head)

    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a record has all losses and errors."""
        with self._shelf.locked():
            held = self._shelf.open(record_id)
            return frozenset.intersection(
                *(frozenset(held.history(name)) for name in EPOCH_METRICS)
            )

    def log_epochs(self, record_id: str, epochs: Sequence[EpochTold]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped."""
        with self._shelf.locked():
            held = self._shelf.open(record_id)
            for line, time in epochs:
                _log(held, line.numbers(), time, line.epoch)
            held.facts[facts.TAG_EPOCHS] = str(epochs[-1].line.epoch)

    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write some numbers of one step, if there are any. A copy sent again is dropped."""
        with self._shelf.locked():
            _log(self._shelf.open(record_id), numbers, time, step)

    def set_outcome(
        self, record_id: str, outcome: Outcome, told: OutcomeFacts, time: int | None = None
    ) -> None:
        """Write a record's outcome and what is told with it."""
        with self._shelf.locked():
            held = self._shelf.open(record_id)
            ended = round(1000 * clock.time()) if time is None else time
            _log(held, told.test_errors, ended, told.epochs or 0)
            held.facts |= facts.facts_of_outcome(outcome, told)
            held.is_running = outcome is Outcome.RUNNING
            held.ended = None if held.is_running else ended

    def upload(self, record_id: str, path: Path) -> None:
        """Add a file to a record's artifacts under its own name, if it is there."""
        with self._shelf.locked():
            held = self._shelf.open(record_id)
            if path.exists():
                held.files[path.name] = read_regular(path)

    def noted_evaluations(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that were noted of a record."""
        with self._shelf.locked():
            return frozenset(recorded_kinds(self._shelf.open(record_id).facts))

    def note_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Note that a record holds an evaluation."""
        with self._shelf.locked():
            self._shelf.open(record_id).facts[evaluation_tag(key)] = kind

    def is_gone(self, record_id: str) -> bool:
        """Return whether somebody has deleted a record."""
        with self._shelf.locked():
            held = self._shelf.get(record_id)
            return held is None or held.is_deleted

    def delete_record(self, record_id: str) -> None:
        """Delete a record that is there, of a trial or a sweep."""
        with self._shelf.locked():
            self._shelf.open(record_id).is_deleted = True

    def set_aside(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced: no reader counts them any more."""
        with self._shelf.locked():
            for key in trial_keys:
                while held := self._trial(key):
                    held.facts[facts.TAG_REPLACED] = "true"

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record."""
        with self._shelf.locked():
            files = self._shelf.open(record_id).files
            return FreedWeights(len(files.pop(ARTIFACT_WEIGHTS, b"")), "")

    def find_sweep(self, sweep: str) -> FoundSweep | None:
        """Return a sweep's own record."""
        with self._shelf.locked():
            held = self._shelf.sweep(sweep)
            return FoundSweep(held.record_id, held.is_running) if held else None

    def open_sweep(self, sweep: str, description: str) -> str:
        """Find or create a sweep's own record and return its id."""
        del description  # which people read elsewhere
        with self._shelf.locked():
            held = self._shelf.sweep(sweep) or self._shelf.add(facts.facts_of_sweep(sweep))
            return held.record_id

    def set_manifest(self, sweep_id: str, text: str) -> None:
        """Make a manifest the current one of a sweep, unless it is. Earlier ones stay."""
        digest = manifest_digest(text)
        with self._shelf.locked():
            held = self._shelf.open(sweep_id)
            for name in (manifest_artifact(digest), ARTIFACT_MANIFEST):
                held.files[name] = text.encode()
            held.facts[facts.TAG_MANIFEST_HASH] = digest

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended, None for one that runs."""
        with self._shelf.locked():
            self._shelf.open(sweep_id).is_running = exit_code is None

    def show_sweep(self, sweep_id: str, shown: ShownSweep) -> None:
        """Show nothing: nobody browses what is in memory."""
        del sweep_id, shown

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        with self._shelf.locked():
            held = self._shelf.open(sweep_id)
            held.files |= {f"report/{path.name}": path.read_bytes() for path in paths}

    def _trial(self, trial_key: str) -> HeldRecord | None:
        """Return the live record of a trial key that started first."""
        live = self._shelf.live("trial")
        return next((h for h in live if h.facts.get(facts.TAG_TRIAL_KEY) == trial_key), None)


def _log(held: HeldRecord, numbers: Mapping[str, float], time: int, step: int) -> None:
    for name, value in numbers.items():
        held.points.setdefault(name, {})[step, time, repr(value)] = value
