"""Which release of capsweep this is."""

from importlib.metadata import version
from typing import Annotated

import typer


def _tell(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"capsweep {version('capsweep')}")
        raise typer.Exit


VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_tell, is_eager=True, help="Say which release this is."),
]
