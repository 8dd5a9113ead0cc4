"""What a paper may print of a sweep by its records, derived anew."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.paper.macros import macro_key, macro_text
from sweeps.aggregation.paper.numbers import Numbers, paper_numbers
from sweeps.aggregation.rendering.renderers import FRAGMENT, RENDERERS, render
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.report.reading import read_results
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import SLUG
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class SweepTruth:
    """What a paper may print of a sweep."""

    results: Results

    @property
    def sweep(self) -> str:
        """Its name."""
        return self.results.manifest.sweep

    @cached_property
    def numbers(self) -> Numbers:
        """Its numbers, by arm and metric."""
        return paper_numbers(self.results)

    @cached_property
    def values(self) -> Mapping[tuple[str, str], str]:
        """What stands in its file of numbers: key of the arm and metric -> text of the macro."""
        return {
            (macro_key(arm), metric): macro_text(text)
            for arm, metrics in self.numbers.items()
            for metric, text in metrics.items()
        }

    @cached_property
    def fragments(self) -> Mapping[str, str]:
        """Name of each table -> its LaTeX alone, in any style."""
        report = make_report(self.results, style="paper")
        ending = f"{FRAGMENT}.tex"
        files = render(report, {"latex-table": RENDERERS["latex-table"]})
        return {
            name.removesuffix(ending): content.decode()
            for name, content in files
            if name.endswith(ending)
        }


def read_truth(store: RecordStore, sweep: str) -> SweepTruth:
    """Return what a paper may print of a sweep.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    if not SLUG.fullmatch(sweep):
        raise BadInput(f"'{sweep}' is no sweep's name: it must match {SLUG.pattern}.")
    return SweepTruth(read_results(store, sweep))
