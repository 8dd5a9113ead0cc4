"""Addresses of tracking stores: what they lead to, and how they are shown."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from sweeps.records.errors import BadInput
from sweeps.storage.locations import DEFAULT_FILE

_SERVERS = ("http", "https")
_ADDRESS = re.compile(r"(://)(\S*)")
_SQLITE = re.compile(r"sqlite(?:\+\w+)?:///([^?]+)")


def sqlite_path(address: str) -> Path | None:
    """Return the file behind a SQLite address, or None for any other address."""
    match = _SQLITE.match(address)
    return Path(match[1]) if match else None


def is_server(address: str) -> bool:
    """Return whether an address is that of an MLflow server, which keeps files as well."""
    return urlsplit(address).scheme in _SERVERS


def check_address(address: str) -> None:
    """Return if an address can be that of a store, whether it is there or not.

    Raises:
        BadInput: If it cannot: a file that is none, no file at all, or an address without a host.
    """
    file = address.partition(":///")[2] if address.startswith("sqlite") else None
    try:
        parts = urlsplit(address)
        is_known = parts.scheme in _SERVERS
        is_server = bool(file is None and is_known and parts.hostname and parts.port != 0)
    except ValueError:  # of a broken IPv6 address, or a port that is none
        is_server = False
    if (file is None and not is_server) or file in {"", ":memory:"} or "\0" in address:
        raise BadInput(
            f"'{public(address)}' is not a tracking store: give sqlite:///PATH or the http(s) "
            f"address "
            f"of an MLflow server."
        )
    if file and "?" in file:
        raise BadInput(
            f"The tracking store '{address}' has options, which are not taken: leave out "
            f"'?{file.partition('?')[2]}'."
        )
    path = Path(file) if file else None
    if path and path.exists() and not path.is_file():
        raise BadInput(
            f"The tracking store {path} is a folder or a device: give the path of a file."
        )


def place_words(address: str) -> str:
    """Return where a store lies as a sentence names it: a storage folder, a file or a server."""
    path = sqlite_path(address)
    if path is None:
        return public(address)
    return f"the storage folder {path.parent}" if path.name == DEFAULT_FILE else f"the file {path}"


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
