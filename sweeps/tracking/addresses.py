"""Addresses of tracking stores: what they lead to, and how they are shown."""

import re
from pathlib import Path

_ADDRESS = re.compile(r"(://)(\S*)")
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")


def sqlite_path(address: str) -> Path | None:
    """Return the file behind a SQLite address, or None for any other address."""
    match = _SQLITE.match(address)
    return Path(match[1]) if match else None


def public(text: str) -> str:
    """Return a text whose addresses have no user name and password, fit for a message.

    A password may hold a slash or an at sign, so all up to the last at sign of an address goes
    where a colon or no slash stands before it.
    """
    return _ADDRESS.sub(_without_user, text)


def _without_user(address: "re.Match[str]") -> str:
    user, at, rest = address[2].rpartition("@")
    has_user = at and (":" in user or "/" not in user)
    return address[1] + (rest if has_user else address[2])
