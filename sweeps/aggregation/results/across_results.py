"""What the table over all data sets is made from: the results on each of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from search_spaces.tables import DataSetsTable
from sweeps.aggregation.results.data_set_sweeps import (
    column_manifests,
    data_sets_of,
    newest_part,
)
from sweeps.aggregation.results.sweep_results import Results, read_results
from sweeps.tracking.store import RecordStore
from sweeps.tracking.validation import unknown_sweep


@dataclass(frozen=True)
class ResultsAcross:
    """What the tables of a sweep across data sets are made from.

    Attributes:
        sweep: Its name.
        columns: Data set -> its results in the order of the table, None where it was not launched.
        table: The table over all data sets, as the last launch declared it.
        left_out: Data set -> why the last launch did not launch it.
    """

    sweep: str
    columns: Mapping[str, Results | None]
    table: DataSetsTable
    left_out: Mapping[str, str]

    @property
    def launched(self) -> dict[str, Results]:
        """Data set -> its results, of those that were launched."""
        return {name: results for name, results in self.columns.items() if results}


def read_across(store: RecordStore, sweep: str) -> ResultsAcross:
    """Return the results of a sweep across data sets.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    manifests = column_manifests(store, sweep)
    if not manifests:
        raise unknown_sweep(sweep, store.sweeps(), store.address)
    data_sets = data_sets_of(manifests)
    newest = newest_part(manifests)
    return ResultsAcross(
        sweep=sweep,
        columns={
            name: read_results(store, manifests[name].sweep) if name in manifests else None
            for name in data_sets
        },
        table=newest.table if newest else DataSetsTable(),
        left_out=newest.left_out if newest else {},
    )
