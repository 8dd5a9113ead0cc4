"""What a report was made from, and by which names its files may go."""

from collections import Counter
from collections.abc import Mapping

from sweeps.aggregation.rendering.contents import Provenance
from sweeps.aggregation.tables.departures import departure_sentence
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import SLUG, TrialRecord

_RESERVED = ("cost", "trials")


def provenance(manifest: Manifest, records: Mapping[str, TrialRecord], digest: str) -> Provenance:
    """Return what a report was made from.

    Args:
        manifest: Of the sweep.
        records: By trial key.
        digest: Of all inputs.
    """
    keys = tuple(dict.fromkeys(cell.trial_key for cell in manifest.cells))
    return Provenance(
        sweep=manifest.sweep,
        description=manifest.description,
        departures=departure_sentence(manifest),
        trial_keys=keys,
        num_records=sum(key in records for key in keys),
        digest=digest,
    )


def refuse_names(manifest: Manifest) -> None:
    """Hold every name that becomes a path against the slug once more.

    Raises:
        BadInput: If one is no slug, two tables have the same, or there is no table.
    """
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
