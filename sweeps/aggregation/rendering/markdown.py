"""Tables as GitHub-flavoured Markdown."""

import re
from collections.abc import Iterable

from sweeps.aggregation.rendering.table import Cell, Table, shown
from sweeps.records.plain_text import one_line

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SPECIAL = re.compile(r"[\\`*\[\]|$#~&<>]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)")
_BLOCK_START = re.compile(r"^(\d*)(?=[-+=.)])")


def to_markdown(table: Table) -> str:
    """Return the table with its title above and its notes below, all but the main ones folded."""
    table = shown(table)
    head = [f"# {escape_markdown(table.title)}"]
    if table.warning:
        head.insert(0, _paragraph(table.warning))
    if table.lead:
        head.append(_paragraph(table.lead))
    if table.description:
        head.append(_paragraph(table.description))
    lines = [
        _line([escape_markdown(column.title) for column in table.columns]),
        _line(["---:" if column.align == "right" else ":---" for column in table.columns]),
        *(_line([_cell(cell) for cell in row]) for row in table.rows),
    ]
    parts = [*head, "\n".join(lines), _list(table.main_notes)]
    if table.more_notes:
        summary = f"<details>\n<summary>{table.more_notes_title}</summary>"
        parts += [summary, _list(table.more_notes), "</details>"]
    return "\n\n".join(parts).rstrip() + "\n"


def _list(notes: Iterable[str]) -> str:
    return "\n".join(f"- {_paragraph(note)}" for note in notes)


def escape_markdown(text: str) -> str:
    """Return one line of Markdown that shows the text as it is: no markup, HTML or math."""
    return _SPECIAL.sub(lambda match: _escaped(match[0]), one_line(text))


def _paragraph(text: str) -> str:
    """Return the text escaped, so that none of its lines begins a list or a heading."""
    return _BLOCK_START.sub(r"\1\\", escape_markdown(text))


def _escaped(character: str) -> str:
    if character == ":":  # before //: no bare address becomes a link
        return "&#58;"
    return _ENTITIES.get(character, f"\\{character}")


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    return f"**{text}**" if cell.is_bold and text else text


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
