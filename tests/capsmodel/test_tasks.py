"""One class an image, or several: labels, answers, errors and chance, in every loss and model."""

from typing import ClassVar, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Bool
from torch import Tensor
from torch.testing import assert_close

from capsmodel import TrainingConfig
from capsmodel.data import DataSet, DataSplits, Digits, Images, load_checked
from capsmodel.evaluation import TestError
from capsmodel.functional import Margins, keep_class, margin_loss, sigmoid_loss, spread_loss
from capsmodel.losses import LOSSES, CrossEntropy, MarginLoss, Sigmoid, SpreadLoss
from capsmodel.models import ConvNet, Model
from capsmodel.reconstruction import NoReconstruction
from capsmodel.settings.parts import kind_of
from capsmodel.stopping import FixedEpochs
from capsmodel.tasks import TASKS, OneClass, SeveralClasses, Task
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config, small_model
from tests.covering import covering

PAIRS = SeveralClasses()
# The unit tests of the program published with Sabour, Frosst and Hinton 2017.
LABELS = torch.tensor([[0.0, 0, 1], [1, 1, 1]])
LENGTHS = torch.tensor([[-0.3, 0.3, 0.9], [1.2, 0.5, -0.5]])


def overlaid(splits: DataSplits, *, with_parts: bool) -> DataSplits:
    """Return pairs of unlike digits, each image laid over the next one of another class."""

    def of_split(images: Images) -> Images:
        lower = torch.arange(len(images) - 9)
        upper = torch.stack(
            [i + (images.labels[i : i + 10] != images.labels[i]).int().argmax() for i in lower]
        )
        keep = images.labels[lower] != images.labels[upper]
        lower, upper = lower[keep], upper[keep]
        shown = torch.stack([images.images[lower], images.images[upper]], dim=1)
        classes = torch.stack([images.labels[lower], images.labels[upper]], dim=1)
        order = classes.argsort(dim=1)
        parts = shown[torch.arange(len(lower)).unsqueeze(1), order]
        labels = (classes.unsqueeze(2) == torch.arange(10)).any(dim=1)
        merged = shown.sum(dim=1).clamp(max=1)
        return Images(merged, labels, parts=parts if with_parts else None)

    return DataSplits(of_split(splits.train), of_split(splits.validation), of_split(splits.test))


class DigitPairs(DataSet):
    """Pairs of digits, one over the other."""

    kind: Literal["digit_pairs"] = "digit_pairs"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10
    task: ClassVar[Task] = PAIRS

    def load(self, device: str | torch.device) -> DataSplits:
        splits = Digits(fraction=self.fraction).load(device)
        return overlaid(splits, with_parts=True)


class PairsWithoutParts(DigitPairs):
    """The same, but nothing says what each digit looks like."""

    kind: Literal["no_parts"] = "no_parts"

    def load(self, device: str | torch.device) -> DataSplits:
        return overlaid(Digits(fraction=self.fraction).load(device), with_parts=False)


def pairs_config(data: DataSet | None = None, **changes: object) -> TrainingConfig:
    data = data or DigitPairs(fraction=0.2)
    fields = {"data": data, "stopping": FixedEpochs(epochs=2), **changes}
    base = small_config()
    settings = {name: getattr(base, name) for name in TrainingConfig.model_fields} | fields
    return TrainingConfig.model_validate(settings, context={"parts": (type(data),)})


class TestGoldenValuesOfTheReleasedProgram:
    def test_the_margin_loss_of_several_classes_is_theirs(self) -> None:
        halves = margin_loss(LENGTHS, LABELS, over_classes="half_mean", reduction="none") * 3
        assert_close(halves.sum(), torch.tensor(1.07))
        assert_close(margin_loss(LENGTHS, LABELS, reduction="sum"), torch.tensor(2.14))

    def test_a_single_digit_is_right_twice_of_three(self) -> None:
        labels = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1]]).bool()
        beliefs = torch.tensor([[0.9, 0.1, 0.2], [0.1, 0.8, 0.3], [0.5, 0.2, 0.1]])
        assert PAIRS.errors(PAIRS.answers(beliefs, labels), labels).tolist() == [0, 0, 1]

    def test_two_digits_are_right_once_and_almost_twice(self) -> None:
        labels = torch.tensor([[1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 0, 0]]).bool()
        logits = torch.tensor([[-0.3, 0.3, 0.9, 0], [1.2, 0.5, -0.5, 0], [0.0, 0, 0, 0]])
        answers = PAIRS.answers(logits, labels)
        assert PAIRS.errors(answers, labels).tolist() == [1, 1, 0]  # of equal ones the first two
        assert (PAIRS.share_right(answers, labels) > 0).tolist() == [True, False, True]

    def test_halved_labels_teach_a_belief_of_one_half(self) -> None:
        logits = torch.zeros(1, 3, requires_grad=True)
        sigmoid_loss(logits, LABELS[1:], from_logits=True, halved_labels=True).backward()
        assert logits.grad is not None
        assert_close(logits.grad, torch.zeros(1, 3))


class TestLaws:
    @pytest.mark.parametrize("loss", [MarginLoss(), SpreadLoss(), Sigmoid()], ids=lambda o: o.kind)
    def test_one_class_written_as_a_row_is_judged_as_its_number(self, loss: MarginLoss) -> None:
        lengths = torch.rand(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        numbers = torch.tensor([0, 4, 2, 2, 1, 3])
        rows = numbers.unsqueeze(1) == torch.arange(5)
        weighted = loss.model_copy(update={"class_weights": (1.0, 2.0, 3.0, 4.0, 5.0)})
        for judge in (loss, weighted):
            assert_close(judge.loss(lengths, rows, 0.5), judge.loss(lengths, numbers, 0.5))

    @pytest.mark.parametrize("loss", [kind() for kind in LOSSES], ids=lambda o: o.kind)
    def test_the_mean_is_that_of_the_images_losses(self, loss: MarginLoss) -> None:
        lengths = torch.rand(6, 5, generator=torch.Generator().manual_seed(1))
        numbers = torch.tensor([0, 4, 2, 2, 1, 3])
        each = loss.loss(lengths, numbers, 0.5, over_images="none")
        assert each.shape == (6,)
        assert_close(each.mean(), loss.loss(lengths, numbers, 0.5))
        assert_close(each.sum(), loss.loss(lengths, numbers, 0.5, over_images="sum"))

    def test_the_spread_loss_of_several_classes_is_the_mean_over_the_true_ones(self) -> None:
        lengths = torch.tensor([[0.9, 0.2, 0.4, 0.6]])
        labels = torch.tensor([[True, False, False, True]])
        by_hand = [
            sum(max(0.0, 0.7 - (true - other)) ** 2 for other in (0.2, 0.4)) for true in (0.9, 0.6)
        ]
        assert_close(spread_loss(lengths, labels, 0.7), torch.tensor(sum(by_hand) / 2))

    @given(st.integers(2, 7), st.integers(1, 3), st.integers(0, 2**31))
    def test_answers_are_sets_of_the_labels_size_and_permute_with_the_classes(
        self, classes: int, most: int, seed: int
    ) -> None:
        generator = torch.Generator().manual_seed(seed)
        beliefs = torch.rand(5, classes, generator=generator)
        labels = random_sets(5, classes, min(most, classes), generator)
        task, order = SeveralClasses(most=most), torch.randperm(classes, generator=generator)
        answers = task.answers(beliefs, labels)
        assert torch.equal(answers.sum(dim=1), labels.sum(dim=1))
        assert torch.equal(task.answers(beliefs[:, order], labels[:, order]), answers[:, order])

    @pytest.mark.parametrize("task", [OneClass(), PAIRS], ids=lambda task: task.kind)
    def test_chance_is_the_error_of_the_best_constant_answer(self, task: Task) -> None:
        generator = torch.Generator().manual_seed(3)
        numbers = torch.randint(5, (80,), generator=generator)
        labels = numbers if task.label_form == "class" else random_sets(80, 5, 2, generator)
        constants = labels.unique(dim=0)
        best = min(
            task.errors(constant.expand_as(labels), labels).mean().item() for constant in constants
        )
        assert task.chance(labels) == pytest.approx(best)

    def test_each_class_is_drawn_from_its_own_pose_alone(self) -> None:
        poses = torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(4))
        rows = keep_class(poses, torch.tensor([[1, 3], [2, -1]]))
        assert torch.equal(rows[0], keep_class(poses[:1].expand(2, -1, -1), torch.tensor([1, 3])))
        assert torch.equal(rows[1, 0], keep_class(poses[1:], torch.tensor([2]))[0])
        assert not rows[1, 1].any()
        with pytest.raises(ValueError, match="several classes of an image must differ"):
            keep_class(poses, torch.tensor([[0, 0, 1, 0], [1, 0, 0, 0]]))

    def test_drawn_classes_are_those_of_the_label_in_their_order(self) -> None:
        labels = torch.tensor([[True, False, True], [False, True, False]])
        assert PAIRS.drawn(labels).tolist() == [[0, 2], [1, -1]]


def random_sets(
    number: int, classes: int, most: int, generator: torch.Generator
) -> Bool[Tensor, "images classes"]:
    sizes = torch.randint(1, most + 1, (number, 1), generator=generator)
    ranks = torch.rand(number, classes, generator=generator).argsort(dim=1).argsort(dim=1)
    return ranks < sizes


@pytest.mark.parametrize(
    ("data", "loss", "model"),
    covering(
        [Digits(fraction=0.1), DigitPairs(fraction=0.1)],
        [kind() for kind in LOSSES],
        [small_model(), ConvNet(conv_channels=(4,), hidden=(8,))],
    ),
    ids=lambda part: part.kind,
)
def test_every_allowed_triple_learns_a_step_and_the_others_are_refused(
    data: DataSet, loss: MarginLoss, model: Model
) -> None:
    fits = data.task.label_form in loss.takes
    if not fits:
        with pytest.raises(ValueError, match="cannot do the task 'several_classes' of the data"):
            pairs_config(data, loss=loss, model=model)
        return
    training = Training(pairs_config(data, loss=loss, model=model), seed=0)
    metrics = next(iter(training))
    assert metrics.train_loss > 0
    assert 0 <= metrics.validation_error <= 1
    assert len(training.test().predictions) == len(training.data.test)


def test_a_network_learns_two_digits_and_draws_each_apart(tmp_path: object) -> None:
    config = pairs_config(
        DigitPairs(), model=small_model(), stopping=FixedEpochs(epochs=12), batch_size=64
    )
    training = Training(config, seed=0)
    last = [*training][-1]
    result = training.test()
    assert result.error < 0.75 < training.config.data.task.chance(training.data.test.labels)
    assert result.predictions.shape == result.labels.shape == (len(training.data.test), 10)
    assert set(last.metrics) == {"validation_at_least_one", "validation_half_credit"}
    assert last.metrics["validation_at_least_one"] > last.metrics["validation_half_credit"]
    trained = training.trained()
    said = trained.predict(training.data.test.images[:4])
    assert said.classes.shape == (4, 2)
    assert said.reconstructions is not None
    assert said.reconstructions.shape == (4, 2, 1, 8, 8)
    assert TestError().evaluate(trained, training.data).metrics["test_error"] == result.error


def test_the_decoder_is_compared_with_each_digits_own_image() -> None:
    config = pairs_config(DigitPairs(fraction=0.1))
    splits = load_checked(config.data, "cpu")
    training = Training(config, seed=0, data=splits)
    network = training.trained().network
    few = splits.train.take(slice(3))
    assert few.parts is not None
    outputs = network(few.images, PAIRS.drawn(few.labels))
    assert outputs.reconstructions is not None
    apart = [
        network.penalty(
            network(few.images, PAIRS.drawn(few.labels)[:, member]), few.parts[:, member]
        )
        for member in range(2)
    ]
    assert_close(network.penalty(outputs, few.parts), sum(apart, torch.zeros(())))


def test_what_an_image_lacks_is_drawn_black() -> None:
    network = Training(pairs_config(DigitPairs(fraction=0.1)), seed=0).trained().network
    drawn = network.decode(torch.rand(1, 10, 4), torch.tensor([[1, -1]]))
    assert drawn is not None
    assert bool(drawn[0, 0].any())
    assert not drawn[0, 1].any()


def test_pairs_without_parts_need_no_decoder() -> None:
    with pytest.raises(ValueError, match="do not say what each looks like: give Images"):
        Training(pairs_config(PairsWithoutParts(fraction=0.1)), seed=0)
    plain = small_model(reconstruction=NoReconstruction())
    Training(pairs_config(PairsWithoutParts(fraction=0.1), model=plain), seed=0)


WRONG_LABELS = {
    "a row without a class": (torch.zeros(4, 3), "Image 0 of the test has no classes"),
    "more than two": (torch.ones(4, 3), r"Image 0 of the test has 3 classes.*most=3"),
    "another width": (torch.ones(4, 2), r"must be of shape \[images, 3\]"),
    "numbers": (torch.tensor([0, 1, 2]), r"must be of shape \[images, 3\]"),
    "not 0 or 1": (torch.tensor([[1.0, 0, 0], [0, 2, 0]]), "image 1 of the test is 2 for class 1"),
}


@pytest.mark.parametrize(("labels", "message"), WRONG_LABELS.values(), ids=WRONG_LABELS)
def test_labels_of_several_classes_are_checked(labels: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PAIRS.checked(labels, 3, "the test")


def test_every_task_is_of_its_own_kind() -> None:
    assert len({kind_of(task) for task in TASKS}) == len(TASKS)
    assert Digits().task == OneClass()


def test_a_loss_of_one_class_is_refused_with_those_that_can() -> None:
    message = (
        "The loss 'cross_entropy' cannot do the task 'several_classes' of the data 'digit_pairs': "
        "choose margin, spread, sigmoid."
    )
    with pytest.raises(ValueError, match=message):
        pairs_config(loss=CrossEntropy())


def test_margins_apply_to_several_classes() -> None:
    lengths = torch.tensor([[0.5, 0.5]])
    labels = torch.tensor([[True, True]])
    assert_close(margin_loss(lengths, labels, Margins(0.7, 0.1, 0.5)), torch.tensor(2 * 0.04))
