"""The environment of a process that has no part in a cluster."""

import os

_OF_CLUSTERS = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


def without_token() -> dict[str, str]:
    """Return this process's environment without a cluster's token, for one that needs none."""
    return {name: value for name, value in os.environ.items() if name not in _OF_CLUSTERS}
