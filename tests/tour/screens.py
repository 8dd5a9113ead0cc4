"""What is typed in the tour, over kept stores, and what is seen, without what differs each time."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN, FINISHED_SEARCH
from tests.pages import ROOT, commands, page, snippets
from tests.tour.terminal import Screen, Terminal

WIDTHS = (80, 120)
_README = (ROOT / "README.md").read_text(encoding="utf-8")
_FOLDER = Path(__file__).parent / "screens"
_SEARCH = f"--storage search/{STORAGE}"
# The pages speak of quickstart and of its trials; the kept stores hold sweeps that are as good.
_SAME = {
    "plan quickstart": f"plan {' '.join(FINISHED_DESIGN.words)}",
    "run quickstart": f"run {' '.join(FINISHED_DESIGN.words)}",
    "plan capsule_search": f"plan search/{' '.join(FINISHED_SEARCH.words)} {_SEARCH}",
    "plan shares.py": "plan shares.py --max-concurrent 1 --gpus-per-trial 0",
    "capsule_search": f"small_search {_SEARCH}",
    "quickstart": "small_design",
    "59f300": "a03f56",
    "2edc54": "45dc56",
}
_READING = {"list", "plan", "status", "best", "show", "logs", "diff", "report", "clean", "repair"}
# A launch that trains: two trials of an epoch. Its digits depend on the machine.
TRAINING = "capsweep run shares.py --epochs 1 --seeds 0 --max-concurrent 1 --gpus-per-trial 0"
_ONLY_WHERE_SLOW = r"^shares: recording: \d+ of \d+\n"  # told of a recorder that takes seconds
_REFUSED = ("capsweep best smal_design", "capsweep show 123456", "capsweep run nothing.py")


def _dots(key: re.Match[str]) -> str:
    return "." * len(key[0])


_MASKS = {
    r" on cpu: .*, where trials here are on .*(?=\.$)": "",
    r"/tmp/capsweep-tour-\w{8}": "/tmp/capsweep-tour-........",
    r"\b(?=\w*[a-f])(?=\w*\d)[0-9a-f]{6,32}\b": _dots,
    r" *(just now|\d+ \w+ ago)$": "    ... ago",
    r" *\d+(\.\d+)? [KMGT]iB": "   ... MiB",
}


def saved(width: int) -> str:
    """Return what was seen when the screens were last kept."""
    return _file(width).read_text(encoding="utf-8")


def keep(width: int) -> None:
    """Take the tour, and keep what is seen."""
    _file(width).write_text("\n".join(tour(width)), encoding="utf-8")


def tour(width: int) -> Iterator[str]:
    """Take the tour in a terminal, and yield each command with its screen."""
    with tempfile.TemporaryDirectory(prefix="capsweep-tour-", dir="/tmp") as name:
        folder = Path(name)
        FINISHED_DESIGN.unpacked(folder)
        (folder / "search").mkdir()
        FINISHED_SEARCH.unpacked(folder / "search")
        (folder / "shares.py").write_text(snippets(page("tour"))[0], encoding="utf-8")
        with Terminal(folder, width) as terminal:
            for line in lines(width):
                yield shown(terminal.type(line), width)


def lines(width: int) -> list[str]:
    """Return what is typed: all that the pages only read with, and what is refused.

    A sweep is trained at the smaller width alone, where more can go wrong.
    """
    text = _README + page("tour")
    typed = [_over_kept_stores(" ".join(command)) for command in commands(text) if _reads(command)]
    training = [TRAINING] if width == min(WIDTHS) else []
    return [*dict.fromkeys(typed), *_REFUSED, *training]


def shown(screen: Screen, width: int) -> str:
    """Return a screen as it is kept: cut where the terminal wraps."""
    text = screen.text
    for pattern, mask in _MASKS.items():
        text = re.sub(pattern, mask, text, flags=re.MULTILINE)
    if screen.line == TRAINING:
        text = re.sub(_ONLY_WHERE_SLOW, "", text, flags=re.MULTILINE)
        text = re.sub(r"\d+ (s|min)(?= elapsed)", "# s", text)
        text = re.sub(r"\d", "#", text)
    rows = [
        line[at : at + width]
        for line in text.splitlines()
        for at in range(0, len(line) or 1, width)
    ]
    code = [f"(exit code {screen.code})"] if screen.code else []
    return "\n".join([f"$ {screen.line}", *(row.rstrip() for row in rows), *code, ""])


def _reads(command: list[str]) -> bool:
    program, *rest = command
    if {"--pictures", "--json"} & {*rest}:
        return False  # one draws, the other is for programs
    reported = [word for word in rest if not word.startswith("-")]
    return (
        program == "cp" or rest == ["run", "quickstart"] or not reported or reported[0] in _READING
    )


def _over_kept_stores(line: str) -> str:
    for of_page, of_store in _SAME.items():
        line = re.sub(rf"{of_page}\b", of_store, line)
    return line


def _file(width: int) -> Path:
    return _FOLDER / f"{width}.txt"
