"""The laws of every evaluation."""

import re
from copy import deepcopy
from dataclasses import replace
from functools import cache
from weakref import WeakKeyDictionary

import pytest
import torch

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSplits, Images
from capsmodel.evaluation import Evaluation, Findings
from capsmodel.settings.parts import kind_of
from capsmodel.testing.part_contract import PartContract
from capsmodel.training.trained import Trained
from capsmodel.training.training import Training

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_METRIC = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_SMALL = {
    "data": {"kind": "digits", "fraction": 0.15},
    "model": {
        "kind": "capsnet",
        "conv_channels": 4,
        "conv_kernel": 3,
        "primary_types": 2,
        "primary_dim": 4,
        "primary_kernel": 3,
        "class_dim": 4,
        "reconstruction": {"kind": "fully_connected", "hidden": [8]},
    },
}

_FINDINGS: WeakKeyDictionary[Trained, dict[str, Findings]] = WeakKeyDictionary()


class EvaluationContract(PartContract):
    """The laws of every evaluation.

    class TestMyEvaluation(EvaluationContract):
        @pytest.fixture
        def evaluation(self) -> Evaluation:
            return MyEvaluation()

    An evaluation that needs another network than a small one for digits overrides `trained` too.
    """

    @pytest.fixture
    def evaluation(self) -> Evaluation:
        """Return the evaluation under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `evaluation`.")

    @pytest.fixture
    def trained(self) -> Trained:
        """Return the network under evaluation, by default a small one for digits."""
        return _small_network()

    @pytest.fixture
    def part(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation, for the laws of every part."""
        return evaluation

    def test_it_gives_the_metrics_that_it_declares(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """Tables need them before there are values; plain numbers survive as JSON."""
        findings = _findings(evaluation, trained)
        names = [metric.name for metric in evaluation.metrics]
        assert list(findings.metrics) == names
        assert all(_METRIC.fullmatch(name) for name in names)
        assert {metric.split for metric in evaluation.metrics} <= {evaluation.looks_at}
        assert all(type(value) is float for value in findings.metrics.values())

    def test_arms_can_be_compared_by_its_primary_figure(self, evaluation: Evaluation) -> None:
        """It is "", a metric or a curve that is declared."""
        metrics = evaluation.metrics
        declared = {"", *(metric.name for metric in metrics), *(metric.curve for metric in metrics)}
        assert evaluation.primary in declared

    def test_values_of_images_add_up_to_their_metric(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """Tables take those of a metric's name for its values by image."""
        findings = _findings(evaluation, trained)
        for name in findings.images.keys() & findings.metrics.keys():
            values = findings.images[name].double()
            assert bool(((values >= 0) & (values <= 1)).all())
            assert values.mean().item() == pytest.approx(findings.metrics[name], abs=1e-9)

    def test_it_gives_something(self, evaluation: Evaluation, trained: Trained) -> None:
        """Metrics, results by image, other arrays or pictures."""
        findings = _findings(evaluation, trained)
        assert findings.metrics or findings.images or findings.arrays or findings.pictures

    def test_the_same_network_gives_the_same_to_the_last_bit(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """All random numbers come from the trial's seed; the global generator is not used."""
        before = torch.get_rng_state()
        data = trained.config.data.load(trained.device)
        _assert_same(_computed(evaluation, trained, data), _findings(evaluation, trained))
        assert torch.equal(torch.get_rng_state(), before)

    def test_the_network_is_left_as_it_is(self, evaluation: Evaluation, trained: Trained) -> None:
        """Another evaluation may follow."""
        network, data = deepcopy(trained), trained.config.data.load("cpu")
        few = data.validation.take(slice(8)).images
        before = network.predict(few).lengths
        evaluation.evaluate(network, data)
        assert torch.equal(network.predict(few).lengths, before)

    def test_the_images_are_not_written_to(self, evaluation: Evaluation, trained: Trained) -> None:
        """Another evaluation may use them."""
        data, reloaded = trained.config.data.load("cpu"), trained.config.data.load("cpu")
        _computed(evaluation, trained, data)
        assert torch.equal(data.validation.images, reloaded.validation.images)
        assert torch.equal(data.test.images, reloaded.test.images)

    def test_test_images_decide_nothing_where_it_looks_at_validation(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """Selection may use its results."""
        if evaluation.looks_at == "test":
            return
        data = trained.config.data.load("cpu")
        none = Images(torch.zeros_like(data.test.images), torch.zeros_like(data.test.labels))
        without = replace(data, test=none, extra_tests={})
        _assert_same(_computed(evaluation, trained, without), _findings(evaluation, trained))

    def test_what_is_told_by_image_is_told_of_each(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """They have one row for each image that it looks at, on the CPU."""
        images = evaluation.images_of(trained.config.data.load("cpu"))
        for name, values in _findings(evaluation, trained).images.items():
            assert _METRIC.fullmatch(name)
            assert len(values) == len(images)
            assert values.device.type == "cpu"

    def test_arrays_can_be_kept_beside_what_is_told_by_image(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """They are on the CPU, under unique names."""
        findings = _findings(evaluation, trained)
        assert all(_NAME.fullmatch(name) for name in findings.arrays)
        assert all(values.device.type == "cpu" for values in findings.arrays.values())
        assert not findings.arrays.keys() & findings.images.keys()

    def test_pictures_are_png_files(self, evaluation: Evaluation, trained: Trained) -> None:
        """Their names have no ending."""
        for name, content in _findings(evaluation, trained).pictures.items():
            assert _NAME.fullmatch(name)
            assert content.startswith(b"\x89PNG\r\n")

    def test_what_is_left_out_is_told_in_sentences(
        self, evaluation: Evaluation, trained: Trained
    ) -> None:
        """They are shown as they are."""
        assert all(reason.endswith(".") for reason in _findings(evaluation, trained).left_out)

    def test_its_kind_can_be_a_name(self, evaluation: Evaluation) -> None:
        """Names of metrics contain it."""
        assert _NAME.fullmatch(kind_of(type(evaluation)))


@cache
def _small_network() -> Trained:
    return Training(TrainingConfig.model_validate(_SMALL), seed=0).trained()


def _findings(evaluation: Evaluation, trained: Trained) -> Findings:
    """Return an evaluation's findings on a network, computed once for all laws that read them."""
    of_network = _FINDINGS.setdefault(trained, {})
    if repr(evaluation) not in of_network:
        data = trained.config.data.load(trained.device)
        of_network[repr(evaluation)] = _computed(evaluation, trained, data)
    return of_network[repr(evaluation)]


def _computed(evaluation: Evaluation, trained: Trained, data: DataSplits) -> Findings:
    """Return an evaluation's findings on a copy of a network, so that it cannot change others."""
    return evaluation.evaluate(deepcopy(trained), data)


def _assert_same(findings: Findings, other: Findings) -> None:
    assert findings.metrics == other.metrics
    assert findings.pictures == other.pictures
    for values_by_name, others in (
        (findings.images, other.images),
        (findings.arrays, other.arrays),
    ):
        assert values_by_name.keys() == others.keys()
        assert all(torch.equal(values, others[name]) for name, values in values_by_name.items())
