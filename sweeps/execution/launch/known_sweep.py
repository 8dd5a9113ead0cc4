"""A sweep as a launch finds it: as declared, and with all that earlier launches made of it."""

from typing import NamedTuple

from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.launch.recording.earlier_manifest import earlier_manifest
from sweeps.execution.plan.definition import Definition, Launchable, define, sweep_of
from sweeps.execution.plan.restore import restored
from sweeps.execution.search.warm_points import warm_started
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


class KnownSweep(NamedTuple):
    """A sweep as it is found.

    Attributes:
        definition: What the launch starts from.
        known: With all that earlier launches of a search proposed.
        current: The manifest that is there, None for a new sweep.
        adopted: Whose proposals stand.
    """

    definition: Definition
    known: Definition
    current: Manifest | None
    adopted: Manifest | None


def known_sweep(
    which: Launchable, options: LaunchOptions, store: RecordStore, storage: Storage
) -> KnownSweep:
    """Return a sweep as a launch finds it. Writes nothing.

    Raises:
        BadInput: If the sweep or a change cannot be.
        StoreUnreachable: If the tracking store does not answer.
    """
    sweep, _, _ = sweep_of(which)
    name = sweep.name if options.name is None else options.name
    may = options.replace
    current, adopted = earlier_manifest(store, storage.journals, name, may_be_replaced=may)
    declared = define(which, options, current.seeds if current else ())
    known = restored(declared, storage.journals, adopted)
    is_anew = options.fresh and declared.decided_by
    definition = declared if is_anew else known
    if options.warm_start is not None:
        definition = warm_started(definition, options.warm_start, store)
    return KnownSweep(definition, known if is_anew else definition, current, adopted)
