"""The evaluation key: a hash of all that decides what an evaluation finds, the trial apart.

A result stands under both keys. No trial key knows of an evaluation, so one that is declared later
finds every training where it was.
"""

import hashlib
import json
from typing import Any

from capsmodel.evaluation import Evaluation
from search_spaces.trial_key import differences, versions_below


def evaluation_key(evaluation: Evaluation) -> str:
    """Return 20 hexadecimal digits that are equal exactly where two evaluations are one.

    Only what differs from the defaults enters, so a new setting leaves every old key as it was.
    """
    identity = evaluation_identity(evaluation)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def evaluation_identity(evaluation: Evaluation) -> dict[str, Any]:
    """Return what an evaluation key is the hash of, as plain JSON values.

    The data are those that the evaluation brings along: those of the trial are in its own key.
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
