"""Files are reached by `sweeps.storage.folder`; whoever opens one otherwise has a reason here."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.test_architecture import ROOT, TREES

DOOR = "sweeps/storage/folder.py"
OF_PATHS = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir", "unlink", "rmdir"),
    *("symlink_to", "hardlink_to", "link_to"),
}
OF_OS = {
    *(
        "open",
        "mkdir",
        "makedirs",
        "remove",
        "removedirs",
        "unlink",
        "rename",
        "renames",
        "replace",
    ),
    *("link", "symlink", "rmdir", "mkfifo", "mknod", "truncate", "chmod", "chown", "utime"),
}
SQLITE = ("sqlite3", "connect")
HARMLESS = {"shutil.which", "shutil.get_terminal_size", "shutil.disk_usage"}
ELSEWHERE = {
    "sweeps/cli/completion.py: Path(os.devnull).open": "the null device",
    "sweeps/cli/verbosity.py: Path(os.devnull).open": "the null device",
    "sweeps/execution/channel.py: os.open": "the null device",
    "sweeps/execution/launch/own_parts.py: os.open": "the null device",
    "sweeps/execution/safe_output.py: os.open": "the null device",
    "sweeps/execution/safe_output.py: open": "a descriptor that the process was given",
    "sweeps/execution/engine/cgroup.py: file.read_text": "the kernel's",
    "sweeps/execution/worker/provenance.py: cpuinfo.read_text": "the kernel's",
    "sweeps/execution/worker/worker_process.py: Path('/proc/self/status').read_text": (
        "the kernel's"
    ),
    "sweeps/execution/worker/worker_process.py: Path('/proc/self/clear_refs').write_text": (
        "the kernel's"
    ),
    "sweeps/execution/engine/tune/tune_engine.py: Path(checkpoint_path).write_text": (
        "in the scratch folder of Ray, which is this process's alone"
    ),
    "sweeps/execution/engine/tune/tune_engine.py: Path(trial.pickled_error_file).read_bytes": (
        "in the scratch folder of Ray, which is this process's alone"
    ),
    "sweeps/execution/engine/process/scratch.py: shutil.rmtree": "a folder of this process alone",
    "sweeps/tracking/mlflow/connection.py: file.read_text": "MLflow's own, which may be a link",
    "sweeps/execution/launch/writing/sweep_text.py: file.write_text": "in a temporary folder",
    "sweeps/storage/sqlite_file.py: sqlite3.connect": "checked and made just before, by Folder",
    "sweeps/tracking/mlflow/database.py: sqlite3.connect": "one in memory, and one made just now",
    "sweeps/tracking/mlflow/artifacts.py: folder.mkdir": "in a temporary folder",
    "sweeps/tracking/mlflow/artifacts.py: renamed.write_bytes": "in a temporary folder",
    "sweeps/execution/launch/writing/new_file.py: path.read_bytes": "the user's own file",
    "sweeps/remote/link.py: Path(log).open": "in a temporary folder",
    "sweeps/remote/cluster_file.py: path.read_text": "the user's own file, which may be a link",
    "sweeps/remote/on_demand.py: file.read_text": "the user's own file, which may be a link",
    "sweeps/execution/launch_process/launch_lock.py: folder.rmdir": (
        "empty folders that this launch has made, also above the storage folder"
    ),
    "sweeps/remote/kube.py: jobs.path.rmdir": "an empty folder in that of the command",
    "sweeps/execution/launch/writing/new_sweep.py: file.read_text": "our own",
    "sweeps/remote/kube.py: files('sweeps.remote').joinpath('rayjob.yaml').read_text": "our own",
    "sweeps/remote/slurm.py: files('sweeps.remote').joinpath('slurm_job.sh').read_text": "our own",
}
"""Module and call -> why it may. It only shrinks: what is not needed any more fails too."""


def calls(tree: ast.AST) -> Iterator[str]:
    """Yield the calls of a module that open, make, change or delete a file."""
    for node in ast.walk(tree):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Name) and function.id == "open":
            yield "open"
        elif isinstance(function, ast.Attribute):
            owner, name = ast.unparse(function.value), function.attr
            is_path = name in OF_PATHS or (name == "open" and owner.startswith("Path("))
            is_of_os = owner == "os" and name in OF_OS
            if is_path or is_of_os or owner == "shutil" or (owner, name) == SQLITE:
                yield f"{owner}.{name}"


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports of `capsmodel.whole_file` and of `shutil`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"capsmodel.whole_file", "shutil"}:
            yield from (name.name for name in node.names)


SWEEPS = {
    place: tree
    for path, tree in TREES.items()
    if (place := str(path.relative_to(ROOT))).startswith("sweeps/") and place != DOOR
}


def test_no_other_module_opens_makes_or_deletes_files() -> None:
    uses = {f"{place}: {call}" for place, tree in SWEEPS.items() for call in calls(tree)}
    others = {use for use in uses if use.partition(": ")[2] not in HARMLESS}
    assert sorted(others - ELSEWHERE.keys()) == [], "use sweeps.storage.folder"
    assert sorted(ELSEWHERE.keys() - others) == [], "no longer needed"


def test_no_other_module_writes_by_a_path() -> None:
    imported = {name for tree in SWEEPS.values() for name in imports(tree)}
    assert imported <= {"UNFINISHED", "this_machine"}


@pytest.mark.parametrize(
    "code",
    [
        "open(path)",
        "path.read_text()",
        "Path(name).open('w')",
        "os.open(path, 0)",
        "os.makedirs(path)",
        "folder.mkdir()",
        "shutil.rmtree(path)",
        "shutil.copyfile(a, b)",
    ],
)
def test_it_would_be_seen(code: str) -> None:
    assert [*calls(ast.parse(code))]
