"""The tour in a terminal looks as it did; python -m tests.tour.write keeps it as it looks today."""

import re
import shutil
from pathlib import Path

import pytest

from tests.pages import ROOT
from tests.tour.screens import TRAINING, WIDTHS, lines, saved, shown, tour
from tests.tour.terminal import Screen

widths = pytest.mark.parametrize("width", WIDTHS)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux to look with")
@pytest.mark.parametrize(
    "width",
    [
        min(WIDTHS),
        *(pytest.param(width, marks=pytest.mark.nightly) for width in sorted(WIDTHS)[1:]),
    ],
)
def test_each_command_of_the_tour_shows_what_it_showed(width: int) -> None:
    for seen, then in zip(tour(width), _screens(saved(width)), strict=True):
        assert seen == then


@widths
def test_the_screens_that_are_kept_are_those_of_todays_tour(width: int) -> None:
    assert re.findall(r"^\$ (.*)$", saved(width), re.MULTILINE) == lines(width)


@widths
def test_no_screen_that_is_kept_is_wider_than_its_terminal_or_a_traceback(width: int) -> None:
    for screen in _screens(saved(width)):
        _, *rows = screen.splitlines()
        assert max(map(len, rows), default=0) <= width
        assert "Traceback" not in screen


def test_times_keys_sizes_and_places_are_masked_and_what_is_read_is_not() -> None:
    reported = "3 of 8   25.3 MiB    3 days ago\nkey ed5cdf8e in /tmp/capsweep-tour-a1b2c3d4/x"
    assert shown(Screen("capsweep status", reported, 3), 80) == (
        "$ capsweep status\n3 of 8   ... MiB    ... ago\n"
        "key ........ in /tmp/capsweep-tour-......../x\n(exit code 3)\n"
    )


def test_what_a_slow_machine_tells_besides_is_left_out() -> None:
    reported = "shares: 2 cells.\nshares: recording: 1 of 2\nAblation shares"
    assert (
        shown(Screen(TRAINING, reported, 0), 80)
        == f"$ {TRAINING}\nshares: # cells.\nAblation shares\n"
    )


def test_what_wraps_is_kept_as_it_wrapped() -> None:
    assert shown(Screen("x", "abcdef\n\ng", 0), 4) == "$ x\nabcd\nef\n\ng\n"


def test_what_people_stumbled_over_has_existing_tests() -> None:
    reported = Path(__file__).with_name("stumbles.md").read_text(encoding="utf-8")
    stored = re.findall(r"`([\w/]+\.py)::(\w+)`", reported)
    assert len(stored) > 20
    for file, test in stored:
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {test}(" in text, f"{file} has no {test}"


def _screens(text: str) -> list[str]:
    """Return each command with its screen."""
    return [screen for screen in re.split(r"(?<=\n)\n(?=\$ )", text) if screen]
