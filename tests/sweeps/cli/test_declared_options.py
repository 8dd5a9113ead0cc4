"""The command line's options of a launch are those of its one declaration."""

import inspect
from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from sweeps.cli.commands.plan import plan
from sweeps.cli.commands.run import run
from sweeps.cli.declared_options import (
    ONLY_RUN,
    SYNTAX,
    launch_arguments,
    launch_fields,
    with_options,
)
from sweeps.cli.options import StorageOption, TrackingOption
from sweeps.execution.launch_options import LaunchOptions

FIELDS = LaunchOptions.model_fields


def parameters(command: Any) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(command).parameters)


def test_the_commands_have_every_option_that_is_declared_in_its_order() -> None:
    assert list(parameters(run)) == [
        "sweep",
        *FIELDS,
        "as_json",
    ]
    of_plan = [name for name in FIELDS if name not in ONLY_RUN]
    assert list(parameters(plan)) == ["sweep", *of_plan, "effect", "power", "as_json"]


def test_declared_options_alone_have_a_syntax() -> None:
    assert {*SYNTAX, *ONLY_RUN} <= set(FIELDS)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_an_option_has_the_help_and_the_default_of_its_declaration(name: str) -> None:
    parameter = parameters(run)[name]
    (option,) = parameter.annotation.__metadata__
    assert option.help == FIELDS[name].description
    assert parameter.default == FIELDS[name].default


@pytest.mark.parametrize(
    ("name", "annotation"), [("storage", StorageOption), ("tracking_uri", TrackingOption)]
)
def test_commands_that_do_not_launch_say_the_same_of_places(name: str, annotation: Any) -> None:
    (option,) = annotation.__metadata__
    assert option.help == FIELDS[name].description


@pytest.mark.parametrize(
    ("name", "annotation"),
    [
        ("epochs", int | None),
        ("cpus_per_trial", int),
        ("gpus_per_trial", str | None),
        ("retrain", bool),
        ("storage", str | None),
        ("seeds", str | None),
    ],
)
def test_an_option_is_given_as_its_declaration_or_its_syntax_says(
    name: str, annotation: Any
) -> None:
    assert get_args(parameters(run)[name].annotation)[0] == annotation


def test_arguments_are_read_before_the_command_has_them() -> None:
    received: list[Any] = []

    @with_options(launch_fields())
    def command(sweep: str, options: dict[str, Any]) -> None:
        received.extend([sweep, options])

    command(sweep="x", seeds="0-2", settings=["a.b=1"], time_limit_seconds="2m", epochs=3)
    expected = {"seeds": (0, 1, 2), "settings": {"a.b": 1}, "time_limit_seconds": 120.0}
    assert received == ["x", expected | {"epochs": 3}]


def test_options_are_written_as_arguments_that_read_as_the_same_options() -> None:
    received: list[Any] = []

    @with_options(launch_fields(), reads_environment=False)
    def command(options: dict[str, Any]) -> None:
        received.append(options)

    launch_options = {
        "name": "it's",
        "seeds": (0, 1, 5),
        "settings": {"batch_size": 64, "model.routing": "em", "loss.margin": [0.1, None]},
        "time_limit_seconds": 5400.0,
        "gpus_per_trial": 0.25,
        "gradient_checkpointing": True,
        "epochs": 3,
        "tags": ("for the talk", "-x"),
        "note": "It's slow.\nWhy?",
        "notify": "sh -c 'cat | mail -s \"it ended\" me'",
    }
    program = typer.Typer()
    program.command()(command)
    CliRunner().invoke(program, launch_arguments(launch_options), catch_exceptions=False)
    CliRunner().invoke(program, launch_arguments({"tags": ()}), catch_exceptions=False)
    options, without_tags = received
    assert without_tags["tags"] == ()
    assert {
        name: value for name, value in options.items() if name in launch_options
    } == launch_options
    assert launch_arguments({name: field.default for name, field in FIELDS.items()}) == []
