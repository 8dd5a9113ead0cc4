"""Does a tracking server that is away slow a sweep, and does anything get lost?

    python benchmarks/server_away.py [--blocks 6] [--seconds 180] [--figures FILE]

In each block the same design runs twice at the same time, each with a Ray and an MLflow server of
its own: one server is killed when the first trials run and started again after some minutes, the
other is left alone. Trials sleep, so the two do not take each other's processors. Compared are the
epochs told while the server is away, and the time that all trials took. Afterwards both launches
have to end with exit code 0 and each server has to hold every trial, once. Prints a line of JSON
for each block. Run it in the repository.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EPOCHS = 4
SLOTS = 2


def main() -> int:
    """Run the blocks and print their figures."""
    sys.path.insert(0, str(ROOT))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=180.0, help="that the server is away")
    parser.add_argument("--figures", type=Path, help="gets the lines too")
    options = parser.parse_args()
    for number in range(options.blocks):
        with tempfile.TemporaryDirectory() as folder:
            line = json.dumps(block(Path(folder), options.seconds, is_first_away=number % 2 == 0))
        print(line, flush=True)
        if options.figures:
            with options.figures.open("a") as file:
                file.write(line + "\n")
    return 0


def block(folder: Path, seconds: float, *, is_first_away: bool) -> dict[str, Any]:
    """Measure two simultaneous launches, one of them without its server for a while."""
    num_trials = round((seconds + 60) * SLOTS / (EPOCHS + 0.2))
    with ExitStack() as running:
        arms = [Arm(folder / name, num_trials, running) for name in ("first", "second")]
        for arm in arms:
            arm.launch(running)
        away, other = arms if is_first_away else reversed(arms)
        while min(len(arm.epochs()) for arm in arms) < SLOTS * EPOCHS:
            time.sleep(0.2)
        begun = time.time()
        away.server.kill()
        time.sleep(seconds)
        assert max(arm.num_filled() for arm in arms) < num_trials, "the design was too short"
        away.server.start()
        for arm in arms:
            arm.driver.wait()
    num_epochs = [
        sum(begun < moment < begun + seconds for moment in arm.epochs()) for arm in (away, other)
    ]
    return {
        "trials": num_trials,
        "away_seconds": seconds,
        "epochs_while_away": num_epochs[0],
        "epochs_of_the_other": num_epochs[1],
        "ratio_of_epochs": round(num_epochs[0] / num_epochs[1], 4),
        "seconds_of_all_trials": round(away.seconds(), 1),
        "seconds_of_the_other": round(other.seconds(), 1),
        "ratio_of_throughput": round(other.seconds() / away.seconds(), 4),
        "exit_codes": [arm.driver.returncode for arm in (away, other)],
        "recorded": [arm.num_recorded() for arm in (away, other)],
        "last_words": [arm.last_lines() for arm in (away, other) if arm.driver.returncode],
    }


class Arm:
    """One launch with a server of its own. Times are what its trials have written down.

    Attributes:
        driver: Once it is launched.
    """

    def __init__(self, folder: Path, num_trials: int, running: ExitStack) -> None:
        from tests.end_to_end.sweep_file import write_sweep
        from tests.end_to_end.tracking_server import TrackingServer

        folder.mkdir()
        self._folder = folder
        self._cells = folder / "capsweep-store" / "cells"
        self.server = TrackingServer(folder / "server")
        self.server.start()
        running.callback(self.server.kill)
        seeds = tuple(range(num_trials))
        self._file = write_sweep(
            folder / "away.py", arms={"routing": {}}, seeds=seeds, epochs=EPOCHS, seconds=1.0
        )

    def launch(self, running: ExitStack) -> None:
        """Launch the design; it is killed at the end if it still runs."""
        from tests.end_to_end.command import clean_environment

        script = str(Path(sys.executable).with_name("capsweep"))
        options = ["--tracking-uri", self.server.address, "--max-concurrent", str(SLOTS)]
        log = running.enter_context((self._folder / "log").open("w"))
        self.driver = subprocess.Popen(
            [script, "run", str(self._file), *options],
            cwd=self._folder,
            env=clean_environment(),
            stdout=log,
            stderr=log,
        )
        running.callback(self.driver.kill)

    def epochs(self) -> list[float]:
        """Return when each epoch was reported."""
        return self._moments("epoch")

    def num_filled(self) -> int:
        """Return how many trials have ended."""
        return sum(1 for _ in self._cells.glob("*/final.json"))

    def seconds(self) -> float:
        """Return the duration of all trials, from the start of the first to the end of the last."""
        ends = [path.stat().st_mtime for path in self._cells.glob("*/final.json")]
        return max(ends) - min(self._moments("start"))

    def num_recorded(self) -> int:
        """Return how many different trials the server holds as finished."""
        from tests.end_to_end.storage_view import trial_runs

        runs = trial_runs(self.server.database, self.server.artifacts)
        finished = [run for run in runs if run.status == "FINISHED"]
        assert len({run.place for run in finished}) == len(finished), "a trial was recorded twice"
        return len(finished)

    def last_lines(self) -> list[str]:
        """Return the ends of what the launch and its recorder have said."""
        logs = [self._folder / "log", *(self._cells.parent / "logs").glob("recorder-*.log")]
        return [log.read_text(errors="replace")[-1000:] for log in logs]

    def _moments(self, kind: str) -> list[float]:
        """Return the seconds since 1970 of all lines of a kind."""
        lines = (
            line
            for outbox in self._cells.glob("*/outbox.jsonl")
            for line in outbox.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        )
        events = map(json.loads, lines)
        return [line["time"] / 1000 for line in events if line["type"] == kind]


if __name__ == "__main__":
    sys.exit(main())
