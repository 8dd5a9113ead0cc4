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
    given = parser.parse_args()
    for number in range(given.blocks):
        with tempfile.TemporaryDirectory() as folder:
            line = json.dumps(block(Path(folder), given.seconds, is_first_away=number % 2 == 0))
        print(line, flush=True)
        if given.figures:
            with given.figures.open("a") as file:
                file.write(line + "\n")
    return 0


def block(folder: Path, seconds: float, *, is_first_away: bool) -> dict[str, Any]:
    """Return what two launches at once did, one of them without its server for a while."""
    num_trials = round((seconds + 30) * SLOTS / (EPOCHS + 0.3))
    with ExitStack() as running:
        arms = [Arm(folder / name, num_trials, running) for name in ("first", "second")]
        away, there = arms if is_first_away else reversed(arms)
        while min(arm.num_epochs() for arm in arms) < SLOTS * EPOCHS:
            time.sleep(0.2)
        begun = [arm.num_epochs() for arm in (away, there)]
        away.server.kill()
        time.sleep(seconds)
        ended = [arm.num_epochs() for arm in (away, there)]
        assert all(arm.driver.poll() is None for arm in arms), "the design was too short"
        away.server.start()
        while sum(arm.note_end() for arm in arms) < len(arms):
            time.sleep(0.1)
    told = [after - before for before, after in zip(begun, ended, strict=True)]
    return {
        "trials": num_trials,
        "away_seconds": seconds,
        "epochs_while_away": told[0],
        "epochs_of_the_other": told[1],
        "ratio_of_epochs": round(told[0] / told[1], 4),
        "seconds_of_all_trials": round(away.trained_seconds, 1),
        "seconds_of_the_other": round(there.trained_seconds, 1),
        "ratio_of_throughput": round(there.trained_seconds / away.trained_seconds, 4),
        "seconds_to_record_the_rest": round(away.ended_seconds - away.trained_seconds, 1),
        "exit_codes": [arm.driver.returncode for arm in (away, there)],
        "recorded": [arm.num_recorded() for arm in (away, there)],
    }


class Arm:
    """One launch with a server of its own.

    Attributes:
        trained_seconds: From its first epoch to its last final record.
        ended_seconds: From its first epoch to its end.
    """

    def __init__(self, folder: Path, num_trials: int, running: ExitStack) -> None:
        from tests.end_to_end.command import clean_environment
        from tests.end_to_end.sweep_file import write_sweep
        from tests.end_to_end.tracking_server import TrackingServer

        folder.mkdir()
        self._storage = folder / "capsweep-store"
        self._num_trials = num_trials
        self.server = TrackingServer(folder / "server")
        self.server.start()
        running.callback(self.server.kill)
        seeds = tuple(range(num_trials))
        file = write_sweep(
            folder / "away.py", arms={"routing": {}}, seeds=seeds, epochs=EPOCHS, seconds=1.0
        )
        script = str(Path(sys.executable).with_name("capsweep"))
        words = ["--tracking-uri", self.server.address, "--max-concurrent", str(SLOTS)]
        log = running.enter_context((folder / "log").open("w"))
        self.driver = subprocess.Popen(
            [script, "run", str(file), *words],
            cwd=folder,
            env=clean_environment(),
            stdout=log,
            stderr=log,
        )
        running.callback(self.driver.kill)
        self._begun = 0.0
        self.trained_seconds = self.ended_seconds = 0.0

    def num_epochs(self) -> int:
        """Return how many epochs were told; notes when the first was."""
        from tests.end_to_end.storage_view import num_epochs_told

        told = num_epochs_told(self._storage)
        self._begun = self._begun or (time.monotonic() if told else 0.0)
        return told

    def note_end(self) -> bool:
        """Return whether the launch has ended; notes when it did, and when all was trained."""
        seconds = time.monotonic() - self._begun
        done = sum(1 for _ in self._storage.glob("cells/*/final.json"))
        if not self.trained_seconds and done == self._num_trials:
            self.trained_seconds = seconds
        if not self.ended_seconds and self.driver.poll() is not None:
            self.ended_seconds = seconds
        return bool(self.ended_seconds)

    def num_recorded(self) -> int:
        """Return how many different trials the server holds as finished."""
        from tests.end_to_end.storage_view import trial_runs

        runs = trial_runs(self.server.database, self.server.artifacts)
        finished = [run for run in runs if run.status == "FINISHED"]
        assert len({run.place for run in finished}) == len(finished), "a trial was recorded twice"
        return len(finished)


if __name__ == "__main__":
    sys.exit(main())
