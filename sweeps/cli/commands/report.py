"""`capsweep report`."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sweeps.cli.completion import launched_sweeps
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console, plain, print_place, print_tables, say
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.aggregation.comparison.side_by_side import ComparedSweeps
    from sweeps.aggregation.paper.style import Style
    from sweeps.aggregation.report import CheckedReport, Report


REPORTS = "reports"

_Launched = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP",
        help="Name of a launched sweep, or its file (needed for custom tables).",
        autocompletion=launched_sweeps,
    ),
]
_Name = Annotated[
    str | None,
    typer.Option("--name", help="Name of the file's launch, if it is another one."),
]
_Check = Annotated[
    bool,
    typer.Option(
        "--check", help="Write nothing; exit with 1 if files no longer match the records."
    ),
]
_Compare = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="OTHER",
        callback=launched_name,
        autocompletion=launched_sweeps,
        help="Compare with another launched sweep, arm by arm, instead of a report.",
    ),
]
_Reports = Annotated[
    str, typer.Option(metavar="FOLDER", help="Folder in which the report gets its own folder.")
]
_Into = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Write tables, figures and numbers for LaTeX into a paper's folder, and no report.",
    ),
]
_Style = Annotated[
    str | None,
    typer.Option("--style", help="'paper' adds the arms as a paper prints them: mean (sd), n."),
]


def report(
    sweep: _Launched,
    *,
    name: _Name = None,
    check: _Check = False,
    compare: _Compare = None,
    style: _Style = None,
    reports: _Reports = REPORTS,
    into: _Into = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rebuild a sweep's tables, figures and page from its manifest and records alone."""
    if check and compare is not None:
        raise BadInput("--check writes nothing and --compare writes a table: give one of them.")
    if into is not None and (check or compare is not None):
        raise BadInput(
            "--into writes the files of a paper: give it without --check, as capsweep verify "
            "checks a paper, and without --compare."
        )
    launched, tables = _name_and_tables(sweep, name)
    from sweeps.cli.remote_sweeps import place_of_records

    chosen = cast("Style | None", style)  # the report checks it
    with place_of_records(launched, storage, tracking_uri) as place:
        if compare is not None:
            from sweeps.aggregation.comparison.side_by_side import compare_sweeps

            _print_compared(compare_sweeps(launched, compare, *place, reports=reports))
        elif check:
            from sweeps.aggregation.report.files import check_report

            checked = check_report(launched, *place, reports=reports, tables=tables, style=chosen)
            _print_checked(checked, reports)
            raise typer.Exit(checked.exit_code)
        else:
            from sweeps.aggregation.report import report as make

            made = make(launched, *place, reports=reports, into=into, tables=tables, style=chosen)
            _print_made(made, into)


def _print_made(made: "Report", into: str | None) -> None:
    """Print the tables, and where the files are."""
    print_tables(made)
    console().print()
    if into is None:
        print_place(made)
        return
    from sweeps.aggregation.paper.macros import PREAMBLE

    say(f"Written into {into}: {', '.join(path.name for path in made.paths)}.")
    names = [path.stem for path in made.paths if path.name.startswith("capsweep-")]
    say(f"In the paper: {PREAMBLE} \\input{{{names[0]}}}")


def _name_and_tables(text: str, name: str | None) -> tuple[str, tuple[type[Any], ...]]:
    """Return a launched sweep's name and the classes of its own tables, which only a file gives.

    The file is run only if it names tables of its own, or a module of its folder does.
    """
    from search_spaces.sweep_source import is_file_name, name_of_sweep

    if not is_file_name(text):
        return name or text, ()
    path = Path(text)
    try:
        if not _names_own_tables(path):
            return name or name_of_sweep(path), ()
        from search_spaces.sweep_file import sweep_from_file

        sweep, _ = sweep_from_file(path)
    except ValueError as error:
        raise BadInput(str(error)) from error
    return name or sweep.name, sweep.custom_tables


def _names_own_tables(path: Path) -> bool:
    """Return whether a sweep's file, or a module of its folder that it imports, names tables."""
    from search_spaces.neighbours import neighbours_in, sendable_text
    from search_spaces.sweep_source import names_used, read_source, syntax_tree

    texts = [read_source(path)]
    with suppress(ValueError):  # what cannot be launched any more can still be reported
        texts += neighbours_in(sendable_text(path)).files.values()
    return any("CustomTable" in names_used(syntax_tree(text, path)) for text in texts)


def _print_compared(compared: "ComparedSweeps") -> None:
    """Print two sweeps side by side, and the files that hold all."""
    from sweeps.aggregation.rendering.renderers import for_terminal

    for part in for_terminal([compared.table]):
        console().print(part)
    console().print("\nFiles:")
    for path in compared.paths:
        console().print(f"  {plain(str(path))}", soft_wrap=True)


def _print_checked(checked: "CheckedReport", reports: str) -> None:
    """Print which files of a report no longer follow from the records."""
    for state, names in (("stale", checked.stale), ("missing", checked.missing)):
        for name in names:
            say(f"{state}: {checked.folder / name}")
    for sentence in checked.left_out:
        console().print(plain(sentence))
    if checked.exit_code:
        wrong = len(checked.stale) + len(checked.missing)
        folder = () if reports == REPORTS else ("--reports", reports)
        say(
            f"{wrong} of {checked.num_files} files do not follow from the records: make them "
            f"again: {SuggestedCommand('report', checked.sweep, *folder)}."
        )
    else:
        say(f"All {checked.num_files} files of the report follow from the records.")
    if checked.others:
        names = ", ".join(checked.others[:10]) + " ..." * (len(checked.others) > 10)
        say(f"Not looked at, as the report has no such files: {names}.")
