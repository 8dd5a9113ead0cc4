"""What can go wrong that a user can mend.

SweepError              base; the command line prints its sentence and exits with its code
├── BadInput            what was asked for cannot be: exit code 2, nothing was written
│   └── UnknownSweep    a name that no launched sweep has; a file may define it
└── StoreUnreachable    the tracking store does not answer: exit code 2
    └── StoreRefused    a call on it failed, for which it may have a reason
"""


class SweepError(Exception):
    """A sentence for the user: what is wrong, what was given, what is allowed, what to do."""

    exit_code = 2


class BadInput(SweepError, ValueError):  # noqa: N818 - reads as what it is
    """A name, value or file that cannot be used. Nothing has been written."""


class UnknownSweep(BadInput):
    """A name that no launched sweep has.

    Attributes:
        name: What was given.
        has_hint: Whether the sentence names a launched sweep that may be meant.
    """

    def __init__(self, sentence: str, name: str, *, has_hint: bool = False) -> None:
        super().__init__(sentence)
        self.name = name
        self.has_hint = has_hint


class StoreUnreachable(SweepError, ConnectionError):  # noqa: N818 - reads as what it is
    """The tracking store did not answer in time. Nothing has been lost."""


class StoreRefused(StoreUnreachable):
    """A call on the tracking store failed, for which it may have a reason.

    Attributes:
        reason: In the store's own words.
    """

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(sentence)
        self.reason = reason
