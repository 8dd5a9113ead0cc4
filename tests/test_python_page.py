"""The page on Python and its notebook: every snippet runs, and the notebook's outputs are real."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

import sweeps
from capsmodel import Trained
from search_spaces.sweep_file import sweep_from_file
from sweeps.tracking.opening import open_store
from tests import notebook_cells
from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN
from tests.sweeps.published import publish_manifest

PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
(NETWORK,) = (block for block in BLOCKS if "CapsNet(" in block)
LAUNCH, *READ = (block for block in BLOCKS if block is not NETWORK)
SWEEP = FINISHED_DESIGN.sweep
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


@pytest.fixture
def kept_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a storage with the sweep of the kept store, and the same once more as "long"."""
    storage = FINISHED_DESIGN.unpacked(tmp_path) / STORAGE
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CAPSWEEP_STORAGE", raising=False)
    monkeypatch.delenv("CAPSWEEP_TRACKING_URI", raising=False)
    store = open_store(storage=storage)
    second = store.manifest(SWEEP).model_copy(update={"sweep": "long"})
    publish_manifest(store.writer(), second)
    return storage


@pytest.mark.usefixtures("kept_store")
def test_its_snippets_on_reading_run_one_after_the_other() -> None:
    sweep, _ = sweep_from_file(Path(f"{SWEEP}.py"))
    names: dict[str, object] = {"sweeps": sweeps, "PARTS": sweep.parts}
    for snippet in READ:
        here = snippet.replace("quickstart_long", "long").replace("quickstart", SWEEP)
        here = here.replace('"stopping.epochs": 40', '"stopping.epochs": 1')
        here = here.replace("parts=[]", "parts=PARTS")
        exec(compile(here, "docs/python.md", "exec"), names)

    assert names["unit"] == "fraction"
    assert names["changed"] == {"seed": (0, 1)}
    assert len(names["deep"]) == 2 * 4  # type: ignore[arg-type]
    assert {*names["short"]["outcome"]} == {"diverged"}  # type: ignore[index]
    assert {*names["of_deep"]["trial_key"]} <= {*names["deep"]["trial_key"]}  # type: ignore[index]
    assert names["num_missing"] == 0
    assert len(names["errors"]) == 1  # type: ignore[arg-type]


def test_its_network_is_trained_saved_and_loaded(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(NETWORK, "docs/python.md", "exec"), names)

    predicted, trained = names["prediction"], names["trained"]
    images = names["config"].data.load("cpu").test.take(slice(5)).images
    assert torch.equal(predicted.lengths, trained.predict(images).lengths)
    assert len(names["errors"]) == 2
    assert names["errors"][1] < 0.9


def test_its_table_names_methods_of_a_trained_network() -> None:
    methods = {*re.findall(r"`(?:t|T)rained\.([a-z_]+)\(", PAGE)}
    assert methods == {"predict", "inspect", "outputs", "perturb", "save", "load"}
    assert all(callable(getattr(Trained, method)) for method in methods)


def test_its_options_of_a_launch_are_some(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    planned = LAUNCH.replace("sweeps.run(", "sweeps.plan(")
    names: dict[str, object] = {}
    exec(compile(planned, "docs/python.md", "exec"), names)

    assert (
        repr(names["plan"]) == repr(names["result"]) == "<Plan quickstart: 10 cells, 10 to train>"
    )


def test_it_names_every_function() -> None:
    functions = {name for name in dir(sweeps) if name[0].islower()}
    reported = {*re.findall(r"sweeps\.([a-z_]+)\(", PAGE)}
    assert functions - reported <= {"pictures", "plan_seeds", "verify"}


def test_the_notebook_gives_what_it_shows(tmp_path: Path) -> None:
    outputs = notebook_cells.run(tmp_path)
    remaining = [cell["outputs"] for cell in notebook_cells.cells()]

    assert [*map(without_drawings, outputs)] == [*map(without_drawings, remaining)]
    assert any("image/png" in output["data"] for outputs in remaining for output in outputs)


def without_drawings(outputs: list[dict]) -> list[dict]:  # type: ignore[type-arg]
    """Return outputs without pictures, whose bytes are a machine's fonts' as well."""
    return [
        {
            **output,
            "data": {kind: text for kind, text in output["data"].items() if kind != "image/png"},
        }
        for output in outputs
    ]
