"""Weights in a tracking store that are not what a trial has recorded there."""

import logging
import os
from collections.abc import Iterable

from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, Outcome, TrialRecord
from sweeps.tracking.addresses import is_server
from sweeps.tracking.store import RecordStore

_LOG = logging.getLogger(__name__)


def warn_of_replaced_weights(
    sweep: str, store: RecordStore, records: Iterable[TrialRecord]
) -> None:
    """Log a warning for each trial whose weights are there and are no weights.

    A server's would have to be downloaded, and are not looked at.
    """
    for key in trials_with_replaced_weights(store, records):
        _LOG.warning(
            "The weights of trial %s are damaged or were replaced, and are not used: %s.",
            key,
            SuggestedCommand("repair", sweep),
        )


def trials_with_replaced_weights(store: RecordStore, records: Iterable[TrialRecord]) -> list[str]:
    """Return the trial keys of an embedded store whose weights have no sound header.

    So have a link, a pipe and a folder in their place.
    """
    from safetensors import SafetensorError, safe_open  # here, as it takes long to import

    if is_server(store.address):
        return []
    finished = [record for record in records if record.outcome is Outcome.FINISHED]
    paths, replaced = store.artifacts(finished, ARTIFACT_WEIGHTS), list[str]()
    for record in finished:
        path = paths.get(record.trial_key)
        if path is None and not os.path.lexists(store.location(record, ARTIFACT_WEIGHTS)):
            continue  # they were not to be kept
        try:
            if path is not None:
                with safe_open(path, framework="np"):
                    continue
        except (FileNotFoundError, PermissionError):  # gone meanwhile, or not to be read
            continue
        except (SafetensorError, OSError):
            pass
        replaced.append(record.trial_key)
    return replaced
