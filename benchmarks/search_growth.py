"""What a growing search costs: bytes written, memory and processor seconds by proposals.

The search is real but for its trials, which are a line of arithmetic each: log and cells' folders
are written as a launch writes them, and nothing else. Run it in the repository as
`python benchmarks/search_growth.py random 500`, each size in a process of its own.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EPOCHS = 10


def main() -> int:
    """Run one simulated search and print what it took, as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sampler", choices=("random", "tpe"))
    parser.add_argument("proposals", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(options.sampler, options.proposals, Path(folder))))
    return 0


def measured(sampler: str, num_proposals: int, folder: Path) -> dict[str, Any]:
    """Measure a search of this number of proposals."""
    optuna_seconds = timed_optuna()
    launch = launch_of(sampler, num_proposals, folder)
    written, started = bytes_written(), time.process_time()
    launch.run()
    return {
        "sampler": sampler,
        "proposals": num_proposals,
        "processor_seconds": round(time.process_time() - started, 2),
        "optuna_seconds": round(optuna_seconds[0], 2),
        "written_megabytes": round((bytes_written() - written) / 1e6, 1),
        "peak_memory_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def bytes_written() -> int:
    """Return how many bytes this process has written so far."""
    lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


def timed_optuna() -> list[float]:
    """Time Optuna's ask, add and tell, and return the list that will hold the sum."""
    import optuna

    total, depth = [0.0], [0]

    def timed(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            depth[0] += 1
            started = time.process_time()
            try:
                return method(*values, **named)
            finally:
                depth[0] -= 1
                total[0] += (time.process_time() - started) * (depth[0] == 0)

        return call

    for owner, names in (
        (optuna.study.Study, ("ask", "tell", "add_trials")),
        (optuna.trial.Trial, ("suggest_int", "suggest_float", "suggest_categorical", "report")),
    ):
        for name in names:
            setattr(owner, name, timed(getattr(owner, name)))
    return total


def launch_of(sampler: str, num_proposals: int, folder: Path) -> Any:
    """Return the launch of a search whose trials are a line of arithmetic."""
    sys.path.insert(0, str(Path.cwd()))
    from capsmodel.stopping import FixedEpochs
    from search_spaces import Asha
    from sweeps.execution.plan.definition import Changes, define
    from sweeps.records.sweep_log import Decided
    from tests.capsmodel.small_config import small_config
    from tests.sweeps.execution.search import simulated
    from tests.sweeps.execution.search.examples import search, sweep

    plan = search(sampler=sampler, trials=num_proposals, scheduler=Asha(grace=0.3))
    base = small_config(stopping=FixedEpochs(epochs=EPOCHS))
    definition = define(sweep(base=base, plan=plan), Changes(), ())

    def score(spec: Any, epoch: int) -> float:
        return abs(spec.config["optimiser"]["learning_rate"] - 3e-3) * 50 + 1 / (epoch + 1)

    class Launch(simulated.Launch):
        """Leaves the log to the recorder, as a real launch does."""

        def grown(self, entry: Decided) -> None:
            epochs = {cell.arm: self.growing.epochs[cell.arm] for cell in entry.cells}
            self.board.add(simulated.surveyed(entry.cells, {}, {}), epochs)

    return Launch(simulated.World(folder), definition, score)


if __name__ == "__main__":
    raise SystemExit(main())
