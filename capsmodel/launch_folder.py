"""The folder from which relative paths count, also in a process that runs in another one."""

import os
from pathlib import Path

LAUNCH_FOLDER = "CAPSWEEP_LAUNCH_FOLDER"
"""Variable with that folder, set where a process runs in another one."""
SENT_SWEEP = "CAPSWEEP_SENT_SWEEP"
"""Variable that is set where the current folder is made for a sweep's file sent from elsewhere."""


def from_launch_folder(path: str | Path) -> Path:
    """Return an absolute path; a relative one counts from the folder of the launch.

    Raises:
        RuntimeError: If the path names a user who does not exist.
    """
    return Path(os.environ.get(LAUNCH_FOLDER, ""), Path(path).expanduser()).absolute()
