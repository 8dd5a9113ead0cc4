"""What `capsweep parts` prints."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sweeps.cli.printing.console import console, table_of
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from capsmodel.part_descriptions import Description


def print_parts(
    parts: Sequence["Description"], profiles: Mapping[str, str], *, in_full: bool
) -> None:
    """Print parts in a line each, or in full: where they are from and what can be set.

    Args:
        parts: Which.
        profiles: Those of a whole training, and what they set.
        in_full: Whether all is told of each part.
    """
    if in_full:
        for part in parts:
            _print_in_full(part)
        return
    out = console()
    for (family, home), members in groupby(parts, key=lambda part: (part.family, part.home)):
        out.print(f"{family}: from {home} import ...")
        table = table_of("kind", "class", "what it is")
        table.show_header = False
        for part in members:
            table.add_row(f"  {part.kind}", part.class_name, plain(part.summary))
        out.print(table)
    out.print("\nA whole training at once:")
    for name, sets in profiles.items():
        out.print(f"  --set profile={name}  ({plain(sets)})", soft_wrap=True)
    out.print("\nMore of one, with its settings and profiles: capsweep parts KIND.")


def _print_in_full(part: "Description") -> None:
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
