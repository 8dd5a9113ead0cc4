"""Ray's token in ~/.ray, without which nobody can use a cluster."""

import os
import secrets
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.folder import PRIVATE, Folder, read_descriptor

_NAME = "auth_token"


def read_token() -> tuple[str, int | None]:
    """Return the token of this machine's clusters, and the permissions of its file."""
    folder = Folder(Path.home() / ".ray")
    try:
        descriptor = folder.open(_NAME)
    except (OSError, BadInput):
        return "", None
    mode = os.fstat(descriptor).st_mode & 0o777
    return read_descriptor(descriptor, folder.path / _NAME).decode().strip(), mode


def write_token(token: str) -> None:
    """Write the token, readable for the user alone, unless that is what is there."""
    if read_token() != (token, PRIVATE):
        Folder(Path.home() / ".ray").make(0o700).write(_NAME, token.encode(), PRIVATE)


def made_token() -> str:
    """Return the token, which is made if there is none, readable for the user alone."""
    token = read_token()[0] or secrets.token_hex(32)
    write_token(token)
    return token
