"""Runs of a server for who only reads: those of final records are asked for once.

Whether one was replaced, deleted or newly evaluated since, three small searches tell.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from time import time

from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.mlflow.kept.place import place_of
from sweeps.tracking.mlflow.kept.tables import (
    KeptRecord,
    read_histories,
    read_records,
    write_histories,
    write_records,
)
from sweeps.tracking.mlflow.reading.client_runs import ClientRuns
from sweeps.tracking.mlflow.reading.runs_read import FoundRun, History


class KeptRuns:
    """Live runs of a server; a `Runs`.

    Args:
        client: Who is asked for what is not kept.

    Attributes:
        place: Where what is final may be kept; None before `records`, or where nothing can be.
    """

    def __init__(self, client: ClientRuns) -> None:
        self.place: Path | None = None
        self._client = client
        self._final: dict[str, TrialRecord] = {}  # by id, as they were told to this object

    def is_final(self, run_id: str) -> bool:
        """Return whether `records` has told that a run is of a final record."""
        return run_id in self._final

    def sweeps(self, name: str | None = None) -> Sequence[FoundRun]:
        """Return the sweeps' own runs; none is kept, as each launch changes them."""
        return self._client.sweeps(name)

    def records(self, keys: Collection[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that counts."""
        if len(keys) < 2:  # one request, as many as it would take to look whether it is kept
            return self._client.records(keys)
        self.place = place_of(self._client)
        kept = read_records(self.place) if self.place else {}
        sound = self._checked({key: one for key, one in kept.items() if one.is_believed})
        known = {key: sound[key].record for key in keys if key in sound}
        asked = self._client.records(keys - known.keys())
        told = {key: KeptRecord(one, time()) for key, one in asked.items() if one.outcome.is_final}
        if self.place and sound | told != kept:
            write_records(self.place, (sound | told).values())
        final = [*known.values(), *(one.record for one in told.values())]
        self._final |= {record.record_id: record for record in final}
        return known | asked

    def records_beginning(self, start: str) -> dict[str, TrialRecord]:
        """Return the records that count whose trial keys begin with letters and digits."""
        return self._client.records_beginning(start)

    def records_of_run(self, run_id: str) -> dict[str, TrialRecord]:
        """Return a trial's record by the id of its run."""
        return self._client.records_of_run(run_id)

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Return each metric's history of each run; those of final records are asked for once."""
        place = self.place if any(map(self.is_final, run_ids)) else None
        if place is None:
            return self._client.histories(run_ids, metrics)
        kept = read_histories(place)
        asked = self._asked([(one, name) for one in run_ids for name in metrics], kept)
        if new := {at: history for at, history in asked.items() if self._is_whole(at[0], history)}:
            write_histories(place, kept | new)
        found = kept | asked
        return [(one, name, found[one, name]) for one in run_ids for name in metrics]

    def _asked(
        self, wanted: Sequence[tuple[str, str]], kept: Mapping[tuple[str, str], History]
    ) -> dict[tuple[str, str], History]:
        """Return the histories that are not kept, or not of a final record."""
        return {
            (run_id, metric): history
            for one, name in wanted
            if (one, name) not in kept or not self.is_final(one)
            for run_id, metric, history in self._client.histories([one], [name])
        }

    def _checked(self, kept: Mapping[str, KeptRecord]) -> dict[str, KeptRecord]:
        """Return kept records without those that are gone, and as they are if evaluated since."""
        if not kept:
            return {}
        gone = self._client.gone()
        now = {one.record_id: one for one in self._client.evaluated().values()}
        return {
            key: one._replace(record=now.get(one.record.record_id, one.record))
            for key, one in kept.items()
            if one.record.record_id not in gone
        }

    def _is_whole(self, run_id: str, history: History) -> bool:
        """Return whether no epoch of a final record is missing, which a repair might add."""
        record = self._final.get(run_id)
        return record is not None and len(history) == record.epochs
