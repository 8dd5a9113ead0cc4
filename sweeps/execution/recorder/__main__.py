"""The command line of the recorder's process, as its driver starts it."""

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import Any

from sweeps.execution.channel import channel_to_parent
from sweeps.execution.garbage import collect_seldom
from sweeps.execution.recorder.recorder_process import TRACKING_URI_VARIABLE, RecorderProcess
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import public
from sweeps.tracking.opening import open_store


def main() -> int:
    """Run a recorder process."""
    driver = channel_to_parent()
    collect_seldom()
    _do_without_frames()
    parser = argparse.ArgumentParser()
    parser.add_argument("--storage", type=Path, required=True)
    parser.add_argument("--sweep", required=True)
    arguments = parser.parse_args()
    lines = logging.StreamHandler()
    lines.setFormatter(WithoutPasswords("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[lines], level=logging.WARNING)
    tracking_uri = os.environ[TRACKING_URI_VARIABLE]  # not an argument: those are seen by everybody
    store = open_store(tracking_uri, arguments.storage)
    process = RecorderProcess(Storage(arguments.storage), store, arguments.sweep, driver)
    return process.run()


class WithoutPasswords(logging.Formatter):
    """Formats a record of the log, of whichever library, without passwords in its addresses."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return public(super().format(record))


def _do_without_frames() -> None:
    """Keep MLflow from loading pandas, which it needs only for data frames.

    It takes 0.3 s of a processor, which trials need for their first epochs.
    """
    modules: dict[str, Any] = sys.modules
    modules["pandas"] = None


if __name__ == "__main__":
    raise SystemExit(main())
