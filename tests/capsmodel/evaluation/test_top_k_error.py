"""The evaluation `top_k_error` counts images whose class is not among the k named first."""

import pytest

from capsmodel import Trained, Training
from capsmodel.data import DataSplits, load_checked
from capsmodel.evaluation import TestError, TopKError, findings_of
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config


@pytest.fixture(scope="module")
def trained() -> Trained:
    training = Training(small_config(stopping=FixedEpochs(epochs=1)), seed=0)
    next(iter(training))
    return training.trained()


@pytest.fixture(scope="module")
def data(trained: Trained) -> DataSplits:
    return load_checked(trained.config.data, "cpu")


@pytest.mark.parametrize("k", [1, 2, 9])
@pytest.mark.parametrize("split", ["validation", "test"])
def test_an_image_is_right_where_its_class_is_among_the_k(
    trained: Trained, data: DataSplits, split: str, k: int
) -> None:
    images = getattr(data, split).take(slice(None))
    findings = findings_of(TopKError(k=k, split=split), trained, data)
    wrong: list[float] = []
    for beliefs, label in zip(trained.predict(images.images).lengths, images.labels, strict=True):
        named = sorted(range(10), key=lambda label: (-beliefs[label].item(), label))[:k]
        wrong.append(float(label.item() not in named))
    assert findings.images["top_k_error"].tolist() == wrong
    assert findings.metrics["top_k_error"] == pytest.approx(sum(wrong) / len(wrong))


def test_the_first_is_the_test_error_and_more_are_never_worse(
    trained: Trained, data: DataSplits
) -> None:
    errors = [
        findings_of(TopKError(k=k), trained, data).metrics["top_k_error"] for k in range(1, 10)
    ]
    assert errors[0] == findings_of(TestError(), trained, data).metrics["test_error"]
    assert 0 < errors[1] < errors[0]
    assert errors == sorted(errors, reverse=True)


def test_as_many_as_there_are_classes_is_refused(trained: Trained, data: DataSplits) -> None:
    with pytest.raises(ValueError, match="k must be below the number of classes, 10, got 10"):
        findings_of(TopKError(k=10), trained, data)


def test_readers_see_which_k() -> None:
    (metric,) = TopKError(k=3).metrics
    assert metric.text == "top-3 error"
    assert metric.is_fraction
    assert TopKError().k == 2
