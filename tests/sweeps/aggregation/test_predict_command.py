"""`capsweep predict` names classes, says what was changed, and draws what is asked for."""

import json

import pytest
from PIL import Image

import sweeps
from capsmodel.data import ImageFolder
from capsmodel.reconstruction import NoReconstruction
from capsmodel.training.training import Training
from sweeps import cli
from sweeps.records import trial_record as names
from tests.capsmodel.data.pictures import write_classes
from tests.capsmodel.small_config import small_config, small_model
from tests.sweeps.aggregation.known_sweep import (
    finished,
    manifest_of,
    put_config,
    put_sweep,
    put_trial,
    trial_key,
)

KEY = trial_key("a", 0)


@pytest.fixture
def said(mlflow_store, tmp_path, monkeypatch, capsys):
    """Return a command line with a recorded trial on a folder of pictures."""
    monkeypatch.chdir(tmp_path)
    write_classes(tmp_path / "photos", ("cat", "dog", "owl"), 10, side=12)

    def say(*arguments, model=None):
        config = small_config(data=ImageFolder("photos", size=8), model=model or small_model())
        run = put_trial(mlflow_store, finished("a", 0, 5))
        put_config(mlflow_store, run, config.model_dump(mode="json"))
        Training(config, seed=0).trained().save(tmp_path / names.ARTIFACT_WEIGHTS)
        mlflow_store.writer().upload(run, tmp_path / names.ARTIFACT_WEIGHTS)
        monkeypatch.setattr(
            "sys.argv", ["capsweep", "predict", *arguments, "--tracking-uri", mlflow_store.address]
        )
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return say


def test_pictures_are_named_by_their_classes(said, mlflow_store):
    code, out, err = said(KEY[:6], "photos/cat", "photos/dog/000.png")
    assert (code, err) == (0, "")
    first, *lines = out.splitlines()
    assert first == (
        "11 images: 12 x 12 to 8 x 8 (the middle of each is scaled); values divided by 255, as in "
        "training."
    )
    expected = sweeps.load_model(KEY, mlflow_store).predict(["photos/cat", "photos/dog/000.png"])
    rows = [line.split() for line in lines if ".png" in line]
    assert [row[:2] for row in rows] == [
        *map(list, zip(expected.sources, expected.names, strict=True))
    ]
    assert [row[2] for row in rows] == [f"{length:.3f}" for length in expected.lengths.amax(dim=1)]


@pytest.mark.parametrize("name", ["known", "photos.py"])
def test_a_sweep_or_its_file_predicts_by_its_best_trial(said, mlflow_store, tmp_path, name):
    put_sweep(mlflow_store, manifest_of(["a"], [0]), [])
    text = 'from search_spaces import Sweep\nSWEEP = Sweep(name="known")\nraise RuntimeError("run")'
    (tmp_path / "photos.py").write_text(text)
    code, out, err = said(name, "photos/dog/000.png")
    assert (code, err) == (0, "")
    why, conversion, *_ = out.splitlines()
    assert why == (
        f"Trial {KEY} of known (arm 'a', seed 0): the best arm by mean validation error, and its "
        f"trial with the lowest validation error."
    )
    assert conversion.startswith("1 image: 12 x 12 to 8 x 8")
    answer = json.loads(said(name, "photos/dog/000.png", "--json")[1])
    assert answer["trial_key"] == KEY


def test_json_has_beliefs_and_pose(said):
    code, out, _ = said(KEY, "photos/cat/001.png", "--json")
    answer = json.loads(out)
    assert (code, answer["format"]) == (0, "capsweep.predict/1")
    (image,) = answer["images"]
    assert image["image"] == "photos/cat/001.png"
    assert [*image["beliefs"]] == ["cat", "dog", "owl"]
    assert image["name"] == max(image["beliefs"], key=image["beliefs"].get)
    length = sum(value**2 for value in image["pose"]) ** 0.5
    assert length == pytest.approx(max(image["beliefs"].values()), abs=1e-4)


def test_what_the_decoder_draws_is_written_on_request(said, tmp_path):
    code, out, _ = said(KEY, "photos/cat", "--out", "drawn")
    assert code == 0
    drawn = sorted((tmp_path / "drawn").iterdir())
    assert len(drawn) == 10
    assert str(drawn[0].relative_to(tmp_path)) in out
    with Image.open(drawn[0]) as image:
        assert image.size == (8, 8)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no.png"], "There is no file 'no.png': name a picture, or a folder of pictures."),
        (["photos/../data"], "There is no file"),
        (["sweep.txt"], "'sweep.txt' cannot be read as a picture: it is none, or of a format"),
        (
            ["photos/cat", "--out", "drawn"],
            "The network has no decoder that draws: leave out --out",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(said, tmp_path, arguments, sentence):
    (tmp_path / "sweep.txt").write_text("x")
    plain = small_model(reconstruction=NoReconstruction())
    code, out, err = said(KEY, *arguments, model=plain)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"capsweep: {sentence}")
    assert not (tmp_path / "drawn").exists()
