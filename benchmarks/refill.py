"""How long does a launch take to give a lost database all its records back?

    python benchmarks/refill.py [300]

Fills so many cells by short trials, deletes the embedded database, and gives the same command
again. Prints a line of JSON: seconds of both launches, their exit codes, the records that the new
database holds, and what the second launch said of its progress. Run it in the repository.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Fill, delete, refill, and print what was seen."""
    sys.path.insert(0, str(ROOT))
    from tests.end_to_end.storage_view import trial_runs
    from tests.end_to_end.sweep_file import write_sweep

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cells", type=int, nargs="?", default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = tuple(range(options.cells))
        file = write_sweep(folder / "refill.py", arms={"routing": {}}, seeds=seeds, epochs=1)
        first = launch(folder, file)
        for path in (folder / "capsweep-store").glob("mlflow.db*"):
            path.unlink()
        second = launch(folder, file)
        runs = trial_runs(folder / "capsweep-store" / "mlflow.db")
        finished = [run for run in runs if run.status == "FINISHED"]
        line = {
            "cells": options.cells,
            "seconds_to_fill": first[1],
            "seconds_to_refill": second[1],
            "exit_codes": [first[0], second[0]],
            "records": len({run.place for run in finished}),
            "doubled": len(finished) - len({run.place for run in finished}),
            "progress": [text for text in second[2] if "record" in text],
        }
    print(json.dumps(line))
    return 0


def launch(folder: Path, file: Path) -> tuple[int, float, list[str]]:
    """Return a launch's exit code, its seconds, and the lines that it printed."""
    command = [str(Path(sys.executable).with_name("capsweep")), "run", str(file)]
    begun = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = round(time.monotonic() - begun, 1)
    return done.returncode, seconds, (done.stdout + done.stderr).splitlines()


if __name__ == "__main__":
    sys.exit(main())
