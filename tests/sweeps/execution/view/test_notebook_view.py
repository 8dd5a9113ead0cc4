"""In a notebook a launch is one display that is updated; nowhere else is IPython asked for."""

import io
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from sweeps.execution.view import notebook_view
from sweeps.execution.view.notebook_view import board_html, notebook, show_progress
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.rendering.seen_html import Seen
from tests.sweeps.execution.view.test_board import HOSTILE, Scene, begin
from tests.waiting import PATIENCE_SECONDS


class Displays:
    """What IPython offers a notebook, as far as it is used: every bundle that is shown is kept."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.num_displays = 0
        self.is_updated = threading.Event()

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> "Displays":
        assert raw
        assert display_id
        self.num_displays += 1
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle)
        self.is_updated.set()


def play_ipython(monkeypatch: pytest.MonkeyPatch, **shell: Any) -> Displays:
    displays = Displays()
    played = SimpleNamespace(get_ipython=lambda: SimpleNamespace(**shell), display=displays)
    monkeypatch.setitem(sys.modules, "IPython", played)
    return displays


def test_in_a_notebook_one_display_is_updated_until_the_end(log, monkeypatch):
    displays = play_ipython(monkeypatch, kernel=object())
    monkeypatch.setattr(notebook_view, "UPDATE_SECONDS", 0.01)
    scene, terminal = Scene(log), io.StringIO()
    with show_progress(scene.board, "example", terminal):
        begin(scene.board, scene.keys[2])
        displays.is_updated.clear()
        assert displays.is_updated.wait(PATIENCE_SECONDS)
        scene.board.say("There is room on the disk again.")

    assert displays.num_displays == 1
    assert terminal.getvalue() == "", "nothing is told twice"
    assert "1 of 4 cells done, 1 running" in displays.shown[-1]["text/plain"]
    assert "There is room on the disk again." in displays.shown[-1]["text/html"]


@pytest.mark.parametrize("shell", [{}, {"kernel": None}])
def test_a_shell_in_a_terminal_is_no_notebook(shell, log, monkeypatch):
    displays = play_ipython(monkeypatch, **shell)
    terminal = io.StringIO()
    scene = Scene(log)
    with show_progress(scene.board, "example", terminal):
        begin(scene.board, scene.keys[2])

    assert displays.shown == []
    assert "example: 1 of 4 cells done" in terminal.getvalue()


def test_without_ipython_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook() is None
    assert "IPython" not in sys.modules


def test_names_from_a_launch_cannot_act_in_a_notebook(log):
    scene = Scene(log, (f"{HOSTILE}<script>", "other"))
    begin(scene.board, scene.keys[1])
    scene.board.progressed(scene.keys[1], 5, 0.25)
    scene.board.say("<b>said</b>")
    scene.board.ended(scene.keys[2], Outcome.FAILED, "</table><script>alert(1)</script>")
    seen = Seen(board_html(scene.board, "example"))

    progress = [name for name, _ in seen.attributes if name in {"value", "max"}]
    assert {*seen.tags} <= {
        "div",
        "strong",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "progress",
    }
    assert sorted(progress) == ["max", "value"]
    assert "\x1b" not in seen.text
    assert "5/10" in seen.text
    assert "25.00 %" in seen.text
    assert "<b>said</b>" in seen.text
    assert "seed 1: </table><script>" in seen.text
