"""A fault that every trial meets is none of theirs: a launch need not meet it a hundred times."""

import re
from collections import defaultdict

from sweeps.execution.engine.engine import CannotGoOn
from sweeps.records.cell_contents import TrialHead

MOST_ARMS = 3
_NUMBER = re.compile(r"\d+")


class SameFault:
    """Counts the arms that failed alike, while none has finished in this launch."""

    def __init__(self) -> None:
        self._arms = defaultdict[str, set[str]](set)
        self._has_finished = False

    def note_finished(self) -> None:
        """Note that a trial went well."""
        self._has_finished = True

    def note_failed(self, head: TrialHead, reason: str) -> None:
        """Note that a trial was given up.

        Args:
            head: Of the trial, whose key may stand in the reason, as in the path of a file.
            reason: Why.

        Raises:
            CannotGoOn: If it is the third arm that fails so, and no trial has finished.
        """
        arms = self._arms[_NUMBER.sub("#", reason.replace(head.trial_key, "#"))]
        arms.add(head.arm)
        if len(arms) >= MOST_ARMS and not self._has_finished:
            raise CannotGoOn(
                f"{len(arms)} arms failed alike and no trial has finished, so the launch ends: "
                f"{reason}."
            )
