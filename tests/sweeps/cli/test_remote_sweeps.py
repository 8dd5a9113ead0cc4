"""What a submitted sweep prints, as it is shown where it was submitted."""

import io

from rich.console import Console
from rich.live import Live

from sweeps.cli.remote_sweeps import exit_code_of, shown_by
from sweeps.remote.messages import Frame, JobState, Text


def test_a_terminal_shows_the_live_view_in_place_and_other_lines_above_it() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        show = shown_by(live, "mine")
        show(Text(text="2026-11-26 16:25:46,361\tINFO job_manager.py:581 -- Runtime env.\n"))
        show(Text(text="Running entrypoint for job mine-1: exec capsweep\nmine: 6 ce"))
        show(Text(text="lls.\nmine: 0 of 6 cells done, 2 running, 0:10 elapsed\n"))
        show(Frame(text="mine: 1 of 6 cells done\x1b]0;title\x07\n"))
        live.refresh()
        shown = out.getvalue()
        show(Text(text="mine: 6 trained now, 6 of 6 cells filled.\n"))
    printed = out.getvalue()
    assert "mine: 1 of 6 cells done" in shown
    assert "\x1b]0;" not in printed
    assert "mine: 6 cells." in printed
    assert "mine: 6 trained now" in printed
    for left_out in ("0:10 elapsed", "job_manager", "entrypoint"):
        assert left_out not in printed


def test_the_end_of_a_job_is_the_exit_code_of_its_launch() -> None:
    assert exit_code_of(JobState(status="SUCCEEDED", exit_code=0)) == 0
    assert exit_code_of(JobState(status="FAILED", exit_code=3)) == 3
    assert exit_code_of(JobState(status="STOPPED")) == 130
    assert exit_code_of(JobState(status="FAILED", message="no memory")) == 3
