"""What a driver and its recorder's process say to each other, each a line of JSON.

driver               recorder's process
Serve           ->
Call            ->   at any time
                <-   Answer
Carry           ->
                <-   Ended     once all was carried, or could not be

How long the store may be silent, and how far the rest is, goes through the process's standard input
and output.
"""

import errno
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.manifest import Manifest
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.shown_sweep import ShownSweep
from sweeps.tracking.store import FoundSweep, FreedWeights, RecordWriter

Method = Literal[
    "delete_weights",
    "find_sweep",
    "open_sweep",
    "publish_files",
    "publish_manifest",
    "refuse_absence",
    "set_aside",
    "set_manifest",
    "settle_sweep",
    "show_sweep",
]

_TYPES: dict[Method, tuple[Any, Any]] = {  # of the arguments, and of what is returned
    "delete_weights": (tuple[str], FreedWeights),
    "find_sweep": (tuple[str], FoundSweep | None),
    "open_sweep": (tuple[str, str], str),
    "publish_files": (tuple[str, tuple[Path, ...]], None),
    "publish_manifest": (tuple[str], str),
    "refuse_absence": (tuple[()], None),
    "set_aside": (tuple[tuple[str, ...]], None),
    "set_manifest": (tuple[str, str], None),
    "settle_sweep": (tuple[str, int | None], None),
    "show_sweep": (tuple[str, ShownSweep], None),
}
_NUMBERS = ConfigDict(ser_json_inf_nan="constants")


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Serve(_Message):
    """Which storage, sweep and store the process is for, and what takes all it prints."""

    type: Literal["serve"] = "serve"
    storage: str
    sweep: str
    tracking_uri: str
    log: str


class Carry(_Message):
    """Begin to carry what trials tell."""

    type: Literal["carry"] = "carry"


class Call(_Message):
    """Call a method of the store's `RecordWriter`.

    Attributes:
        number: By which the answer is known.
        arguments: As JSON.
        is_anew: Whether the store is to be opened anew before, as it may have lost all.
    """

    type: Literal["call"] = "call"
    number: int
    method: Method
    arguments: str
    is_anew: bool = False


class Failure(_Message):
    """What a call has raised.

    Attributes:
        kind: Of exception.
        sentence: What it says.
        reason: In the store's own words, where it has refused something; the file's name, where the
            operating system has.
        number: Of the operating system's error.
    """

    kind: Literal["refused", "unreachable", "bad input", "system", "other"]
    sentence: str
    reason: str = ""
    number: int = 0

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Return what is told of an exception."""
        match error:
            case StoreRefused():
                return cls(kind="refused", sentence=str(error), reason=error.reason)
            case StoreUnreachable():
                return cls(kind="unreachable", sentence=str(error))
            case BadInput():
                return cls(kind="bad input", sentence=str(error))
            case OSError():
                told = error.strerror or str(error)
                name = "" if error.filename is None else str(error.filename)
                number = error.errno or errno.EIO
                return cls(kind="system", sentence=told, reason=name, number=number)
            case _:
                return cls(kind="other", sentence=f"{type(error).__name__}: {error}")

    def error(self) -> Exception:
        """Return the exception again, by its kind."""
        match self.kind:
            case "refused":
                return StoreRefused(self.sentence, self.reason)
            case "unreachable":
                return StoreUnreachable(self.sentence)
            case "bad input":
                return BadInput(self.sentence)
            case "system":
                return OSError(self.number, self.sentence, self.reason or None)
            case "other":
                return RuntimeError(self.sentence)


class Answer(_Message):
    """What a call has returned, as JSON, or raised."""

    type: Literal["answer"] = "answer"
    number: int
    result: str = "null"
    failure: Failure | None = None


class Ended(_Message):
    """All was carried, or will not be: the code that the process will end with."""

    type: Literal["ended"] = "ended"
    exit_code: int


FROM_DRIVER: TypeAdapter[Serve | Carry | Call] = TypeAdapter(
    Annotated[Serve | Carry | Call, Field(discriminator="type")]
)
FROM_RECORDER: TypeAdapter[Answer | Ended] = TypeAdapter(
    Annotated[Answer | Ended, Field(discriminator="type")]
)


def call(number: int, method: Method, arguments: tuple[Any, ...], *, is_anew: bool = False) -> Call:
    """Return the call of a method."""
    text = _arguments(method).dump_json(arguments).decode()
    return Call(number=number, method=method, arguments=text, is_anew=is_anew)


def answered(call: Call, writer: Callable[[], RecordWriter]) -> Answer:
    """Call a method, and return the answer; what it raises is part of it."""
    try:
        arguments = _arguments(call.method).validate_json(call.arguments)
        result = _method(writer(), call.method)(*arguments)
    except Exception as error:  # noqa: BLE001 - the driver raises it again
        return Answer(number=call.number, failure=Failure.of(error))
    text = _result(call.method).dump_json(result).decode()
    return Answer(number=call.number, result=text)


def result_of(method: Method, answer: Answer) -> Any:
    """Return what a call has returned.

    Raises:
        Exception: What it has raised there.
    """
    if answer.failure:
        raise answer.failure.error()
    return _result(method).validate_json(answer.result)


def _method(writer: RecordWriter, method: Method) -> Callable[..., Any]:
    return partial(_publish, writer) if method == "publish_manifest" else getattr(writer, method)


def _publish(writer: RecordWriter, manifest: str) -> str:
    return publish_manifest(writer, Manifest.model_validate_json(manifest))


@cache
def _arguments(method: Method) -> TypeAdapter[tuple[Any, ...]]:
    return TypeAdapter(_TYPES[method][0], config=_NUMBERS)


@cache
def _result(method: Method) -> TypeAdapter[Any]:
    return TypeAdapter(_TYPES[method][1])
