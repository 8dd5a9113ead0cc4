"""What completes a word of the command line: names and trial keys, read from folders alone.

A shell asks at every press of Tab: no tracking store is opened, nothing that trains is imported,
and nothing is said of what cannot be read.
"""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from textwrap import shorten

import typer

from sweeps.storage.locations import Storage, resolve_storage

VARIABLE = "_CAPSWEEP_COMPLETE"
_END = ".jsonl"
_WIDEST = 70  # what is said of a word: typer breaks longer lines, and a shell takes each for a word


@contextmanager
def silent_completion() -> Generator[None]:
    """Say nothing of errors while a shell is answered: they would stand in the user's line.

    Whatever it is, the command says it once it is given.
    """
    if VARIABLE not in os.environ:
        yield
        return
    with Path(os.devnull).open("w") as nothing, redirect_stderr(nothing), suppress(Exception):
        yield
    raise SystemExit(1)


def known_sweeps(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the sweeps for `plan` and `run`: shipped ones with their questions, and files."""
    from search_spaces.catalogue import named_sweeps

    del ctx
    shipped = [(entry.name, shorten(entry.summary, _WIDEST)) for entry in named_sweeps()]
    return _beginning_with(incomplete, [*shipped, *_files()])


def launched_sweeps(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the sweeps that were launched into the storage folder."""
    names = _names_in(_storage(ctx).journals)
    names = sorted(name.removesuffix(_END) for name in names if name.endswith(_END))
    launched = [(name, "launched here") for name in names]
    return _beginning_with(incomplete, [*launched, *(_files() if incomplete else ())])


def _files() -> list[tuple[str, str]]:
    return [(path.name, "a file here") for path in sorted(Path().glob("*.py"))]


def trial_keys(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the keys of the trials that lie in the storage folder."""
    names = sorted(_names_in(_storage(ctx).cells))
    return _beginning_with(incomplete, [(name, "a trial here") for name in names])


def sweeps_and_trials(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the launched sweeps, then the trial keys."""
    return [*launched_sweeps(ctx, incomplete), *trial_keys(ctx, incomplete)]


def _storage(ctx: typer.Context) -> Storage:
    return resolve_storage(ctx.params.get("storage"))


def _names_in(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)  # noqa: PTH208 - a folder of cells is large
    return []


def _beginning_with(
    incomplete: str, completions: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    return [word for word in completions if word[0].startswith(incomplete)]
