"""Trainings of the same networks for another number of epochs, in whatever sweep."""

import json
from collections.abc import Mapping
from contextlib import suppress

from capsmodel.stopping import STOPPINGS
from sweeps.execution.survey.estimate import Timing, timing_of
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Json
from sweeps.tracking.store import RecordStore

_LENGTHS = frozenset(stopping.length_setting for stopping in STOPPINGS)


def timings_at_other_lengths(
    configs: Mapping[str, Json], fingerprints: Mapping[str, str], store: RecordStore
) -> dict[str, list[Timing]]:
    """Return the timings of trials that differ from some arms in their epochs and seed alone.

    The manifests of all sweeps are read.

    Args:
        configs: Arm -> its full training config.
        fingerprints: Arm -> fingerprint of its data.
        store: The store of the records.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    if not configs or not store.exists():
        return {}
    arms: dict[str, list[str]] = {}
    for arm, config in configs.items():
        arms.setdefault(_without_length(config), []).append(arm)
    keys: dict[str, list[str]] = {}
    for sweep in store.sweeps():
        with suppress(BadInput):  # its log is damaged, which other commands say
            manifest = store.manifest(sweep)
            same = {arm.name: arms.get(_without_length(arm.config), []) for arm in manifest.arms}
            keys |= {cell.trial_key: same[cell.arm] for cell in manifest.cells if same[cell.arm]}
    found: dict[str, list[Timing]] = {}
    for key, record in store.records(keys).items():
        timing = timing_of(record)
        for arm in keys[key] if timing else ():
            if timing and record.data_fingerprint in {"", fingerprints.get(arm)}:
                found.setdefault(arm, []).append(timing)
    return found


def _without_length(config: Json) -> str:
    """Return what a config says but for its number of epochs, as text to compare."""
    stopping = config.get("stopping")
    kept = (
        {name: value for name, value in stopping.items() if name not in _LENGTHS}
        if isinstance(stopping, dict)
        else stopping
    )
    return json.dumps({**config, "stopping": kept}, sort_keys=True)
