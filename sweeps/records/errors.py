"""What can go wrong that a user can mend.

SweepError              base; the command line prints its sentence and exits with its code
├── BadInput            what was asked for cannot be: exit code 2, nothing was written
└── StoreUnreachable    the tracking store does not answer: exit code 2
"""


class SweepError(Exception):
    """A sentence for the user: what is wrong, what was given, what is allowed, what to do."""

    exit_code = 2


class BadInput(SweepError, ValueError):  # noqa: N818 - reads as what it is
    """A name, value or file that cannot be used. Nothing has been written."""


class StoreUnreachable(SweepError, ConnectionError):  # noqa: N818 - reads as what it is
    """The tracking store did not answer in time. Nothing has been lost."""
