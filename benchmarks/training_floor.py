"""What no first sweep can fall below: quickstart's trainings alone, beside whole sweeps, in turns.

    git worktree add --detach /tmp/old b20bac8
    python benchmarks/training_floor.py --against /tmp/old --rounds 5

The floor is two processes that share the 25 trainings as they come, one thread each: torch and
settings are imported, networks trained and tested. Nothing is started between them, written,
recorded, drawn or resumed. Beside it `capsweep run quickstart` of this state of the package and of
the other, each in a new folder. Prints a line of JSON a round, then Markdown.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from start_up import ROOT, measured

NUM_PROCESSES = 2
_TRAINER = """
import sys
from capsmodel.overrides import with_settings
from capsmodel.training.training import Training
from search_spaces.quickstart import SWEEP
from sweeps.execution.worker.worker_process import keep_freed_memory

keep_freed_memory()
print(flush=True)
for line in sys.stdin:
    arm, seed = line.rstrip().rsplit(" ", 1)
    training = Training(with_settings(SWEEP.base, SWEEP.plan.arms[arm]), int(seed))
    for epoch in training:
        pass
    training.test()
    print(flush=True)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, required=True, help="a checkout")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sweeps = {"before": options.against.resolve(), "now": ROOT}
    for tree in sweeps.values():  # so that no run compiles modules, or makes the user's cache
        measured(tree, ["quickstart"])
    rounds: list[dict[str, float]] = []
    for _ in range(options.rounds):
        took = {name: measured(tree, ["quickstart"]).wall for name, tree in sweeps.items()}
        rounds.append({**took, "trainings alone": trainings_alone()})
        latest = {name: round(seconds, 2) for name, seconds in rounds[-1].items()}
        print(json.dumps(latest), flush=True)
    print("\n".join(_table(rounds)))
    return 0


def trainings_alone() -> float:
    """Return the seconds in which two processes train all of quickstart's cells."""
    from search_spaces import ListedArms
    from search_spaces.quickstart import SWEEP

    assert isinstance(SWEEP.plan, ListedArms)
    cells = [f"{arm} {seed}\n" for arm in SWEEP.plan.arms for seed in SWEEP.seeds]
    environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    started = time.monotonic()
    trainers = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", _TRAINER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for _ in range(NUM_PROCESSES)
    ]
    _hand_out(cells, trainers)
    return time.monotonic() - started


def _hand_out(cells: list[str], trainers: list["subprocess.Popen[str]"]) -> None:
    """Give each trainer the next cell as soon as it has said that it is free, then end it."""
    from concurrent.futures import ThreadPoolExecutor

    waiting = iter(cells)

    def serve(trainer: "subprocess.Popen[str]") -> None:
        assert trainer.stdin is not None
        assert trainer.stdout is not None
        while trainer.stdout.readline() and (cell := next(waiting, None)):
            trainer.stdin.write(cell)
            trainer.stdin.flush()
        trainer.stdin.close()
        if trainer.wait():
            raise SystemExit("a training failed")

    with ThreadPoolExecutor() as threads:
        list(threads.map(serve, trainers))


def _table(rounds: list[dict[str, float]]) -> Iterator[str]:
    yield "| median of seconds | | of the sweep before: median | lowest | highest |"
    yield "|:---|---:|---:|---:|---:|"
    for name in rounds[0]:
        ratios = [each[name] / each["before"] for each in rounds]
        seconds = statistics.median(each[name] for each in rounds)
        figures = (seconds, statistics.median(ratios), min(ratios), max(ratios))
        yield f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"


if __name__ == "__main__":
    sys.exit(main())
