"""The evaluation `confusion` counts what is taken for what, and keeps the surest mistakes."""

import pytest
import torch

from capsmodel import Trained, Training
from capsmodel.data import ImageFolder, load_checked
from capsmodel.evaluation import Confusion, Pictures, findings_of
from tests.capsmodel.data.pictures import write_classes
from tests.capsmodel.small_config import small_config


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("photos")
    for number, name in ((30, "cat"), (40, "dog"), (10, "sea owl")):
        write_classes(folder, (name,), number, first=1000 * number)
    training = Training(small_config(data=ImageFolder(folder, size=8)), seed=0)
    next(iter(training))
    return training.trained()


@pytest.mark.parametrize("split", ["validation", "test"])
def test_it_counts_images_by_what_they_are_and_what_they_are_taken_for(
    trained: Trained, split: str
) -> None:
    data = load_checked(trained.config.data, "cpu")
    images = getattr(data, split).take(slice(None))
    findings = findings_of(Confusion(split=split), trained, data)
    said = trained.predict(images.images)
    expected = torch.zeros(3, 3, dtype=torch.long)
    for label, predicted in zip(images.labels, said.classes, strict=True):
        expected[label, predicted] += 1
    assert torch.equal(findings.arrays["counts"], expected)
    errors = 1 - expected.diagonal().double() / expected.sum(dim=1)
    assert findings.metrics["balanced_error"] == pytest.approx(errors.mean().item())


def test_the_surest_mistakes_come_first(trained: Trained) -> None:
    data = load_checked(trained.config.data, "cpu")
    arrays = findings_of(Confusion(mistakes=4), trained, data).arrays
    images = data.test.take(slice(None))
    beliefs, predicted = trained.predict(images.images).lengths.max(dim=1)
    wrong = [index for index in range(len(images)) if predicted[index] != images.labels[index]]
    surest = sorted(wrong, key=lambda index: (-beliefs[index].item(), index))[:4]
    assert arrays["mistaken_places"].tolist() == surest
    assert torch.equal(arrays["mistaken_images"], images.images[surest])
    assert torch.equal(arrays["mistaken_labels"], images.labels[surest])
    assert torch.equal(arrays["mistaken_predicted"], predicted[surest])


def test_names_of_classes_stand_beside_counts_and_pictures(trained: Trained) -> None:
    data = load_checked(trained.config.data, "cpu")
    for evaluation in (Confusion(), Pictures()):
        arrays = findings_of(evaluation, trained, data).arrays
        assert bytes(arrays["class_names"].tolist()).decode() == "cat\ndog\nsea owl"
    digits = Training(small_config(), seed=0).trained()
    plain = findings_of(Confusion(), digits, load_checked(digits.config.data, "cpu")).arrays
    assert "class_names" not in plain
