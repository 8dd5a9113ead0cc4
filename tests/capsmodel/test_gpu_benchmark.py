"""The benchmark of a GPU runs at a tiny size on the CPU, resumes, and notices what disagrees."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks import gpu
from capsmodel.data import Mnist
from capsmodel.data.archive import ROOT_VARIABLE
from tests.capsmodel.data.idx_files import ARCHIVES, CONTENTS

pytestmark = pytest.mark.nightly  # a tool

PARTS = ("steps", "epoch", "graph", "trials", "mnist")
ON_CPU = ("--tiny", "--device", "cpu", "--into")


@pytest.fixture(autouse=True)
def _small_mnist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setattr(Mnist, "archives", ARCHIVES)
    monkeypatch.setattr(gpu, "TINY", replace(gpu.TINY, fraction=1.0))


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_every_part_runs_and_is_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gpu.main([*PARTS, *ON_CPU, str(tmp_path / "to")]) == 0
    written = lines(tmp_path / "to")
    assert {line["part"] for line in written} == {"machine", *PARTS}
    assert not any("failed" in name for line in written for name in line)
    report = (tmp_path / "to" / "report.md").read_text()
    assert report in capsys.readouterr().out
    for title in ("Steps of training", "An epoch of MNIST", "at once", "test error %"):
        assert title in report


def test_measured_parts_are_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.main(["epoch", *ON_CPU, str(tmp_path / "to")])
    before = lines(tmp_path / "to")
    monkeypatch.setattr(gpu, "Training", None)
    assert gpu.main(["epoch", *ON_CPU, str(tmp_path / "to")]) == 0
    assert lines(tmp_path / "to") == before


def test_disagreement_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device whose numbers are slightly off, and one that gives none."""
    cases = dict(gpu.cases(gpu.TINY))
    few = [(name, cases[name]) for name in ("capsules, em", "decoder", "loss spread")]
    monkeypatch.setattr(gpu, "cases", lambda _scale: iter(few))  # pyright: ignore
    assert gpu.main(["agreement", *ON_CPU, str(tmp_path / "right")]) == 0
    exact = gpu.computed
    for factor in (1 + 1e-3, float("nan")):
        monkeypatch.setattr(gpu, "computed", partial(_off_on_the_device, exact, factor, count=[0]))
        assert gpu.main(["agreement", *ON_CPU, str(tmp_path / str(factor))]) == 1
        assert "0 of 3 agree" in capsys.readouterr().out


def _off_on_the_device(
    exact: Callable[..., gpu.Numbers], factor: float, *arguments: object, count: list[int]
) -> gpu.Numbers:
    """Return numbers that are off in the last two of each four calls: the first are the CPU's."""
    numbers = exact(*arguments)
    count[0] += 1
    if count[0] % 4 in {1, 2}:
        return numbers
    return numbers._replace(values=[factor * value for value in numbers.values])


def test_a_training_with_graphs_is_compared_with_one_without(tmp_path: Path) -> None:
    """On the CPU they are the same training."""
    assert gpu.main(["graph", *ON_CPU, str(tmp_path / "to")]) == 0
    written = [line for line in lines(tmp_path / "to") if line["part"] == "graph"]
    assert [line["losses"] for line in written[::2]] == [line["losses"] for line in written[1::2]]
    assert "steps as CUDA graphs" in (tmp_path / "to" / "report.md").read_text()


@pytest.mark.parametrize("part", ["layer", "routing", "loss", "model"])
def test_nothing_is_left_out_of_the_agreement(part: str) -> None:
    """Every shipped kind of routing, loss and model is compared."""
    from capsmodel.losses import LOSSES
    from capsmodel.models import MODELS
    from capsmodel.routing import ROUTINGS

    tried = {
        "layer": {type(build().module).__name__ for build in gpu.layer_cases().values()},
        "routing": {type(routing) for routing in gpu.ROUTINGS.values()},
        "loss": {type(loss) for loss in gpu.LOSSES.values()},
        "model": {type(model) for model, _ in gpu.MODELS.values()},
    }[part]
    asked = {
        "layer": {
            "Convolution",
            "ConvolutionStack",
            "PrimaryCapsules",
            "GridPrimaryCapsules",
            "CapsuleCell",
            "Backbone",
            "NormalisedStack",
            "HomogeneousCapsules",
            "PreNormConvolution",
            "PreNormPrimaryCapsules",
            "Decoder",
            "Classifier",
        },
        "routing": set(ROUTINGS),
        "loss": set(LOSSES),
        "model": set(MODELS),
    }[part]
    assert tried == asked
