r"""What capsule networks learn in minutes of one thread: dynamic and EM routing, two data sets.

    OMP_NUM_THREADS=1 python benchmarks/learning.py \
        > benchmarks/reports/<date>_learning_<machine>.md
    OMP_NUM_THREADS=1 python benchmarks/learning.py viewpoints "EM, paper, 2 iterations"

Settings and numbers of epochs were chosen by the validation errors that `TRIED` lists; the test
split is looked at once, after the last epoch. Two trainings run at a time, in processes of their
own.
"""

import math
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch
from scipy import stats

from capsmodel import EpochMetrics, Training, TrainingConfig
from capsmodel.augmentation import Patches
from capsmodel.data import Viewpoints
from capsmodel.losses import SpreadLoss
from capsmodel.models import MatrixCapsNet
from capsmodel.optimisers import Adam, CosineRate
from capsmodel.overrides import with_settings
from capsmodel.routing import EMRouting
from capsmodel.routing.inverse_temperature import RisingInverseTemperature
from capsmodel.stopping import FixedEpochs
from search_spaces import quickstart
from sweeps.execution.worker.provenance import git_revision, hardware, package_versions

SEED = 0
PROCESSES = 2
VIEWPOINTS = TrainingConfig(
    data=Viewpoints(fraction=0.3),
    augmentation=Patches(),
    model=MatrixCapsNet(
        conv_channels=64,
        conv_kernel=9,
        conv_stride=3,
        batch_norm=True,
        primary_types=8,
        first_types=16,
        second_types=0,
        routing=EMRouting(iterations=2, inverse_temperature=RisingInverseTemperature(final=0.1)),
    ),
    loss=SpreadLoss(),
    optimiser=Adam(learning_rate=1e-2, schedule=CosineRate()),
    stopping=FixedEpochs(epochs=12),
    batch_size=32,
)
DYNAMIC = quickstart.SMALL_CAPSNET
EM = TrainingConfig(
    model=MatrixCapsNet(
        conv_channels=32,
        conv_kernel=3,
        conv_stride=1,
        primary_types=8,
        first_types=16,
        second_types=0,
    ),
    loss=SpreadLoss(),
    optimiser=Adam(learning_rate=1e-2, schedule=CosineRate()),
    stopping=FixedEpochs(epochs=15),
    batch_size=32,
)
EM_VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, sharper": {"model.routing.inverse_temperature.final": 0.1},
    "normalised": {"model.profile": "normalised"},
    "official": {"model.profile": "official"},
}
TRIED = (
    "| viewpoints, 10 % of the images | batch norm | learning rate | epochs | validation error % |",
    "| :--- | :--- | ---: | ---: | ---: |",
    "| 3 iterations, scaled by children | no | 0.003 | 4 | 52.1 |",
    "| 3 iterations, scaled by children | yes | 0.003 | 4 | 46.9 |",
    "| 3 iterations, scaled by children | yes | 0.01 | 3 | 46.9 |",
    "| 3 iterations, profile normalised | no | 0.003 | 4 | 50.5 |",
    "| 3 iterations, profile official | no | 0.01 | 3 | 60.7 |",
    "| 3 iterations, inverse temperature to 0.1 | no | 0.003 | 4 | 46.2 |",
    "| 3 iterations, inverse temperature to 0.1 | yes | 0.01 | 3 | 49.5 |",
    "| 2 iterations, scaled by children | yes | 0.01 | 3 | 35.7 |",
    "| 2 iterations | yes | 0.01 | 3 | 35.7 |",
    "| 2 iterations, inverse temperature to 0.1 | yes | 0.01 | 3 | 32.5 |",
    "| the same, but two layers of 8 types and stride 2 | yes | 0.01 | 3 | 38.0 |",
    "| 3 iterations, scaled, two layers of 8 types, kernel 5 | yes | 0.003 | 4 | 78.0 |",
    "| uniform routing | yes | 0.01 | 3 | 77.0 |",
    "| uniform routing | yes | 0.003 | 3 | 64.6 |",
    "| uniform routing, margin loss | yes | 0.01 | 3 | 49.2 |",
    "",
    "| digits, EM, 8 epochs | learning rate | validation error % |",
    "| :--- | ---: | ---: |",
    "| normalised | 0.003 | 7.8 |",
    "| normalised | 0.01 | 4.4 |",
    "| normalised, batch norm | 0.003 | 12.8 |",
    "| normalised, inverse temperature to 0.1 | 0.003 | 46.1 |",
    "| official | 0.003 | 11.7 |",
    "| official | 0.01 | 4.4 |",
    "| paper | 0.01 | 11.7 |",
    "| paper, inverse temperature to 0.1 | 0.003 | 12.2 |",
    "| paper, inverse temperature to 0.1 | 0.01 | 7.2 |",
    "| paper, 2 iterations | 0.003 | 4.4 |",
)


class Case(NamedTuple):
    """A training to be made.

    Attributes:
        data: What it learns from, for the report.
        base: What its settings are made of.
        changes: What is changed of them.
        has_curve: Whether the report has its epochs.
    """

    data: str
    base: TrainingConfig
    changes: dict[str, Any]
    has_curve: bool = False

    @property
    def config(self) -> TrainingConfig:
        return with_settings(self.base, self.changes)


class Result(NamedTuple):
    """What a training came to.

    Attributes:
        parameters: The number of trained values.
        train_images: So many images it learnt from.
        history: Its epochs.
        right: So many test images are classified rightly.
        tested: Of so many.
        seconds: Of the processor, for all of it, loading and test included.
        warnings: What was unsound.
    """

    parameters: int
    train_images: int
    history: tuple[EpochMetrics, ...]
    right: int
    tested: int
    seconds: float
    warnings: tuple[str, ...]

    @property
    def is_finite(self) -> bool:
        """Whether all figures of every epoch are finite."""
        epochs = [
            (epoch.train_loss, epoch.validation_loss, *epoch.health.values())
            for epoch in self.history
        ]
        return all(math.isfinite(number) for numbers in epochs for number in numbers)


def em_cases() -> dict[str, Case]:
    return {
        f"EM, {variant}, {iterations} iteration{'s' * (iterations > 1)}": Case(
            "digits",
            EM,
            changes | {"model.routing.iterations": iterations},
            has_curve=iterations == 3,
        )
        for variant, changes in EM_VARIANTS.items()
        for iterations in (3, 2, 1)
        if iterations == 3 or variant != "paper, sharper"
    }


CASES = {
    "viewpoints": Case("viewpoints", VIEWPOINTS, {}, has_curve=True),
    "viewpoints, uniform": Case("viewpoints", VIEWPOINTS, {"model.routing": "uniform"}),
    "viewpoints, uniform, margin loss": Case(
        "viewpoints", VIEWPOINTS, {"model.routing": "uniform", "loss": "margin"}
    ),
    **em_cases(),
    "dynamic": Case("digits", DYNAMIC, {}, has_curve=True),
    "leaky": Case("digits", DYNAMIC, {"model.routing": "leaky"}),
    "uniform": Case("digits", DYNAMIC, {"model.routing": "uniform"}),
    "random": Case("digits", DYNAMIC, {"model.routing": "random"}),
    "dynamic, official": Case("digits", DYNAMIC, {"model.profile": "official"}),
}


def main() -> None:
    names = sys.argv[1:] or list(CASES)
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        results = dict(zip(names, pool.map(trained, names), strict=True))
    print("\n".join([*head(), *table(results), *curves(results), *settings(results)]))
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")


def trained(name: str) -> Result:
    torch.set_num_threads(1)
    start = time.process_time()
    training = Training(CASES[name].config, SEED)
    for metrics in training:
        error, spent = 100 * metrics.validation_error, time.process_time() - start
        print(name, metrics.epoch, f"{error:.2f} % {spent:.0f} s", file=sys.stderr, flush=True)
    test = training.test()
    seconds = time.process_time() - start
    result = Result(
        training.num_parameters,
        len(training.config.data.load("cpu").train),
        training.history,
        int((test.predictions == test.labels).sum()),
        len(test.labels),
        seconds,
        training.warnings(),
    )
    print(name, result._replace(history=()), file=sys.stderr, flush=True)
    return result


def head() -> list[str]:
    return [
        "# What capsule networks learn in minutes",
        "",
        f"- machine: {os.cpu_count()} cores, {hardware('cpu')}, {platform.system()}, no GPU; one "
        "thread a training; shared with other work, so that only processor time is told",
        f"- {', '.join(f'{name} {version}' for name, version in package_versions().items())}",
        f"- commit {git_revision(Path(__file__).parent)}",
        f"- seed {SEED}; processor seconds with loading, validation and test; the interval is "
        "Wilson's of 95 %; the test split was looked at once, after the last epoch",
        "- guessing is right in 20 % of viewpoints and 10 % of digits",
        "",
    ]


def table(results: dict[str, Result]) -> list[str]:
    return [
        "| training | data | images | epochs | parameters | validation error % "
        "| test accuracy % (95 %) | processor s | all finite |",
        "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | ---: | :--- |",
        *(row(name, result) for name, result in results.items()),
        *(
            f"\n{name}: {' '.join(result.warnings)}"
            for name, result in results.items()
            if result.warnings
        ),
        "",
        "## Tried before",
        "",
        "Judged by the validation error alone, seed 1, once each; else as below.",
        "",
        *TRIED,
    ]


def row(name: str, result: Result) -> str:
    interval = stats.binomtest(result.right, result.tested).proportion_ci(method="wilson")
    return (
        f"| {name} | {CASES[name].data} | {result.train_images:,} | {len(result.history)} "
        f"| {result.parameters:,} | {100 * result.history[-1].validation_error:.2f} "
        f"| {100 * result.right / result.tested:.2f} ({100 * interval.low:.2f} to "
        f"{100 * interval.high:.2f}) | {result.seconds:.0f} "
        f"| {'yes' if result.is_finite else 'no'} |"
    )


def curves(results: dict[str, Result]) -> list[str]:
    return [
        line
        for name, result in results.items()
        if CASES[name].has_curve
        for line in ("", f"## {name}", "", *curve(result.history))
    ]


def curve(history: Sequence[EpochMetrics]) -> list[str]:
    entropies = [name for name in history[0].health if name.startswith("routing_entropy.")]
    names = ["gradient_norm", "gradient_norm_max", *entropies, "low_beliefs", "high_beliefs"]
    titles = ["epoch", "training loss", "validation loss", "validation error %", *names]
    return [
        f"| {' | '.join(title.replace('_', ' ') for title in titles)} |",
        f"|{' ---: |' * len(titles)}",
        *(
            f"| {epoch.epoch} | {epoch.train_loss:.4f} | {epoch.validation_loss:.4f} "
            f"| {100 * epoch.validation_error:.2f} "
            f"| {' | '.join(f'{epoch.health[name]:.3f}' for name in names)} |"
            for epoch in history
        ),
    ]


def settings(results: dict[str, Result]) -> list[str]:
    lines = ["", "## Settings", ""]
    bases = {"viewpoints": VIEWPOINTS, "EM": EM, "dynamic": DYNAMIC}
    for name in results:
        base = next(title for title, config in bases.items() if config is CASES[name].base)
        lines.append(f"- {name}: those of {base} and `{CASES[name].changes}`")
    for title, base in bases.items():
        lines += ["", f"{title}:", "", "```json", base.model_dump_json(), "```"]
    return lines


if __name__ == "__main__":
    main()
