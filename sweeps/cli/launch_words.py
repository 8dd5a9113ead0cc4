"""The options of a launch as the command line has them, made of their one declaration."""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, cast, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from sweeps.cli.arguments import read_duration, read_seeds, read_settings
from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE, SweepArgument
from sweeps.execution.driver.options import LaunchOptions

if TYPE_CHECKING:
    from sweeps.execution.driver.options import LaunchArguments

Launching = Callable[[str, "LaunchArguments"], None]


@dataclass(frozen=True)
class Words:
    """How the command line writes an option, where it is not as its declaration has it.

    Attributes:
        flag: "" for its name with dashes.
        given: The type of what is given; None for that of the declaration.
        read: Turns flag and what is given into the option's value.
    """

    flag: str = ""
    metavar: str | None = None
    envvar: str | None = None
    given: Any = None
    read: Callable[[str, Any], Any] | None = None


WORDS: Mapping[str, Words] = {
    "name": Words("--name"),
    "seeds": Words("--seeds", given=str | None, read=read_seeds),
    "add_seeds": Words("--add-seeds", given=str | None, read=read_seeds),
    "settings": Words(
        "--set",
        metavar="PATH=VALUE",
        given=list[str] | None,
        read=lambda _, words: read_settings(words),
    ),
    "time_limit_seconds": Words("--time-limit", given=str | None, read=read_duration),
    "gradient_checkpointing": Words("--gradient-checkpointing"),
    "keep_weights": Words(metavar="all|best:K|none"),
    "fresh": Words("--fresh"),
    "replace": Words("--replace"),
    "storage": Words(envvar=STORAGE_VARIABLE),
    "tracking_uri": Words(envvar=TRACKING_VARIABLE),
}
NO_WORDS = frozenset({"reports"})  # Python's alone: the command line reports beside itself
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
RUN_ALONE = frozenset({"time_limit_seconds", "gradient_checkpointing", "keep_weights", "replace"})


def launching(without: Collection[str] = ()) -> Callable[[Launching], Callable[..., None]]:
    """Give a command the options of a launch, each a parameter as typer wants them.

    Args:
        without: Names of options that the command does not have.
    """
    fields = {
        name: field
        for name, field in LaunchOptions.model_fields.items()
        if name not in {*NO_WORDS, *without}
    }

    def decorated(command: Launching) -> Callable[..., None]:
        @functools.wraps(command)
        def from_words(sweep: str, **given: Any) -> None:
            command(
                sweep, cast("LaunchArguments", {n: _read(n, word) for n, word in given.items()})
            )

        first = inspect.Parameter("sweep", _KIND, annotation=SweepArgument)
        parameters = [first, *(_parameter(name, field) for name, field in fields.items())]
        from_words.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        from_words.__annotations__ = {}
        return from_words

    return decorated


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    words = WORDS.get(name, Words())
    flags = (words.flag,) if words.flag else ()
    option = typer.Option(
        *flags, metavar=words.metavar, envvar=words.envvar, help=field.description
    )
    given = words.given or _plain(field.annotation)
    return inspect.Parameter(
        name, _KIND, default=field.default, annotation=Annotated[given, option]
    )


def _plain(annotation: Any) -> Any:
    """Return the first type of a union, without its bounds; None stays beside it."""
    kinds = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    first = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    return first | None if type(None) in kinds else first


def _read(name: str, word: Any) -> Any:
    words = WORDS.get(name, Words())
    return words.read(words.flag, word) if words.read else word
