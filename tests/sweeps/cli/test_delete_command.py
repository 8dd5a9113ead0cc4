"""`capsweep delete` tells first, deletes where it is asked to, and is known to have done so."""

import shutil
from pathlib import Path

from tests.sweeps.cli.shell import Shell


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_sweep_is_told_of_then_deleted_then_unknown(shell: Shell, storage: Path) -> None:
    before = files(storage)
    answer = shell("delete", "quickstart")
    assert (answer.code, answer.err) == (0, "")
    assert "the same command with --yes deletes it." in answer.out
    assert "MLflow's own UI: `mlflow gc` frees them." in answer.out
    assert files(storage) == before
    assert shell("delete", "quickstart", "--yes").out.endswith("KiB are free.\n")
    for arguments in (["status"], ["best"], ["report"], ["delete"], ["delete", "--yes"]):
        refused = shell.refused(*arguments, "quickstart")
        assert refused.startswith("There is no sweep 'quickstart' in the storage folder ")
    assert shell("status").out == "No sweep was launched yet.\n"
    assert "quickstart" in shell("list").out, "that is shipped, and can be launched again"


def test_a_copy_of_a_store_never_touches_the_original(shell: Shell, storage: Path) -> None:
    shutil.copytree(storage, shell.folder / "copy")
    before = files(storage)
    assert shell("delete", "quickstart", "--yes", "--storage", "copy").code == 0
    assert files(storage) == before
    assert shell("status", "quickstart").code == 0
    assert "There is no sweep" in shell.refused("status", "quickstart", "--storage", "copy")
