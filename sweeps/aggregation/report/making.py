"""A sweep's report as a value."""

from collections import Counter
from collections.abc import Sequence

from search_spaces.tables import OwnTable
from sweeps.aggregation.makers.kinds import headlines, make
from sweeps.aggregation.makers.own import left_out
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Provenance, Report, Section
from sweeps.aggregation.tables.cost import cost_table, mixtures
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.aggregation.tables.trials import trials_table
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import SLUG

_RESERVED = ("cost", "trials")


def make_report(results: Results, own: Sequence[type[OwnTable]] = ()) -> Report:
    """Return a sweep's report as a value: nothing is rendered, drawn or written yet.

    Result sections hold only what trial keys decide; what trials took stands in one of its own.

    Args:
        results: What it is made from.
        own: Classes of the user's own kinds of tables. A table of another such kind is left out.

    Raises:
        BadInput: If the name of a table is no slug, or the plan has nothing for a table.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    manifest, records = results.manifest, results.records
    _check_names(manifest)
    made = [(declared, make(declared, results, own)) for declared in manifest.tables]
    sections = tuple(section for _, section in made if section)
    cost = cost_table(manifest, records)
    return Report(
        provenance=_provenance(results),
        sections=sections,
        trials=Section("trials", "trials", data=(trials_table(manifest, records),)),
        costs=Section("cost", "cost", tables=(cost,), formats=("markdown", "csv")),
        shown=headlines(sections),
        mixtures=mixtures(manifest, records),
        left_out=tuple(left_out(table, manifest.sweep) for table, section in made if not section),
    )


def _provenance(results: Results) -> Provenance:
    manifest = results.manifest
    keys = tuple(dict.fromkeys(cell.trial_key for cell in manifest.cells))
    return Provenance(
        sweep=manifest.sweep,
        description=manifest.description,
        departures=departure_sentence(manifest),
        trial_keys=keys,
        num_records=sum(key in results.records for key in keys),
    )


def _check_names(manifest: Manifest) -> None:
    """Hold every name that becomes a path against the slug once more, here where it does."""
    names = [table.name for table in manifest.tables]
    counts = Counter(names)
    for name in (manifest.sweep, *names):
        if not SLUG.fullmatch(name):
            raise BadInput(f"'{name}' cannot be a file's name: it must match {SLUG.pattern}.")
    for name in names:
        if name in _RESERVED or counts[name] > 1:
            raise BadInput(
                f"Two tables of sweep '{manifest.sweep}' would be written to '{name}': "
                f"each needs a name of its own, other than {' and '.join(_RESERVED)}."
            )
    if not names:
        raise BadInput(f"Sweep '{manifest.sweep}' declares no table.")
