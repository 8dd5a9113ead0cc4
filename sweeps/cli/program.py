"""The commands with their help on one screen; each is loaded when it is called."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import files, version
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sweeps.cli.hints import places_given, suggested
from sweeps.cli.verbosity import QuietOption, VerboseOption, verbosity
from sweeps.records.suggested_command import commands_written_by

_WIDEST = 100
_USAGE = "Usage: capsweep [-q|-v] COMMAND [--help]; also --version, --install-completion\n"
_VERBOSITY = ("quiet", "verbose")


class Command(NamedTuple):
    """A command.

    Attributes:
        group: The part of the help in which it stands.
        name: Name of its function, and of the module in `sweeps.cli.commands` with that function.
        summary: Its line of the program's help; `capsweep COMMAND --help` says more.
    """

    group: str
    name: str
    summary: str

    @property
    def function(self) -> Callable[..., None] | Mapping[str, Callable[..., None]]:
        """What it calls; of a command that takes another word, what each word calls."""
        return getattr(import_module(f"sweeps.cli.commands.{self.name}"), self.name)


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "list": Command("Ask", "list_sweeps", "List the sweeps that come with capsweep."),
        "parts": Command("Ask", "parts", "List the parts of trainings, and their settings."),
        "new": Command("Ask", "new", "Write a commented sweep file of your own."),
        "grid": Command("Ask", "grid", "Write a sweep file that varies settings of a base."),
        "ablate": Command("Ask", "ablate", "Write a sweep file from a base to a search's winner."),
        "confirm": Command("Ask", "confirm", "Write a sweep file of a winner on fresh seeds."),
        "plan": Command("Run", "plan", "Show what run would do, and how long it would take."),
        "check": Command("Run", "check", "Try all of a sweep on a few images, in seconds."),
        "run": Command("Run", "run", "Train the empty cells, rebuild the tables."),
        "stop": Command("Run", "stop", "End a running launch."),
        "limit": Command("Run", "limit", "Change how many trials a running launch trains at once."),
        "submit": Command("Run", "submit", "Run a sweep on a cluster, and leave it there."),
        "cluster": Command("Run", "cluster", "Start, check or end a cluster: your machines, AWS."),
        "status": Command("Look", "status", "List the launched sweeps, or show one's progress."),
        "best": Command("Look", "best", "Rank a sweep's arms by validation error."),
        "show": Command("Look", "show", "Show a trial: its config, its curve, its pictures."),
        "predict": Command("Look", "predict", "Say what a trained network takes pictures for."),
        "logs": Command("Look", "logs", "Print the log of a trial or a sweep; -f follows it."),
        "diff": Command("Look", "diff", "Compare two trials, or two sweeps."),
        "ui": Command("Look", "ui", "Browse the records in MLflow's own UI."),
        "report": Command("Publish", "report", "Rebuild a sweep's tables, figures and page."),
        "verify": Command("Publish", "verify", "Check a paper's numbers against the records."),
        "repair": Command("Keep", "repair", "Rebuild what was lost or damaged."),
        "delete": Command("Keep", "delete", "Delete a sweep; without --yes, show what would go."),
        "clean": Command("Keep", "clean", "Delete unneeded files; without --yes, show which."),
    }
)


def command_line() -> TyperGroup:
    """Return the command line with all of its commands, in the order of its help."""
    program = typer.Typer(
        cls=_Program,
        help="Sweeps over capsule networks that lose nothing, tables rebuilt from records.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback()(_options_of_all)
    group = typer.main.get_command(program)
    assert isinstance(group, TyperGroup)
    return group


class _Program(TyperGroup):
    """All commands. The help has one line for each: the name of its group, then the command."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        options = [param for param in self.params if param.name in _VERBOSITY]
        self.commands = _Commands(options)  # pyright: ignore[reportAttributeAccessIssue]

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # pyright: ignore
        """Write usage and commands, which is all that a screen of 25 lines takes."""
        formatter.write(_USAGE)
        for line in _help_lines():
            formatter.write(f"{line}\n")


def _help_lines() -> list[str]:
    """Return one line per command; the first of each group begins with the group's name."""
    first = max(len(command.group) for command in COMMANDS.values()) + 2
    second = max(map(len, COMMANDS)) + 2
    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST) - first - second
    return [
        f"{'' if place else group:{first}}{name:{second}}"
        f"{shorten(command.summary, max(width, 20), placeholder='...')}"
        for group, members in groupby(COMMANDS.items(), key=lambda item: item[1].group)
        for place, (name, command) in enumerate(members)
    ]


class _Commands(Mapping[str, TyperCommand | TyperGroup]):
    """Name -> command, whose module is imported when it is looked up."""

    def __init__(self, options: list[Any]) -> None:
        self._options = options

    def __getitem__(self, name: str) -> TyperCommand | TyperGroup:
        return _loaded(name, tuple(self._options))

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _loaded(name: str, options: tuple[Any, ...]) -> TyperCommand | TyperGroup:
    program = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    described = COMMANDS[name]
    if isinstance(functions := described.function, Mapping):
        program.callback(help=described.summary)(lambda: None)
        for word, function in functions.items():
            program.command(word, cls=_Command)(function)
    else:
        program.command(name, cls=_Command, short_help=described.summary)(functions)
    command = typer.main.get_command(program)
    assert isinstance(command, TyperCommand | TyperGroup)
    for each in command.commands.values() if isinstance(command, TyperGroup) else (command,):
        each.params += options
    return command


class _Command(TyperCommand):
    """A command that takes `-q` and `-v` behind its name, as the program does before it."""

    def invoke(self, ctx: typer.Context) -> Any:  # pyright: ignore
        """Run the command as verbosely as was asked, before the command or behind it."""
        before = ctx.find_root().params
        asked = {name: ctx.params.pop(name) or before.get(name, False) for name in _VERBOSITY}
        write = partial(suggested, places=places_given(ctx))
        with (
            verbosity(is_quiet=asked["quiet"], is_verbose=asked["verbose"]),
            commands_written_by(write),
        ):
            return super().invoke(ctx)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"capsweep {version('capsweep')}")
        typer.echo(f"Its pages, docs/*.md: {_docs()}")
        raise typer.Exit


_VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the release."),
]


def _options_of_all(
    quiet: QuietOption = False, verbose: VerboseOption = False, version: _VersionOption = False
) -> None:
    """Declare the options that may stand before a command. The command reads them itself."""


def _docs() -> Path:
    """Return the folder of the pages: the one that was installed, else the checkout's."""
    installed = [file for file in files("capsweep") or () if file.match("docs/tour.md")]
    tour = installed[0].locate() if installed else Path(__file__).parents[2] / "docs" / "tour.md"
    return Path(str(tour)).resolve().parent
