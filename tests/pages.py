"""README and the pages in docs, taken apart: their snippets, commands and links."""

import re
import shlex
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """Return the text of a page of docs."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def snippets(text: str, language: str = "python") -> list[str]:
    """Return the blocks of a language, as they stand."""
    return [block for result, block in _BLOCK.findall(text) if result == language]


def commands(text: str) -> list[list[str]]:
    """Return the words of what is typed into a shell, without what waits for Ctrl-C."""
    lines = "\n".join(snippets(text, "console")).replace("\\\n", " ").splitlines()
    typed = [shlex.split(line, comments=True) for line in lines]
    return [line for line in typed if line[:1] in (["capsweep"], ["cp"]) and "ui" not in line]


def links(text: str) -> list[str]:
    """Return what a page links to and shows, but for addresses."""
    prose = _BLOCK.sub("", text)
    return [to for to in re.findall(r"\]\(([^)\s]+)\)", prose) if not to.startswith("http")]


def anchors(text: str) -> set[str]:
    """Return what a link may name behind a page's #, as GitHub makes it of headings."""
    headings = re.findall(r"^#+ (.*)$", _BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def expect_known(command: Any, line: str) -> None:
    """Check that a command exists and has the options that a line gives it.

    Args:
        command: The program: click's group, or typer's, which is a class of its own.
        line: What follows the program's name.
    """
    arguments = line.partition(" -- ")[0].split()
    for word in arguments:
        if not hasattr(command, "commands"):
            break
        assert word in command.commands, f"{line}: there is no {word}"
        command = command.commands[word]
    known = {name for parameter in command.params for name in parameter.opts}
    options = {word.partition("=")[0] for word in arguments if word.startswith("--")}
    assert options <= known, f"{line}: unknown {sorted(options - known)}"
