"""Pictures of a trial: what is drawn, of what, and what is said where nothing can be."""

import io
import sys

import matplotlib.image
import numpy as np
import pytest

from capsmodel.evaluation import Pictures
from capsmodel.evaluation import pictures as pictures_module
from capsmodel.evaluation.pictures import OFFSETS
from capsmodel.models import ConvNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import DynamicRouting
from capsmodel.training.training import Training
from sweeps import cli
from sweeps.aggregation.pictures.picture_contents import (
    CouplingPicture,
    Example,
    Examples,
    Perturbed,
    RoutedImage,
    pictured,
)
from sweeps.aggregation.pictures.picture_drawing import (
    coupling_picture,
    perturbation_picture,
    reconstruction_picture,
)
from sweeps.aggregation.pictures.trial_pictures import pictures
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.worker.evaluation import EvaluationJob, run_evaluations
from sweeps.records import trial_record as names
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config, small_model
from tests.sweeps.aggregation.known_sweep import (
    finished,
    put_config,
    put_trial,
    trial_key,
    unfinished,
)

KEY = trial_key("a", 0)


DOT = r'''
from typing import Literal
from capsmodel.evaluation import Evaluation, Findings

class Dot(Evaluation):
    """One dot."""

    kind: Literal["dot"] = "dot"

    def evaluate(self, trained, data):
        return Findings(pictures={"one": b"\x89PNG\r\n"})
'''


def look(trained):
    """Return what pictures show of a network, by way of the evaluation's arrays."""
    findings = Pictures().evaluate(trained, trained.config.data.load("cpu"))
    return pictured({name: values.numpy() for name, values in findings.arrays.items()})


@pytest.fixture(scope="module")
def contents():
    return look(Training(small_config(), seed=0).trained())


def put(store, config, tmp_path, *, with_weights=True):
    run = put_trial(store, finished("a", 0, 5))
    put_config(store, run, config.model_dump(mode="json"))
    if with_weights:
        Training(config, seed=0).trained().save(tmp_path / names.ARTIFACT_WEIGHTS)
        store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)


def test_a_finished_trial_gets_its_pictures(store, tmp_path):
    put(store, small_config(), tmp_path)
    drawn = pictures(KEY[:6], store, out=tmp_path / "out")

    assert [path.name for path in drawn.paths] == [
        "reconstructions.png",
        "perturbations.png",
        "couplings.png",
    ]
    assert {path.parent for path in drawn.paths} == {tmp_path / "out" / KEY}
    assert drawn.left_out == ()
    for path in drawn.paths:
        assert matplotlib.image.imread(path).shape[1] == 1360


@pytest.mark.parametrize(
    ("model", "left_out"),
    [
        (small_model(reconstruction=NoReconstruction()), ["reconstructions", "perturbations"]),
        (
            ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,)),
            ["reconstructions", "perturbations", "couplings"],
        ),
    ],
)
def test_what_a_network_has_not_is_left_out_with_a_sentence(model, left_out, store, tmp_path):
    put(store, small_config(model=model), tmp_path)
    drawn = pictures(KEY, store, out=tmp_path / "out")

    assert len(drawn.paths) == 3 - len(left_out)
    for name, sentence in zip(left_out, drawn.left_out, strict=True):
        assert sentence.startswith(f"{name}.png is left out, as the network")


def test_the_command_tells_files_and_what_is_left_out(mlflow_store, tmp_path, monkeypatch, capsys):
    config = small_config(model=small_model(reconstruction=NoReconstruction()))
    put(mlflow_store, config, tmp_path)
    monkeypatch.chdir(tmp_path)
    arguments = ["show", KEY[:8], "--pictures", "--tracking-uri", mlflow_store.address]
    monkeypatch.setattr(sys, "argv", ["capsweep", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines() == [
        f"pictures/{KEY}/couplings.png",
        "reconstructions.png is left out, as the network has no decoder.",
        "perturbations.png is left out, as the network draws nothing from poses.",
    ]


def test_a_trial_that_has_not_finished_is_refused(store, tmp_path):
    put_trial(store, unfinished("a", 0, Outcome.DIVERGED, "nan"))
    with pytest.raises(BadInput, match=f"Trial {KEY} is diverged: only a finished one") as error:
        pictures(KEY, store, out=tmp_path / "out")
    assert error.value.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_a_trial_whose_weights_were_not_kept_is_refused(store, tmp_path):
    put(store, small_config(), tmp_path, with_weights=False)
    with pytest.raises(BadInput, match=f"weights of trial {KEY} are missing: .*--retrain"):
        pictures(KEY, store, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_that_cannot_be_loaded_are_one_sentence(store, tmp_path, monkeypatch):
    def load(self, device):
        raise ValueError("the file is not there.")

    put(store, small_config(), tmp_path)
    monkeypatch.setattr(type(small_config().data), "load", load)
    with pytest.raises(BadInput, match="images of this trial cannot be loaded: the file is not"):
        pictures(KEY, store, out=tmp_path / "out")


def test_what_a_sweep_had_made_is_drawn_without_weights(store, tmp_path):
    put(store, small_config(), tmp_path)
    now = pictures(KEY, store, out=tmp_path / "now")
    cell = tmp_path / "cells" / KEY
    trained = Training(small_config(), seed=0).trained()
    cell.mkdir(parents=True)
    trained.save(cell / names.ARTIFACT_WEIGHTS)
    order = EvaluationJob(
        cells=str(cell.parent),
        trial_key=KEY,
        seed=0,
        config=small_config().model_dump(mode="json"),
        source=DOT,
        weights=str(cell / names.ARTIFACT_WEIGHTS),
        evaluations=({"kind": "pictures"}, {"kind": "dot"}),
    )
    dot = run_evaluations(order)[1]
    queue = RecorderQueue(tmp_path, "any")
    queue.add_evaluated([KEY], "known")
    assert Recorder(store.writer(), queue, cell.parent).drain_evaluations() == 1
    queue.close()
    store.writer().delete_weights(store.record(KEY).record_id)

    recorded = {
        path.name: path.read_bytes()
        for path in pictures(KEY, store, out=tmp_path / "recorded").paths
    }
    assert recorded.pop(f"dot.{dot.evaluation_key[:8]}.one.png").startswith(b"\x89PNG")
    assert recorded == {path.name: path.read_bytes() for path in now.paths}


def test_the_images_are_the_first_of_the_validation_split(contents):
    validation = small_config().data.load("cpu").validation
    for label, row in enumerate(contents.examples.by_class):
        of_label = validation.images[validation.labels == label]
        assert [example.label for example in row if example] == [label] * sum(map(bool, row))
        for example, image in zip(row[:3], of_label, strict=False):
            assert np.array_equal(example.image, image.numpy())
    assert contents.examples.num_images == len(validation)


def test_predictions_in_a_picture_are_those_of_the_network(contents):
    trained = Training(small_config(), seed=0).trained()
    examples = [example for row in contents.examples.by_class for example in row if example]
    predicted = trained.predict(np.stack([example.image for example in examples])).classes
    assert [example.predicted for example in examples] == predicted.tolist()
    last = [row[-1] for row in contents.examples.by_class if row[-1]]
    assert last
    assert all(example.predicted != example.label for example in last)


def test_only_so_many_images_are_looked_through(monkeypatch):
    monkeypatch.setattr(pictures_module, "_MOST_IMAGES", 50)
    contents = look(Training(small_config(), seed=0).trained())
    assert contents.examples is not None
    assert contents.examples.num_images == 50


def test_poses_are_moved_by_the_papers_steps(contents):
    assert {perturbed.offsets for perturbed in contents.perturbed} == {OFFSETS}
    assert OFFSETS == (-0.25, -0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2, 0.25)
    assert [perturbed.label for perturbed in contents.perturbed] == [0, 5]
    assert {perturbed.drawn.shape for perturbed in contents.perturbed} == {(4, 11, 1, 8, 8)}


def test_couplings_of_one_round_are_all_alike():
    model = small_model(routing=DynamicRouting(iterations=1))
    couplings = look(Training(small_config(model=model), seed=0).trained()).couplings
    assert couplings is not None
    assert couplings.to_winner == pytest.approx(0.1)
    assert couplings.to_others == pytest.approx(0.1)
    assert coupling_picture(couplings).startswith(b"\x89PNG")


def test_couplings_are_told_apart_by_where_they_go(contents):
    couplings = contents.couplings
    num_children = couplings.images[0].shares.size
    assert couplings.to_winner.size == num_children * couplings.num_images
    assert couplings.to_others.size == 9 * couplings.to_winner.size
    assert couplings.to_winner.mean() > couplings.to_others.mean()
    total = couplings.to_winner.sum() + couplings.to_others.sum()
    assert total == pytest.approx(couplings.to_winner.size, rel=1e-4)


def test_the_same_weights_give_the_same_bytes(contents):
    assert coupling_picture(contents.couplings) == coupling_picture(contents.couplings)


def num_pixels(png, colour, tmp_path):
    """Return how many pixels of a picture have a colour."""
    (tmp_path / "picture.png").write_bytes(png)
    pixels = (matplotlib.image.imread(tmp_path / "picture.png")[..., :3] * 255).round()
    return int((pixels == colour).all(axis=-1).sum())


def test_wrong_images_are_framed_as_such(tmp_path):
    image = np.full((1, 4, 4), 0.5, np.float32)
    right, wrong = (Example(image, image, 1, predicted) for predicted in (1, 2))
    only_right = Examples(((right, right, None),), 9)
    some_wrong = Examples(((right, wrong, None),), 9)
    counts = [
        num_pixels(reconstruction_picture(examples), (213, 94, 0), tmp_path)
        for examples in (only_right, some_wrong)
    ]
    assert counts[1] > 2 * counts[0] > 0  # the legend has a frame of each colour


def test_a_row_of_wrong_images_is_there_where_one_is():
    image = np.full((1, 4, 4), 0.5, np.float32)
    right, wrong = (Example(image, image, 1, predicted) for predicted in (1, 2))
    without, with_row = (Examples(((right, last), (right, None)), 9) for last in (None, wrong))
    heights = [
        matplotlib.image.imread(io.BytesIO(reconstruction_picture(examples))).shape[0]
        for examples in (without, with_row)
    ]
    assert heights[0] < heights[1]


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_images_of_any_channels_are_drawn(channels, tmp_path):
    image = np.zeros((channels, 4, 4), np.float32)
    image[0] = 1.0
    drawn = np.broadcast_to(image, (3, 11, channels, 4, 4))
    png = perturbation_picture([Perturbed(0, image, drawn, OFFSETS)])
    assert (num_pixels(png, (255, 0, 0), tmp_path) > 0) == (channels == 3)


def test_the_shares_of_a_layer_of_one_place_are_drawn():
    def picture(share):
        shares = np.full((2, 1, 1), share, np.float32)
        image = RoutedImage(0, 1, np.zeros((1, 4, 4), np.float32), shares)
        return coupling_picture(CouplingPicture((image,), np.full(4, 0.5), np.full(4, 0.5), 2, 2))

    assert picture(0.5) == picture(0.5) != picture(0.3)
