"""A sweep across data sets: killed on each, extended, and the same table whatever happened."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Ended, Terminal
from tests.end_to_end.storage_view import num_reported_epochs, num_starts_by_key, outboxes
from tests.end_to_end.sweep_file import ROUTINGS, write_sweep

pytestmark = pytest.mark.slow

EPOCHS = 2
DIGITS = {"digits": {"data": "digits"}}
MOVED = {"moved": {"data": {"kind": "affine_digits", "rotation": 0, "shear": 0, "scaling": 0}}}
MAPPED = {"mapped": {"data": "affine_digits"}}
SAME_FOR_EVER = (
    "data_sets.md",
    "data_sets.csv",
    "data_sets-long.csv",
    "data_sets.png",
    "trials.csv",
)
INLINE = ("--engine", "inline")  # starts sooner, and gives the same to the bit
TWO = {name: ROUTINGS[name] for name in ("routing", "uniform")}


def results(terminal: Terminal) -> dict[str, bytes]:
    folder = terminal.folder / "reports" / "tables"
    return {name: (folder / name).read_bytes() for name in SAME_FOR_EVER}


def expect_complete(ended: Ended, terminal: Terminal, num_trials: int) -> None:
    assert ended.code == 0, ended.explained()
    reported = outboxes(terminal.storage)
    assert len(reported) == num_trials
    for facts in reported.values():
        assert {epoch for epoch, _ in facts.epochs} == set(range(1, EPOCHS + 1))


def test_kills_on_each_data_set_change_nothing_and_it_is_extended(
    tmp_path: Path, terminal: Terminal
) -> None:
    brake = tmp_path / "brake"
    told = {"epochs": EPOCHS, "seconds": 0.5, "brake": str(brake), "arms": TWO}
    file = write_sweep(tmp_path / "tables.py", across=DIGITS | MOVED, **told)
    brake.touch()
    for num_epochs in (1, 4 * EPOCHS + 1):  # on the first data set, and on the second
        command = terminal.start("run", str(file))
        command.wait_until(lambda least=num_epochs: num_reported_epochs(terminal.storage) >= least)
        command.kill_all()
    brake.unlink()
    expect_complete(terminal.run("run", str(file)), terminal, num_trials=8)

    undisturbed = Terminal(tmp_path / "undisturbed")
    expect_complete(undisturbed.run("run", str(file), *INLINE), undisturbed, num_trials=8)
    assert results(terminal) == results(undisturbed)
    assert terminal.run("report", "tables", "--check").code == 0

    before = num_starts_by_key(terminal.storage)
    write_sweep(
        tmp_path / "tables.py",
        across=DIGITS | MOVED | MAPPED,
        **{**told, "arms": ROUTINGS, "seeds": (0, 1, 2)},
    )
    expect_complete(terminal.run("run", str(file), *INLINE), terminal, num_trials=27)
    after = num_starts_by_key(terminal.storage)
    assert {key: after[key] for key in before} == before, "what was there is not trained again"
    lines = (terminal.folder / "reports/tables/data_sets.csv").read_text().splitlines()
    assert len(lines) == 1 + len(ROUTINGS)

    write_sweep(tmp_path / "tables.py", across=DIGITS | MAPPED | {"placed": MOVED["moved"]}, **told)
    renamed = terminal.run("run", str(file))
    assert renamed.code == 2, renamed.explained()
    assert "The data set 'moved' was launched and 'tables' has it no more" in renamed.errors
