"""What a small sweep costs beside Ray Tune alone: the same 20 trainings, in pairs.

    python benchmarks/against_tune.py --pairs 5 [--trained-by CHECKOUT]

One is `capsweep run` of twenty seeds of quickstart's baseline, an epoch each, from an empty folder
to its report. The other is what a careful user writes by hand: Tune with a class that keeps its
process (`reuse_actors=True`), two trials at once, MLflow's own callback into a fresh SQLite file,
and the same trainings in it; no checkpoints, no predictions, no resume, no tables. It trains with
today's `capsmodel`, or with that of another checkout: what a process takes to load it and to take
its first step is most of so small a sweep. Prints seconds and processor seconds of all processes
together, looked at from outside 20 times a second.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from start_up import ROOT, watched

NUM_TRIALS = 20
_CAPSWEEP = "from sweeps.cli import main_process; main_process()"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--trained-by", type=Path, default=ROOT, help="a checkout, for Tune's side")
    parser.add_argument("--by-hand", action="store_true", help="be the other one, once, here")
    options = parser.parse_args()
    if options.by_hand:
        by_hand(Path.cwd())
        return 0
    seeds = ",".join(map(str, range(NUM_TRIALS)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "twenty.py"
        file.write_text(_SWEEP)
        arguments = ["run", str(file), "--seeds", seeds, "--gpus-per-trial", "0"]
        commands = {
            "Tune by hand": [sys.executable, str(Path(__file__).resolve()), "--by-hand"],
            "capsweep": [sys.executable, "-P", "-c", _CAPSWEEP, *arguments],
        }
        trees = {"Tune by hand": options.trained_by.resolve(), "capsweep": ROOT}
        for name in commands:  # so that no run compiles modules, or makes the user's cache
            watched(commands[name], trees[name])
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for pair in range(options.pairs):
            for name in sorted(commands, reverse=bool(pair % 2)):
                run = watched(commands[name], trees[name])
                runs[name].append((run.wall, run.processor))
                line = {"which": name, "pair": pair, "wall": run.wall, "processor": run.processor}
                print(json.dumps(line), flush=True)
    pairs = list(zip(runs["Tune by hand"], runs["capsweep"], strict=True))
    for clock, index in (("wall", 0), ("processor", 1)):
        ratios = [ours[index] / theirs[index] for theirs, ours in pairs]
        listed = ", ".join(f"{ratio:.2f}" for ratio in sorted(ratios))
        print(f"{clock}: median ratio {statistics.median(ratios):.2f} of {listed}")
    return 0


_SWEEP = '''
"""Twenty seeds of quickstart's baseline."""

from capsmodel.stopping import FixedEpochs
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SWEEP = Sweep(
    name="twenty",
    description="Twenty short trainings.",
    base=QUICKSTART.base.model_copy(update={"stopping": FixedEpochs(epochs=1)}),
    plan=ListedArms(baseline="all", arms={"all": {}}),
    seeds=(0, 1),
)
'''


def by_hand(folder: Path) -> None:
    """Train the same with Tune and MLflow's callback."""
    import os
    import secrets

    os.environ |= {"RAY_AIR_NEW_OUTPUT": "0", "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1"}
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # or Ray leaves one in the home folder
    from ray import tune
    from ray.air.integrations.mlflow import MLflowLoggerCallback

    logger = MLflowLoggerCallback(
        tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", experiment_name="twenty"
    )
    tuner = tune.Tuner(
        tune.with_resources(_trainable(), {"cpu": 1}),
        param_space={"seed": tune.grid_search(list(range(NUM_TRIALS)))},
        tune_config=tune.TuneConfig(reuse_actors=True, max_concurrent_trials=2),
        run_config=tune.RunConfig(storage_path=str(folder / "ray"), callbacks=[logger]),
    )
    results = tuner.fit()
    assert len(results) == NUM_TRIALS
    assert not results.errors


def _trainable() -> type:
    from ray import tune

    class Digits(tune.Trainable):  # pyright: ignore[reportUntypedBaseClass]
        """One epoch of quickstart's baseline."""

        def setup(self, config: dict[str, Any]) -> None:
            self.seed = config["seed"]

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            self.seed = new_config["seed"]
            return True

        def step(self) -> dict[str, Any]:
            from capsmodel import Training
            from capsmodel.stopping import FixedEpochs
            from search_spaces.quickstart import SWEEP

            config = SWEEP.base.model_copy(update={"stopping": FixedEpochs(epochs=1)})
            epoch = next(iter(Training(config, self.seed)))
            return {"validation_error": epoch.validation_error, "done": True}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            del checkpoint_dir

        def load_checkpoint(self, checkpoint: Any) -> None:
            del checkpoint

    return Digits


if __name__ == "__main__":
    sys.exit(main())
