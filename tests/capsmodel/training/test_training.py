import dataclasses
import json
import math
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal

import pytest
import safetensors
import torch
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel import EpochMetrics, Training, TrainingConfig, tensor_file
from capsmodel.augmentation import Shift
from capsmodel.data import DataSplits, Digits, Images
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.models.capsnet import CapsuleNetwork
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import DynamicRouting, RandomRouting, UniformRouting
from capsmodel.stopping import FixedEpochs
from tests.capsmodel.small_config import small_config, small_model


def untimed(history: tuple[EpochMetrics, ...]) -> list[EpochMetrics]:
    return [dataclasses.replace(metrics, duration_seconds=0.0) for metrics in history]


def finished(config: TrainingConfig, seed: int = 0) -> Training:
    training = Training(config, seed)
    for _ in training:
        pass
    return training


def same_bits(first: Training, second: Training, folder: Path) -> bool:
    contents: list[dict[str, Tensor]] = []
    for training in (first, second):
        training.save(folder / "compared")
        with safetensors.safe_open(folder / "compared", "pt") as file:
            contents.append({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    first_file, second_file = contents
    return first_file.keys() == second_file.keys() and all(
        torch.equal(first_file[n], second_file[n]) for n in first_file
    )


FEW = Digits(fraction=0.3)  # two steps an epoch, the second of a smaller batch
CHANCY = small_config(data=FEW, model=small_model(routing=RandomRouting()), augmentation=Shift())


@pytest.fixture(scope="module")
def unbroken() -> Training:
    return finished(CHANCY, seed=5)


def test_iterating_yields_every_epoch_once() -> None:
    training = Training(small_config(), seed=0)
    yielded = list(training)
    assert [metrics.epoch for metrics in yielded] == [1, 2, 3]
    assert tuple(yielded) == training.history
    assert list(training) == []


def test_epochs_done_are_counted_while_iterating() -> None:
    training = Training(small_config(), seed=0)
    assert (training.epoch, training.num_epochs) == (0, 3)
    next(iter(training))
    assert training.epoch == 1


@pytest.mark.nightly  # test_learning has a training that learns in two epochs
def test_training_learns_the_digits() -> None:
    history = finished(small_config(stopping=FixedEpochs(epochs=10), batch_size=50)).history
    assert history[-1].train_loss < 0.3 * history[0].train_loss
    assert history[-1].validation_error < 0.15


def test_a_validation_error_is_a_whole_number_of_images() -> None:
    errors = [metrics.validation_error for metrics in finished(small_config()).history]
    assert all(error == round(error * 180) / 180 for error in errors)


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_restored_training_equals_an_unbroken_one_to_the_last_bit(
    tmp_path: Path, done: int, unbroken: Training
) -> None:
    broken = Training(CHANCY, seed=5)
    epochs = iter(broken)
    for _ in range(done):
        next(epochs)
    broken.save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", CHANCY, seed=5)
    for _ in restored:
        pass
    assert untimed(restored.history) == untimed(unbroken.history)
    assert same_bits(restored, unbroken, tmp_path)


def test_the_same_seed_gives_the_same_training(tmp_path: Path) -> None:
    assert same_bits(finished(CHANCY, seed=1), finished(CHANCY, seed=1), tmp_path)


def test_another_seed_gives_another_training(tmp_path: Path) -> None:
    assert not same_bits(finished(CHANCY, seed=1), finished(CHANCY, seed=2), tmp_path)


def test_the_global_generator_neither_matters_nor_moves(tmp_path: Path) -> None:
    torch.manual_seed(1)
    first = finished(CHANCY)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    second = finished(CHANCY)
    assert torch.equal(torch.get_rng_state(), before)
    assert same_bits(first, second, tmp_path)


def test_uniform_and_one_iteration_train_to_the_same_bits(tmp_path: Path) -> None:
    uniform, single_round = (
        finished(small_config(model=small_model(routing=routing)))
        for routing in (UniformRouting(), DynamicRouting(iterations=1))
    )
    assert untimed(uniform.history) == untimed(single_round.history)
    assert same_bits(uniform, single_round, tmp_path)


class RecordingLoss(Loss):
    kind: Literal["recording"] = "recording"
    seen: ClassVar[list[list[int]]] = []

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        if not torch.is_inference_mode_enabled():
            self.seen.append(labels.tolist())
        return MarginLoss().loss(lengths, labels, progress)


class ProgressLoss(Loss):
    kind: Literal["progress"] = "progress"
    seen: ClassVar[list[float]] = []

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        self.seen.append(progress)
        return MarginLoss().loss(lengths, labels, progress)


class LossOfOne(Loss):
    kind: Literal["one"] = "one"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Int[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        return 1 + 0 * lengths.sum()


def test_an_epochs_losses_are_means_over_its_images_not_its_batches() -> None:
    model = small_model(reconstruction=NoReconstruction())
    metrics = next(iter(Training(small_config(loss=LossOfOne(), model=model), seed=0)))
    assert metrics.train_loss == pytest.approx(1)
    assert metrics.validation_loss == pytest.approx(1)


class MaskRecordingCapsNet(CapsNet):
    kind: Literal["mask_recording"] = "mask_recording"
    seen: ClassVar[list[Tensor | None]] = []

    def build(self, image_shape: tuple[int, int, int], num_classes: int) -> CapsuleNetwork:
        network = super().build(image_shape, num_classes)
        network.register_forward_pre_hook(lambda _, inputs: self.seen.append(inputs[1]))
        return network


def test_reconstructions_are_masked_by_the_true_label_which_only_training_tells_the_model() -> None:
    """In validation it is drawn from the poses that the model returns."""
    MaskRecordingCapsNet.seen.clear()
    settings = small_model().model_dump(mode="json") | {"kind": "mask_recording"}
    model = MaskRecordingCapsNet.model_validate(settings)
    training = Training(small_config(model=model), seed=0)
    next(iter(training))
    assert len(MaskRecordingCapsNet.seen) == 7 + 1
    masks = [mask for mask in MaskRecordingCapsNet.seen if mask is not None]
    data = Digits().load("cpu")
    assert sorted(torch.cat(masks[:7]).tolist()) == sorted(data.train.labels.tolist())
    assert MaskRecordingCapsNet.seen[7] is None
    MaskRecordingCapsNet.seen.clear()
    training.trained().predict(data.test.images)
    assert MaskRecordingCapsNet.seen == [None, None]


def labels_seen(config: TrainingConfig, seed: int) -> list[list[int]]:
    RecordingLoss.seen.clear()
    finished(config.model_copy(update={"loss": RecordingLoss()}), seed)
    return list(RecordingLoss.seen)


def test_all_arms_of_a_seed_see_the_images_in_the_same_order() -> None:
    plain = small_config(data=FEW)
    without_decoder = small_config(data=FEW, model=small_model(reconstruction=NoReconstruction()))
    seen = labels_seen(plain, seed=4)
    assert labels_seen(CHANCY, seed=4) == seen
    assert labels_seen(without_decoder, seed=4) == seen
    assert labels_seen(plain, seed=5) != seen


def test_each_epoch_sees_every_image_once_in_an_order_of_its_own() -> None:
    batches = labels_seen(small_config(), seed=0)
    assert [len(batch) for batch in batches[:7]] == [200] * 6 + [57]
    epochs = [list(chain(*batches[start : start + 7])) for start in (0, 7, 14)]
    assert sorted(epochs[0]) == sorted(Digits().load("cpu").train.labels.tolist())
    assert epochs[0] != epochs[1] != epochs[2]


def test_schedules_are_told_the_share_of_the_training_that_is_done() -> None:
    ProgressLoss.seen.clear()
    finished(small_config(loss=ProgressLoss(), stopping=FixedEpochs(epochs=2), batch_size=629))
    assert ProgressLoss.seen == [0, 0.25, 0.5, 0.5, 0.75, 1]


class DigitsWithSpoiltTest(Digits):
    def load(self, device: str | torch.device) -> DataSplits:
        splits = super().load(device)
        spoilt = Images(splits.test.images * 0, splits.test.labels * 0)
        return dataclasses.replace(splits, test=spoilt)


def test_training_never_looks_at_the_test_split(tmp_path: Path) -> None:
    spoilt = finished(small_config(data=DigitsWithSpoiltTest()))
    plain = finished(small_config())
    assert untimed(spoilt.history) == untimed(plain.history)
    assert same_bits(spoilt, plain, tmp_path)


def test_the_result_on_the_test_split_has_one_byte_an_image() -> None:
    result = finished(small_config()).test()
    assert result.predictions.dtype == result.labels.dtype == torch.uint8
    assert torch.equal(result.labels.long(), Digits().load("cpu").test.labels)
    assert result.error == int((result.predictions != result.labels).sum()) / 360


@pytest.mark.parametrize("epochs", [1, 3])
def test_the_validation_images_are_judged_as_in_the_last_epoch(epochs: int) -> None:
    training = finished(small_config(stopping=FixedEpochs(epochs=epochs)))
    result = training.validate()
    validation = Digits().load("cpu").validation
    assert result.error == training.history[-1].validation_error
    assert torch.equal(result.labels.long(), validation.labels)
    assert set(result.tensors()) == {"predictions", "labels"}


def test_a_training_that_is_not_finite_tells_so_and_goes_on() -> None:
    config = small_config(optimiser=Adam(learning_rate=1e30))
    training = finished(config)
    assert not math.isfinite(training.history[-1].train_loss)
    assert len(training.history) == 3


def test_a_history_that_is_not_finite_can_be_saved_and_restored(tmp_path: Path) -> None:
    config = small_config(optimiser=Adam(learning_rate=1e30))
    finished(config).save(tmp_path / "checkpoint")
    restored = Training.restore(tmp_path / "checkpoint", config, seed=0)
    assert not math.isfinite(restored.history[-1].train_loss)


def test_a_checkpoint_tells_its_epoch_and_history_in_its_header(tmp_path: Path) -> None:
    training = finished(small_config())
    training.save(tmp_path / "checkpoint")
    facts = tensor_file.read_facts(tmp_path / "checkpoint")
    assert facts["schema_version"] == 1
    assert facts["epoch"] == 3
    assert facts["history"] == [dataclasses.asdict(metrics) for metrics in training.history]


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    finished(small_config()).save(tmp_path / "checkpoint")
    wider = small_config(model=small_model(class_dim=8))
    with pytest.raises(ValueError, match=r"does not fit the config: weights/capsules\.weight is"):
        Training.restore(tmp_path / "checkpoint", wider, seed=0)


def test_a_checkpoint_of_another_seed_is_refused(tmp_path: Path) -> None:
    Training(small_config(), seed=0).save(tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="is of seed 0, not 1"):
        Training.restore(tmp_path / "checkpoint", small_config(), seed=1)


@pytest.mark.parametrize("history", [None, [{}], [{"epoch": 2}], "text"])
def test_a_checkpoint_whose_history_is_none_is_refused(tmp_path: Path, history: object) -> None:
    facts = {"schema_version": 1, "seed": 0, "epoch": 1, "history": history}
    (tmp_path / "checkpoint").write_bytes(tensor_file.encoded({"a": torch.zeros(1)}, facts))
    with pytest.raises(ValueError, match="history"):
        Training.restore(tmp_path / "checkpoint", small_config(), seed=0)


def test_a_pickle_is_refused_unread(tmp_path: Path) -> None:
    torch.save({"weights": torch.zeros(1)}, tmp_path / "checkpoint")
    with pytest.raises(ValueError, match="is not a safetensors file"):
        Training.restore(tmp_path / "checkpoint", small_config(), seed=0)


def test_a_checkpoint_without_a_tensor_is_refused(tmp_path: Path) -> None:
    Training(small_config(), seed=0).save(tmp_path / "whole")
    with safetensors.safe_open(tmp_path / "whole", "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(file.metadata()["capsmodel"])
    del tensors["chance/routing"]
    (tmp_path / "part").write_bytes(tensor_file.encoded(tensors, facts))
    with pytest.raises(ValueError, match="chance/routing is missing"):
        Training.restore(tmp_path / "part", small_config(), seed=0)


def test_a_generator_state_that_is_none_is_refused(tmp_path: Path) -> None:
    Training(small_config(), seed=0).save(tmp_path / "whole")
    with safetensors.safe_open(tmp_path / "whole", "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        facts = json.loads(file.metadata()["capsmodel"])
    tensors["chance/routing"] = torch.full_like(tensors["chance/routing"], 255)
    (tmp_path / "damaged").write_bytes(tensor_file.encoded(tensors, facts))
    with pytest.raises(ValueError, match="chance/routing is no state"):
        Training.restore(tmp_path / "damaged", small_config(), seed=0)
