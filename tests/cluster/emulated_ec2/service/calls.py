"""The record of calls: one line of JSON in a file for each request to the account."""

import json
from pathlib import Path

from aws_request import Request


class Calls:
    """A record of calls.

    Args:
        path: Its file, None to keep none.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.forget()

    def record(self, request: Request) -> None:
        """Add a request."""
        if self._path:
            line = {
                "service": request.service,
                "action": request.name,
                "key": request.key,
                "dry_run": request.is_dry_run,
            }
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def forget(self) -> None:
        """Forget all calls."""
        if self._path:
            self._path.write_text("")
