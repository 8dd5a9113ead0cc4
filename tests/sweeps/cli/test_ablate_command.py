"""`capsweep ablate`: writes the path from a search's base to its winner, over no other file."""

import shutil
from pathlib import Path

from capsmodel.overrides import with_settings
from search_spaces.sweep_file import sweep_from_file
from search_spaces.trial_key import trial_key
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.tracking.opening import open_store
from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_SEARCH
from tests.sweeps.aggregation.known_sweep import finished, put_trial
from tests.sweeps.cli.shell import Shell
from tests.sweeps.execution.search.grown import with_confirmation, with_proposal
from tests.sweeps.published import publish_manifest

POINT = {
    "model.primary_types": 8,
    "model.primary_dim": 8,
    "model.class_dim": 16,
    "model.routing.iterations": 3,
    "model.reconstruction.weight": 0.0005,
    "loss": "cross_entropy",
    "optimiser.learning_rate": 0.003,
}
WINNER = POINT | {"optimiser.learning_rate": 0.00563, "model.primary_types": 16}
ROUTED = POINT | {"model.routing.iterations": 1, "optimiser.learning_rate": 0.00562}
RATE = {path: value for path, value in POINT.items() if path != "loss"} | {
    "loss": "margin",
    "loss[margin].schedule": "constant",
    "optimiser.learning_rate": 0.001,
}


def launched(shell: Shell, empty_database: Path, changes: Changes | None = None) -> SweepDefinition:
    """Put a search of the package into a store: four proposals, the second is chosen first."""
    storage = shell.folder / STORAGE
    storage.mkdir()
    shutil.copy(empty_database, storage)
    definition = define("capsule_search", changes or Changes(), ())
    for point in (ROUTED, WINNER, RATE, POINT):
        definition = with_proposal(definition, point)
    definition = with_confirmation(definition, ["proposal 1", "proposal 0"], "base")
    store = open_store(None, str(storage))
    publish_manifest(store.writer(), definition.manifest)
    for cell in definition.manifest.cells:
        if cell.arm != "proposal 3":
            fields = {"trial_key": cell.trial_key, "sweep": "capsule_search", "epochs": 1}
            put_trial(store, finished(cell.arm, cell.seed, 9, **fields))
    return definition


def test_a_search_of_the_package_by_its_name(shell: Shell, empty_database: Path) -> None:
    definition = launched(shell, empty_database)
    written = shell("ablate", "capsule_search")
    assert (written.code, written.err) == (0, "")
    assert written.out.startswith("The sweep is in capsule_search_path.py. It goes to proposal 1.")
    assert "10 trainings of base and proposal 1 on these seeds are already done" in written.out
    assert written.out.splitlines()[-1].endswith(" run capsule_search_path.py")

    sweep, text = sweep_from_file(shell.folder / "capsule_search_path.py")
    assert "base=CAPSULE_SEARCH.base," in text
    assert sweep.seeds == (101, 102, 103, 104, 105)
    changes = sweep.plan.model_dump()["changes"]
    assert [*changes] == ["primary_types=16", "loss=cross_entropy", "learning_rate=0.00563"]
    merged = {path: value for change in changes.values() for path, value in change.items()}
    trained = definition.manifest.cell_keys()
    for seed in sweep.seeds:
        assert trial_key(sweep.base, seed) == trained["base", seed]
        assert trial_key(with_settings(sweep.base, merged), seed) == trained["proposal 1", seed]

    before = shell.files()
    assert shell("ablate", "capsule_search").code == 0
    assert shell.files() == before, "the same again changes nothing"
    said = shell.refused("ablate", "capsule_search", "--arm", "proposal 0")
    assert said == "Another file 'capsule_search_path.py' exists already: give --out or --name."
    other = shell("ablate", "capsule_search", "--arm", "proposal 0", "--name", "second")
    assert "It goes to proposal 0." in other.out
    assert "asked for by name, one of 4 proposals" in (shell.folder / "second.py").read_text()

    refusals = {
        ("--arm", "proposal 2"): "changes one thing of the base (learning_rate=0.001)",
        ("--arm", "proposal 3"): "Unknown finished arm 'proposal 3' of 'capsule_search'.",
        ("--arm", "propsal 1"): "Did you mean 'proposal 1'?",
        ("--seeds", "0-2"): "The seed 0 has found 'proposal 1', which flatters it there",
        ("--name", "A b"): "name must be a text",
        ("--out", "x.txt"): "--out is to be the path of a Python file",
    }
    for arguments, sentence in refusals.items():
        assert sentence in shell.refused("ablate", "capsule_search", *arguments), arguments


def test_what_a_launch_changed_of_the_base_is_written(shell: Shell, empty_database: Path) -> None:
    launched(shell, empty_database, Changes(settings={"batch_size": 64}))
    assert shell("ablate", "capsule_search", "--seeds", "7").code == 0
    sweep, text = sweep_from_file(shell.folder / "capsule_search_path.py")
    assert 'base=with_settings(CAPSULE_SEARCH.base, {"batch_size": 64}),' in text
    assert (sweep.base.batch_size, sweep.seeds) == (64, (7,))


def test_a_search_of_a_users_file_with_parts_of_their_own(shell: Shell) -> None:
    FINISHED_SEARCH.unpacked(shell.folder)
    written = shell("ablate", "small_search.py", "--out", "to_it.py")
    assert (written.code, written.err) == (0, "")
    assert "4 trainings of base and proposal 12 on these seeds are already done" in written.out
    sweep, text = sweep_from_file(shell.folder / "to_it.py")
    assert "class PacedLoss(Loss):" in text
    assert [part.__name__ for part in sweep.parts] == ["PacedLoss"]
    assert "has parts of a file's own: give the file" in shell.refused("ablate", "small_search")
    file = shell.folder / "small_search.py"
    for old, new in (
        ("MarginLoss().loss(lengths", "2 * MarginLoss().loss(lengths"),
        ('"stopping.epochs": 4', '"stopping.epochs": 5'),
        ('"model.class_dim"', '"model.primary_dim"'),
    ):
        known = file.read_text()
        file.write_text(known.replace(old, new))
        assert "by another definition than the present one" in shell.refused(
            "ablate", "small_search.py"
        )
        file.write_text(known)


def test_a_search_of_which_nothing_has_finished_has_no_winner(shell: Shell, storage: Path) -> None:
    manifest = define("quickstart_search", Changes(), ()).manifest
    publish_manifest(open_store(None, str(storage)).writer(), manifest)
    said = shell.refused("ablate", "quickstart_search")
    assert "has no winner yet: of 0 proposals none has finished" in said
