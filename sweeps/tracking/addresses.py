"""Addresses of tracking stores: what they lead to, and how they are shown."""

import re
from pathlib import Path

_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")


def sqlite_path(address: str) -> Path | None:
    """Return the file behind a SQLite address, or None for any other address."""
    match = _SQLITE.match(address)
    return Path(match[1]) if match else None


def public(text: str) -> str:
    """Return a text whose addresses have no user name and password, fit for a message."""
    return re.sub(r"://[^/\s]*@", "://", text)
