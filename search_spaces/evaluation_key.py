"""The evaluation key: a hash of everything but the trial that decides an evaluation's result.

A result is stored under both keys. Evaluations do not enter trial keys, so an evaluation that is
declared later reuses all trainings.
"""

import hashlib
import json
from typing import Any

from capsmodel.evaluation import Evaluation
from search_spaces.trial_key import differences, versions_below


def evaluation_key(evaluation: Evaluation) -> str:
    """Return 20 hexadecimal digits that are equal exactly if two evaluations are the same.

    Only values that differ from their defaults enter, so a new setting changes no old key.
    """
    identity = evaluation_identity(evaluation)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def evaluation_identity(evaluation: Evaluation) -> dict[str, Any]:
    """Return the plain JSON values that an evaluation key hashes.

    The data are those of the evaluation; the trial's data are in the trial key.
    """
    identity: dict[str, Any] = {
        "kind": evaluation.kind,
        "settings": differences(evaluation),
        "data": evaluation.fingerprint,
    }
    versions = versions_below(evaluation)
    if evaluation.protocol_version != 1:
        versions["evaluation"] = evaluation.protocol_version
    return identity | ({"versions": versions} if versions else {})
