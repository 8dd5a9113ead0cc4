"""The options of a launch as the command line has them, made of their one declaration."""

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from sweeps.cli.arguments import read_duration, read_seeds, read_settings
from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE, SweepArgument
from sweeps.cli.program.completion import launched_sweeps
from sweeps.execution.launch_options import LaunchOptions

Launching = Callable[..., None]


@dataclass(frozen=True)
class Words:
    """How the command line writes an option, where it is not as its declaration has it.

    Attributes:
        flag: "" for its name with dashes.
        given: The type of what is given; None for that of the declaration.
        read: Turns flag and what is given into the option's value.
        complete: Gives the words that can stand there.
    """

    flag: str = ""
    metavar: str | None = None
    envvar: str | None = None
    given: Any = None
    read: Callable[[str, Any], Any] | None = None
    complete: Callable[..., Any] | None = None


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
    "warm_start": Words(metavar="SWEEP", complete=launched_sweeps),
    "retrain": Words("--retrain"),
    "replace": Words("--replace"),
    "storage": Words(envvar=STORAGE_VARIABLE),
    "tracking_uri": Words(envvar=TRACKING_VARIABLE),
}
NO_WORDS = frozenset({"reports"})  # Python's alone: the command line reports beside itself
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
RUN_ALONE = frozenset(
    {"time_limit_seconds", "budget_epochs", "gradient_checkpointing", "keep_weights", "replace"}
)


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
    return optioned(fields, {"sweep": SweepArgument})


def optioned(
    fields: Mapping[str, FieldInfo],
    arguments: Mapping[str, Any],
    words: Mapping[str, Words] = WORDS,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that are declared elsewhere, as one mapping behind its arguments.

    Those that the command has of its own, behind that mapping, stand after them.

    Args:
        fields: Name -> declaration.
        arguments: What stands before the options, name -> annotation.
        words: How the command line writes the options.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = [*inspect.signature(command).parameters.values()][len(arguments) + 1 :]

        @functools.wraps(command)
        def from_words(*first: Any, **given: Any) -> None:
            first += tuple(given.pop(name) for name in [*arguments][len(first) :])
            of_command = {each.name: given.pop(each.name) for each in own if each.name in given}
            options = {name: _read(words.get(name, Words()), word) for name, word in given.items()}
            command(*first, options, **of_command)

        parameters = [
            *(inspect.Parameter(n, _KIND, annotation=kind) for n, kind in arguments.items()),
            *(_parameter(n, field, words.get(n, Words())) for n, field in fields.items()),
            *own,
        ]
        from_words.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        from_words.__annotations__ = {}
        return from_words

    return decorated


def _parameter(name: str, field: FieldInfo, words: Words) -> inspect.Parameter:
    flags = (words.flag,) if words.flag else ()
    option = typer.Option(
        *flags,
        metavar=words.metavar,
        envvar=words.envvar,
        help=field.description,
        autocompletion=words.complete,
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


def _read(words: Words, word: Any) -> Any:
    return words.read(words.flag, word) if words.read else word
