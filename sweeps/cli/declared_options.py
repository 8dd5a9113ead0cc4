"""Options that are declared for Python and the command line in one place, as typer wants them."""

import functools
import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from sweeps.cli.arguments import read_duration, read_gpus, read_seeds, read_settings
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE, name_of
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import BadInput


@dataclass(frozen=True)
class Words:
    """How the command line writes an option, where this differs from its declaration.

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
    "gpus_per_trial": Words(
        "--gpus-per-trial", metavar="NUMBER|auto", given=str | None, read=read_gpus
    ),
    "engine": Words(metavar="ray|inline", given=str),
    "keep_weights": Words(metavar="all|best:K|none"),
    "warm_start": Words(
        metavar="SWEEP", read=lambda _, word: name_of(word), complete=launched_sweeps
    ),
    "evaluations_only": Words("--evaluations-only"),
    "retrain": Words("--retrain"),
    "replace": Words("--replace"),
    "reports": Words(metavar="FOLDER", given=str),
    "storage": Words(envvar=STORAGE_VARIABLE),
    "tracking_uri": Words(envvar=TRACKING_VARIABLE),
}
ONLY_RUN = frozenset(
    {
        "time_limit_seconds",
        "budget_epochs",
        "evaluations_only",
        "gradient_checkpointing",
        "keep_weights",
        "replace",
        "reports",
    }
)


def launch_fields(without: Collection[str] = ()) -> dict[str, FieldInfo]:
    """Return the options of a launch, name -> declaration.

    Args:
        without: Names of options that the command does not have.
    """
    return {n: field for n, field in LaunchOptions.model_fields.items() if n not in without}


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that give options of a launch: the inverse of reading."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value == LaunchOptions.model_fields[name].default:
            continue
        flag = _flag(name)
        if name == "settings":
            words += [f"{flag}={path}={json.dumps(setting)}" for path, setting in value.items()]
        elif isinstance(value, tuple):
            words.append(f"{flag}={','.join(map(str, value))}")
        elif name == "time_limit_seconds":
            words.append(f"{flag}={value:.0f}s")
        else:
            words.append(flag if value is True else f"{flag}={value}")
    return words


def _flag(name: str) -> str:
    return WORDS.get(name, Words()).flag or f"--{name.replace('_', '-')}"


def _named_as_typed(error: BadInput, options: Collection[str]) -> BadInput:
    """Return an error that names an option as the command line does, and not as Python."""
    name, _, rest = str(error).partition(" ")
    is_of_python = type(error) is BadInput and name in options and "_" in name
    return BadInput(f"{_flag(name)} {rest}") if is_of_python else error


def with_options(
    fields: Mapping[str, FieldInfo],
    words: Mapping[str, Words] = WORDS,
    *,
    reads_environment: bool = True,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command declared options in place of its parameter `options`, a mapping.

    Args:
        fields: Name -> declaration.
        words: How the command line writes them.
        reads_environment: Whether variables of the environment may give options.
    """
    if not reads_environment:
        words = {name: replace(each, envvar=None) for name, each in words.items()}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def from_words(**given: Any) -> None:
            options = {
                name: _read(words.get(name, Words()), given.pop(name))
                for name in fields
                if name in given
            }
            try:
                command(options=options, **given)
            except BadInput as error:
                raise _named_as_typed(error, options) from error

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += [_parameter(n, f, words.get(n, Words())) for n, f in fields.items()]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        from_words.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        from_words.__annotations__ = {each.name: each.annotation for each in parameters}
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
    annotation = Annotated[words.given or _plain(field.annotation), option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation
    )


def _plain(annotation: Any) -> Any:
    """Return the first type of a union, without its bounds; None stays in it."""
    kinds = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    first = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    return first | None if type(None) in kinds else first


def _read(words: Words, word: Any) -> Any:
    return words.read(words.flag, word) if words.read else word
