"""`capsweep verify`."""

from typing import Annotated

import typer

from sweeps.cli.options import StorageOption, TrackingOption
from sweeps.cli.terminal import say


def verify(
    papers: Annotated[list[str], typer.Argument(metavar="PAPER...", help="A paper's .tex files.")],
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Recompute a paper's numbers from the records; exit with 1 if any is stale or missing."""
    from sweeps.aggregation.verification.verify import verify as verify_papers

    verified = verify_papers(papers, tracking_uri, storage)
    for line in verified.lines:
        say(line)
    raise typer.Exit(verified.exit_code)
