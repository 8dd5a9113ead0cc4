"""The command `capsweep parts`: list the parts that a sweep may use."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.terminal import console, plain, table_of
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from capsmodel.part_descriptions import Description


def parts(
    kind: Annotated[str | None, typer.Argument(help="A kind or a family, shown in full.")] = None,
) -> None:
    """List the parts of trainings, or show one of them with its settings."""
    from capsmodel.config import TrainingConfig
    from capsmodel.part_descriptions import described_parts, profiles_of

    try:
        descriptions = described_parts(kind)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if kind is None:
        _print_list(descriptions, profiles_of(TrainingConfig))
    for part in descriptions if kind is not None else ():
        _print_in_full(part)


def _print_list(descriptions: "Sequence[Description]", profiles: Mapping[str, str]) -> None:
    """Print a line for each part, and the profiles of a whole training."""
    out = console()
    for (family, home), members in groupby(descriptions, key=lambda part: (part.family, part.home)):
        out.print(f"{family}: from {home} import ...")
        table = table_of("kind", "class", "what it is")
        table.show_header = False
        for part in members:
            table.add_row(f"  {part.kind}", part.class_name, plain(part.summary))
        out.print(table)
    out.print("\nA whole training at once:")
    for name, sets in profiles.items():
        out.print(f"  --set profile={name}  ({plain(sets)})", soft_wrap=True)
    out.print(
        f"\nMore of one, with its settings and profiles: {SuggestedCommand('parts', 'KIND')}."
    )


def _print_in_full(part: "Description") -> None:
    """Print where a part is from and what can be set."""
    out = console()
    out.print(f"\n{part.family} '{part.kind}': {plain(part.summary)}")
    out.print(f"from {part.home} import {part.class_name}", soft_wrap=True)
    for word, text in (("Source", part.source), ("Difference", part.difference)):
        if text:
            out.print(f"{word}: {plain(text)}")
    for name, sets in part.profiles.items():
        out.print(f"Profile '{name}': {plain(sets)}")
    if part.settings:
        table = table_of("setting", "default", "allowed", "what it is")
        for setting in part.settings:
            table.add_row(*map(plain, setting))
        out.print(table)
