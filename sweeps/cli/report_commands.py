"""Commands that make a report of what was recorded, and hold a paper against it."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from sweeps.cli.options import (
    CheckOption,
    CompareOption,
    LaunchedNameOption,
    Place,
    ReportedArgument,
    StorageOption,
    StyleOption,
    TrackingOption,
    placed,
)
from sweeps.records.errors import BadInput

if TYPE_CHECKING:
    from sweeps.aggregation.paper.style import Style


@placed
def report(
    sweep: ReportedArgument,
    name: LaunchedNameOption = None,
    check: CheckOption = False,
    compare: CompareOption = None,
    style: StyleOption = None,
    *,
    place: Place,
) -> None:
    """Rebuild a sweep's tables, figures and page from its manifest and records alone."""
    from sweeps.cli.arguments import read_reported

    if check and compare is not None:
        raise BadInput("--check writes nothing and --compare writes a table: give one of them.")
    declared, tables = read_reported(sweep)
    launched = name or declared
    if compare is not None:
        _compare(launched, compare, place)
    elif check:
        from sweeps.aggregation.report.files import check_report
        from sweeps.cli.printing.console import print_checked

        checked = check_report(launched, *place, tables=tables, style=cast("Style | None", style))
        print_checked(checked)
        raise typer.Exit(checked.exit_code)
    else:
        from sweeps.aggregation.report import report as make
        from sweeps.cli.printing.console import print_report

        chosen = cast("Style | None", style)  # which the report refuses if there is none such
        print_report(make(launched, *place, tables=tables, style=chosen))


def _compare(launched: str, other: str, place: Place) -> None:
    from sweeps.aggregation.comparison.side_by_side import compare_sweeps
    from sweeps.cli.printing.console import print_compared

    print_compared(compare_sweeps(launched, other, *place))


def verify(
    papers: Annotated[list[str], typer.Argument(metavar="PAPER...", help="A paper's .tex files.")],
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Derive a paper's numbers anew from the records; exit with 1 if any is stale or missing."""
    from sweeps.aggregation.verification.verify import verify as verify_papers
    from sweeps.cli.printing.console import console
    from sweeps.cli.terminal import plain

    verified = verify_papers(papers, tracking_uri, storage)
    for line in verified.lines:
        console().print(plain(line), soft_wrap=True)
    raise typer.Exit(verified.exit_code)
