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

from sweeps.cli.arguments import (
    read_duration,
    read_gpus,
    read_seeds,
    read_settings,
    read_tags,
)
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.options import STORAGE_VARIABLE, TRACKING_VARIABLE, name_of
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import BadInput


@dataclass(frozen=True)
class OptionSyntax:
    """How the command line writes an option, where this differs from its declaration.

    Attributes:
        flag: "" for its name with dashes.
        annotation: Type of the argument; None for that of the declaration.
        read: Turns flag and argument into the option's value.
        complete: Returns the values that complete the argument.
    """

    flag: str = ""
    metavar: str | None = None
    envvar: str | None = None
    annotation: Any = None
    read: Callable[[str, Any], Any] | None = None
    complete: Callable[..., Any] | None = None


SYNTAX: Mapping[str, OptionSyntax] = {
    "name": OptionSyntax("--name"),
    "seeds": OptionSyntax("--seeds", annotation=str | None, read=read_seeds),
    "add_seeds": OptionSyntax("--add-seeds", annotation=str | None, read=read_seeds),
    "settings": OptionSyntax(
        "--set",
        metavar="PATH=VALUE",
        annotation=list[str] | None,
        read=lambda _, texts: read_settings(texts),
    ),
    "tags": OptionSyntax(
        "--tag", metavar="TEXT", annotation=list[str] | None, read=lambda _, tags: read_tags(tags)
    ),
    "note": OptionSyntax(metavar="TEXT", annotation=str | None),
    "time_limit_seconds": OptionSyntax("--time-limit", annotation=str | None, read=read_duration),
    "gradient_checkpointing": OptionSyntax("--gradient-checkpointing"),
    "gpus_per_trial": OptionSyntax(
        "--gpus-per-trial", metavar="NUMBER|auto", annotation=str | None, read=read_gpus
    ),
    "engine": OptionSyntax(metavar="ray|inline", annotation=str),
    "keep_weights": OptionSyntax(metavar="all|best:K|none"),
    "keep_state": OptionSyntax("--keep-state/--no-keep-state"),
    "warm_start": OptionSyntax(
        metavar="SWEEP", read=lambda _, name: name_of(name), complete=launched_sweeps
    ),
    "only": OptionSyntax(
        "--only",
        metavar="DATA_SET",
        annotation=list[str] | None,
        read=lambda _, names: tuple(names) if names else None,
    ),
    "evaluations_only": OptionSyntax("--evaluations-only"),
    "retrain": OptionSyntax("--retrain"),
    "replace": OptionSyntax("--replace"),
    "reports": OptionSyntax(metavar="FOLDER", annotation=str),
    "notify": OptionSyntax(metavar="COMMAND"),
    "storage": OptionSyntax(envvar=STORAGE_VARIABLE),
    "tracking_uri": OptionSyntax(envvar=TRACKING_VARIABLE),
}
ONLY_RUN = frozenset(
    {
        "time_limit_seconds",
        "budget_epochs",
        "evaluations_only",
        "gradient_checkpointing",
        "keep_weights",
        "notify",
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


def launch_arguments(options: Mapping[str, Any]) -> list[str]:
    """Return the command-line arguments that give options of a launch: the inverse of reading."""
    arguments: list[str] = []
    for name, value in options.items():
        if value is None or value == LaunchOptions.model_fields[name].default:
            continue
        flag = _flag(name)
        if name == "settings":
            arguments += [f"{flag}={path}={json.dumps(setting)}" for path, setting in value.items()]
        elif name == "only":
            arguments += [f"{flag}={data_set}" for data_set in value]
        elif name == "tags":
            arguments += [f"{flag}={tag}" for tag in value or ("",)]
        elif isinstance(value, tuple):
            arguments.append(f"{flag}={','.join(map(str, value))}")
        elif name == "time_limit_seconds":
            arguments.append(f"{flag}={value:.0f}s")
        else:
            is_switch = isinstance(value, bool)
            arguments.append(_switch(flag, on=value) if is_switch else f"{flag}={value}")
    return arguments


def _switch(flag: str, *, on: bool) -> str:
    """Return how a switch is set, one that is declared as "--a/--no-a" or as "--a"."""
    return flag.split("/")[0 if on else -1]


def _flag(name: str) -> str:
    return SYNTAX.get(name, OptionSyntax()).flag or f"--{name.replace('_', '-')}"


def _named_as_typed(error: BadInput, options: Collection[str]) -> BadInput:
    """Return an error that names an option as the command line does, and not as Python."""
    name, _, rest = str(error).partition(" ")
    is_of_python = type(error) is BadInput and name in options and _flag(name) != f"--{name}"
    return BadInput(f"{_flag(name)} {rest}") if is_of_python else error


def with_options(
    fields: Mapping[str, FieldInfo],
    syntax: Mapping[str, OptionSyntax] = SYNTAX,
    *,
    reads_environment: bool = True,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command declared options in place of its parameter `options`, a mapping.

    Args:
        fields: Name -> declaration.
        syntax: How the command line writes them.
        reads_environment: Whether variables of the environment may give options.
    """
    if not reads_environment:
        syntax = {name: replace(each, envvar=None) for name, each in syntax.items()}

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def from_command_line(**arguments: Any) -> None:
            options = {
                name: _read(syntax.get(name, OptionSyntax()), arguments.pop(name))
                for name in fields
                if name in arguments
            }
            try:
                command(options=options, **arguments)
            except BadInput as error:
                raise _named_as_typed(error, options) from error

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += [
                    _parameter(n, f, syntax.get(n, OptionSyntax())) for n, f in fields.items()
                ]
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        from_command_line.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        from_command_line.__annotations__ = {each.name: each.annotation for each in parameters}
        return from_command_line

    return decorated


def _parameter(name: str, field: FieldInfo, syntax: OptionSyntax) -> inspect.Parameter:
    flags = (syntax.flag,) if syntax.flag else ()
    option = typer.Option(
        *flags,
        metavar=syntax.metavar,
        envvar=syntax.envvar,
        help=field.description,
        autocompletion=syntax.complete,
    )
    annotation = Annotated[syntax.annotation or _plain(field.annotation), option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation
    )


def _plain(annotation: Any) -> Any:
    """Return the first type of a union, without its bounds; None stays in it."""
    kinds = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    first = get_args(kinds[0])[0] if get_origin(kinds[0]) is Annotated else kinds[0]
    return first | None if type(None) in kinds else first


def _read(syntax: OptionSyntax, argument: Any) -> Any:
    return syntax.read(syntax.flag, argument) if syntax.read else argument
