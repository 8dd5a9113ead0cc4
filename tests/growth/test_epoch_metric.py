"""An epoch metric costs one file: a loss beside the sweep says what it is, and measures it.

It is told with each epoch, recorded, drawn, ranked by and searched for, a large one being good
where its schema says so. No line of the package names it.
"""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sweeps.aggregation.best_configs import best_configs
from sweeps.aggregation.report import write_report
from sweeps.aggregation.report.background import background
from sweeps.aggregation.results.sweep_results import read_results
from sweeps.aggregation.trial_view import show
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import entries_of, manifest_of
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore
from tests.end_to_end.command import Terminal
from tests.sweeps.published import publish_manifest
from tests.sweeps.tracking.memory_store import MemoryStore

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")
NAME = "validation_top2_accuracy"
SWEEP_FILE = '''
"""Which loss leaves the true class among the first two?"""

from typing import Annotated, Literal

from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.losses import Loss, MarginLoss
from capsmodel.metrics import Metric
from capsmodel.models import CapsNet
from capsmodel.optimisers import Adam
from capsmodel.reconstruction import NoReconstruction
from capsmodel.search_range import Choices
from capsmodel.stopping import FixedEpochs
from search_spaces import Confirm, CurvesFigure, GridCell, GridRow, GridTable
from search_spaces import ListedArms, Search, SensitivityTable, Space, Sweep


class TwoGuesses(Loss):
    """The margin loss, which tells how often one of the two best guesses is right."""

    kind: Literal["two_guesses"] = "two_guesses"
    epoch_metrics = (
        Metric(
            name="validation_top2_accuracy",
            words="share that two guesses get right",
            unit="fraction",
            direction="larger",
        ),
    )
    scale: Annotated[float, Field(gt=0), Choices(1e-3, 1.0)] = 1.0

    def loss(self, lengths, labels, progress):
        return self.scale * MarginLoss().loss(lengths, labels, progress)

    def measure(self, beliefs, labels):
        guesses = beliefs.topk(2, dim=1).indices
        right = (guesses == labels.unsqueeze(1)).any(dim=1)
        return {"validation_top2_accuracy": right.float().mean()}


BASE = TrainingConfig(
    model=CapsNet(
        conv_channels=8, conv_kernel=3, primary_types=2, primary_dim=4, primary_kernel=3,
        class_dim=4, reconstruction=NoReconstruction(),
    ),
    loss=TwoGuesses(),
    optimiser=Adam(learning_rate=0.01),
    stopping=FixedEpochs(epochs=2),
    batch_size=200,
)
CURVE = CurvesFigure(name="guesses", metric="validation_top2_accuracy")
'''
DESIGN = """
SWEEP = Sweep(
    name="guesses",
    base=BASE,
    plan=ListedArms(
        baseline="fast", arms={"fast": {}, "slow": {"optimiser.learning_rate": 1e-6}}
    ),
    tables=[
        CURVE,
        GridTable(
            name="grid",
            title="Two guesses",
            columns=("share right",),
            rows=tuple(
                GridRow(label=arm, cells=(GridCell(arm=arm, metric="validation_top2_accuracy"),))
                for arm in ("fast", "slow")
            ),
        ),
    ],
    seeds=[0],
    parts=[TwoGuesses],
)
"""
SEARCH = """
SWEEP = Sweep(
    name="guesses",
    base=BASE,
    plan=Search(
        space=Space.of(TrainingConfig)
        .varied({"optimiser": ("adam",)})
        .only("optimiser.learning_rate")
        .varied({"optimiser.learning_rate": Choices(1e-6, 1e-2)}),
        objective="validation_top2_accuracy",
        sampler="grid",
        trials=2,
        confirm=Confirm(best=1, seeds=(7,)),
    ),
    tables=[SensitivityTable(), CURVE],
    parts=[TwoGuesses],
)
"""


def written(folder: Path, plan: str) -> Path:
    path = folder / "guesses.py"
    path.write_text(SWEEP_FILE + plan)
    return path


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepDefinition, RecordStore]:
    """The design, its two trials trained by the worker's function and carried by the recorder."""
    folder = tmp_path_factory.mktemp("design")
    definition = define(written(folder, DESIGN), Changes(), ())
    storage = Storage(folder / "store")
    for each in (storage.cells, storage.journals):
        each.mkdir(parents=True)
    store = MemoryStore()
    sweep_id = publish_manifest(store.writer(), definition.manifest)
    queue = RecorderQueue(storage.journals, store.address)
    queue.add(list(definition.manifest.cell_keys().values()), "guesses", sweep_id)
    for cell in definition.manifest.cells:
        run_trial(
            TrialJob(cells=str(storage.cells), spec=definition.spec(cell)), lambda epochs: None
        )
        final = CellFolder(storage.cells, cell.trial_key).read_final()
        assert final is not None
        assert set(final.curve[-1].metrics) == {NAME}
    Recorder(store.writer(), queue, storage.cells).drain()
    queue.close()
    return definition, store


def test_the_manifest_says_what_the_metric_is(
    recorded: tuple[SweepDefinition, RecordStore],
) -> None:
    definition, store = recorded
    metric = store.manifest("guesses").metric(NAME)
    assert (metric.unit, metric.direction, metric.split) == ("fraction", "larger", "validation")
    assert metric.text == "share that two guesses get right"
    with pytest.raises(BadInput, match=f"Did you mean '{NAME}'"):
        definition.manifest.metric("validation_top2_acuracy")


def test_records_and_histories_hold_it(recorded: tuple[SweepDefinition, RecordStore]) -> None:
    definition, store = recorded
    records = store.records(definition.manifest.cell_keys().values())
    assert len(records) == 2
    for record in records.values():
        history = store.histories([record], NAME)[record.trial_key]
        assert list(history) == [1, 2]
        assert record.value(NAME) == history[2]
        assert 0 <= history[2] <= 1


def test_the_report_draws_and_tabulates_it_in_percent(
    recorded: tuple[SweepDefinition, RecordStore], tmp_path: Path
) -> None:
    definition, store = recorded
    records = {record.arm: record for record in records_of(definition, store)}
    write_report(store, "guesses", tmp_path)
    folder = tmp_path / "guesses"
    curve = rows(folder / "guesses.csv")
    last = {row["arm"]: float(row[f"{NAME}_percent"]) for row in curve if row["epoch"] == "2"}
    assert last == {arm: pytest.approx(100 * record.value(NAME)) for arm, record in records.items()}
    assert "share that two guesses get right" in (folder / "grid.md").read_text()
    trials = {row["arm"]: float(row[NAME]) for row in rows(folder / "trials.csv")}
    assert trials == {arm: record.value(NAME) for arm, record in records.items()}


def test_the_page_shows_it_of_a_sweep_that_declares_no_curve_of_it(
    recorded: tuple[SweepDefinition, RecordStore],
) -> None:
    definition, store = recorded
    manifest = definition.manifest
    tables = tuple(table for table in manifest.tables if NAME not in table.curves)
    declared = read_results(store, "guesses")
    results = replace(declared, manifest=manifest.model_copy(update={"tables": tables}))
    (section,) = (each for each in background(results) if each.name == NAME.replace("_", "-"))
    assert section.title == "Share that two guesses get right over the epochs"
    assert section.figures
    arms = {row[0].text: row[1].text for row in section.tables[0].rows}
    for record in records_of(definition, store):
        assert arms[record.arm] == f"{100 * record.value(NAME):.2f} %"


def test_one_trial_shows_it_with_each_epoch(
    recorded: tuple[SweepDefinition, RecordStore],
) -> None:
    definition, store = recorded
    (record, *_) = records_of(definition, store)
    view = show(record.trial_key, store)
    assert view.headings[-1] == "validation top2 accuracy"
    assert view.epochs()[-1][-1] == record.value(NAME)


def test_a_search_for_it_ranks_the_larger_first(
    recorded: tuple[SweepDefinition, RecordStore], tmp_path: Path
) -> None:
    definition, store = recorded
    records = {record.arm: record.value(NAME) or 0.0 for record in records_of(definition, store)}
    searched = define(written(tmp_path, SEARCH), Changes(), ()).manifest
    assert searched.objective.metric == definition.manifest.metric(NAME)
    assert searched.objective.cost(records["fast"]) < searched.objective.cost(records["slow"])


def test_an_objective_that_no_part_measures_is_refused(tmp_path: Path) -> None:
    plan = SEARCH.replace('objective="validation_top2_accuracy"', 'objective="top3"')
    with pytest.raises(BadInput, match="Unknown objective 'top3' of a search"):
        define(written(tmp_path, plan), Changes(), ())
    bare = SEARCH.replace("base=BASE", 'base=BASE.model_copy(update={"loss": MarginLoss()})')
    with pytest.raises(BadInput, match="No part of it measures the objective"):
        define(written(tmp_path, bare), Changes(), ())


def test_a_curve_of_what_no_epoch_has_is_refused(tmp_path: Path) -> None:
    plan = DESIGN.replace("CURVE,", 'CurvesFigure(metric="test_error"),')
    with pytest.raises(BadInput, match="Unknown epoch metric in the figure 'curves' 'test_error'"):
        define(written(tmp_path, plan), Changes(), ())


@pytest.mark.slow
def test_a_search_for_it_is_run_confirmed_and_reported(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "here")
    try:
        ended = terminal.run("run", str(written(tmp_path, SEARCH)), "--engine", "inline")
        assert ended.code == 0, ended.explained()
        best, *_ = best_configs("guesses", storage=str(terminal.storage))
        assert (best.objective, best.is_confirmed) == (NAME, True)
        assert best.config["optimiser"]["learning_rate"] == 1e-2
        manifest = manifest_in(terminal.folder / "capsweep-store")
        assert manifest.objective.metric.direction == "larger"
        shown = terminal.run("best", "guesses")
        assert "share that two guesses get right" in " ".join(shown.output.split())
    finally:
        terminal.close()


def manifest_in(storage: Path) -> Manifest:
    (path,) = {max(storage.glob("artifacts/*/artifacts/sweep.jsonl"))}
    manifest = manifest_of(entries_of(path.read_bytes()))
    assert manifest
    return manifest


def records_of(definition: SweepDefinition, store: RecordStore) -> list[Any]:
    return list(store.records(definition.manifest.cell_keys().values()).values())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
