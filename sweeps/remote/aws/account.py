"""An account on AWS: its services, its errors in a sentence, and patience with its first seconds.

A resource that was made is not seen by each of AWS's servers at once, and one that is deleted
goes on being in use for a while. So each call is repeated while its error says so.
"""

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

NO_RIGHT = re.compile(r"AccessDenied|Unauthorized(?!.*Token)|NotAuthorized")
NOT_THERE = re.compile(r"NotFound|NoSuchEntity|Malformed|Invalid(?:GroupId|InstanceType)")
BAD_KEYS = re.compile(
    r"Expired|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|AuthFailure"
)
_LONGEST_PAUSE_SECONDS = 5.0
_Value = TypeVar("_Value")


class NoRight(BadInput):
    """AWS refuses a call, as the user may not make it.

    Args:
        message: The sentence.
        operation: The call, such as `CreateRole`.
    """

    def __init__(self, message: str, operation: str) -> None:
        super().__init__(message)
        self.operation = operation


class StillInUse(BadInput):
    """A resource cannot be deleted, as something else uses it."""


def session_in(region: str | None) -> Any:
    """Return boto3's session, with the credentials of the `aws` command.

    Args:
        region: The region, None for that of the user's settings.

    Raises:
        BadInput: If boto3 is not installed, or there is no such profile.
    """
    try:
        import boto3
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise BadInput(
            'boto3 is not installed, which asks AWS: pip install "capsweep[aws]".'
        ) from error
    try:
        return boto3.Session(region_name=region)
    except BotoCoreError as error:
        raise BadInput(f"AWS's settings cannot be used: {one_line(str(error))[:300]}") from error


def code_of(error: "ClientError") -> str:
    """Return the code of an error of AWS, such as `AccessDenied`."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def in_sentences() -> Generator[None]:
    """Raise errors of AWS as sentences.

    Raises:
        NoRight: If the user may not make a call.
        BadInput: If AWS is not reached, refuses the credentials, or cannot do what is asked.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code, operation = code_of(error), error.operation_name
        message = one_line(str(error.response.get("Error", {}).get("Message", "")))[:300]
        if BAD_KEYS.search(code):
            raise BadInput(
                f"AWS refuses the credentials ({code}): log in again, as for the aws command."
            ) from error
        if NO_RIGHT.search(code):
            raise NoRight(f"You may not call {operation} ({code}).", operation) from error
        raise BadInput(f"AWS refuses {operation} ({code}): {message}") from error
    except BotoCoreError as error:
        raise BadInput(f"AWS is not reached: {one_line(str(error))[:300]}") from error


@dataclass
class Account:
    """An account in one region.

    Attributes:
        session: boto3's.
        patience_seconds: How long to repeat a call that AWS is not ready for.
        pause_seconds: The first pause between two tries; each is twice the one before, up to 5 s.
    """

    session: Any
    patience_seconds: float = 300.0
    pause_seconds: float = 0.25
    _clients: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def region(self) -> str:
        """The region."""
        return self.session.region_name

    def client(self, service: str) -> Any:
        """Return the client of a service."""
        if service not in self._clients:
            self._clients[service] = self.session.client(service)
        return self._clients[service]

    def call(self, act: Callable[[], object], *, not_yet: str, done: str = "") -> None:
        """Make a call, again while AWS is not ready for it.

        Args:
            act: The call.
            not_yet: Pattern of the errors after which to try again.
            done: Pattern of the errors that say that it has been made already.

        Raises:
            StillInUse: If AWS does not get ready in time.
        """
        from botocore.exceptions import ClientError

        def tried() -> bool:
            nonlocal last
            try:
                act()
            except ClientError as error:
                code = code_of(error)
                if done and re.search(done, code):
                    return True
                if not re.search(not_yet, code):
                    raise
                last = f"{error.operation_name}: {code}"
                return False
            return True

        last = ""
        if not self.wait(tried):
            raise StillInUse(
                f"AWS is not ready after {self.patience_seconds:.0f} s ({last}): give the same "
                f"command again in a few minutes."
            )

    def wait(self, condition: Callable[[], _Value], *, tries: int | None = None) -> _Value:
        """Return the first true value of a condition, or its last one when patience is over.

        Args:
            condition: Asked again after each pause.
            tries: How often to ask at most, None for as long as patience lasts.
        """
        deadline, pause = time.monotonic() + self.patience_seconds, self.pause_seconds
        num_tries = 0
        while True:
            value, num_tries = condition(), num_tries + 1
            if value or num_tries == tries or time.monotonic() > deadline:
                return value
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
