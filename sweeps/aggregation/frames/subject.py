"""What a name stands for where it may be a sweep's or a trial's."""

import re

from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.answers import neither
from sweeps.tracking.store import RecordStore

_BEGINNING_OF_A_KEY = re.compile(r"[0-9a-f]{1,32}")


def subject_of(name: str, store: RecordStore) -> Manifest | TrialRecord:
    """Return the sweep of that name, else the trial whose key begins with it or whose id it is.

    Raises:
        BadInput: If there is neither, or more than one trial.
        StoreUnreachable: If the store does not answer.
    """
    known = store.sweeps()
    if name in known:
        return store.manifest(name)
    if _BEGINNING_OF_A_KEY.fullmatch(str(name).strip().lower()):
        return store.find(name)
    raise neither(name, known)
