"""The token of a cluster: whoever has it may run anything there, so it is for its owner's eyes."""

import os
import stat
from pathlib import Path

from sweeps.records.errors import BadInput


def refuse_readable_token() -> None:
    """Refuse a file with the cluster's token that others may read, as ssh does with its keys.

    Raises:
        BadInput: Saying how to mend it.
    """
    if os.environ.get("RAY_AUTH_TOKEN"):
        return
    path = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or "~/.ray/auth_token").expanduser()
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return  # Ray says what is missing
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadInput(
            f"Others may read the cluster's token in {path} (mode {mode:o}), and anyone who has it "
            f"may run anything there: chmod 600 {path}, and make a new one if it was seen."
        )
