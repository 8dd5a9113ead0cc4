"""What a name stands for where it may be a sweep's or a trial's."""

import re

from capsmodel.spelling import hint
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import shortened
from sweeps.records.trial_record import TrialRecord
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
    raise BadInput(
        f"'{shortened(str(name), 80)}' is neither a sweep nor the beginning of a trial key."
        f"{hint(str(name), known)} Sweeps here: {', '.join(known) or 'none'}; keys of trials stand "
        f"in report-runs.html and sweeps.trials()."
    )
