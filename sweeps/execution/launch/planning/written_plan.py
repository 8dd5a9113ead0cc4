"""Planned seeds and a margin put into the sweep's own file."""

import difflib
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

import search_spaces
from search_spaces.sweep import Sweep
from sweeps.execution.launch.planning.seed_plan import SeedPlan
from sweeps.execution.launch.planning.sweep_text import with_arguments
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import Launchable, define, sweep_of
from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import read_regular

_MOST_LISTED = 8
_PACKAGE = Path(search_spaces.__file__).parent


def own_file(sweep: Launchable) -> Path:
    """Return the file that a plan can be written into.

    Raises:
        BadInput: In one sentence, if it is none of the user's own.
    """
    named = sweep.name if isinstance(sweep, Sweep) else str(sweep)
    is_path = isinstance(sweep, Path) or named.endswith(".py") or "/" in named
    if not is_path or _PACKAGE in Path(named).resolve().parents:
        raise BadInput(
            f"A plan is written into a file of your own, and '{named}' is a sweep of the package "
            f"or none of a file: put the sweep into a file of yours and give its path."
        )
    return Path(named)


def write_plan(path: str | Path, plan: SeedPlan) -> str:
    """Put planned seeds into a sweep's file, and the effect as its margin where it has none.

    Nothing else of the text changes: the new text is read as a sweep, which has to be the old one
    but for that, before it takes the old one's place.

    Args:
        path: Of the file that was planned from.
        plan: What it says.

    Returns:
        What changed, as a unified diff; "" where the file says it already.

    Raises:
        BadInput: If there is nothing to write, or the file is not written so that it can be
            changed. The file is as it was.
    """
    if plan.seeds is None:
        raise BadInput(
            f"There is no number of seeds to write into {path}: without --write it is told why."
        )
    path = Path(path)
    arguments = _arguments(path, plan)
    old = read_regular(path)
    try:
        new = with_arguments(old, arguments, before="seeds") if arguments else old
    except ValueError as error:
        told = ", ".join(f"{name}={value}" for name, value in arguments.items())
        raise BadInput(f"{path} {error}: write {told} into it by hand.") from error
    if new == old:
        return ""
    with _beside(path, new) as unfinished:
        _refuse_other_sweep(path, unfinished, plan)
        shutil.copymode(path, unfinished)
        unfinished.replace(path)
    before, after = (content.decode().splitlines(keepends=True) for content in (old, new))
    return "".join(difflib.unified_diff(before, after, str(path), str(path), n=1))


def _arguments(path: Path, plan: SeedPlan) -> dict[str, str]:
    """Return the arguments of the sweep that are to change, name -> Python expression."""
    found: dict[str, str] = {}
    written, _, _ = sweep_of(path)
    if plan.seeds and plan.seeds != written.arm_seeds:
        found["seeds"] = _in_python(plan.seeds)
    if plan.new_margin is not None and written.margin_points is None:
        found["margin_points"] = repr(plan.new_margin)
    return found


def _in_python(seeds: tuple[int, ...]) -> str:
    run = range(seeds[0], seeds[-1] + 1)
    if len(seeds) <= _MOST_LISTED or seeds != tuple(run):
        return str([*seeds])
    return f"list(range({run.start}, {run.stop}))"


def _refuse_other_sweep(old: Path, new: Path, plan: SeedPlan) -> None:
    """Refuse a new text that does not give the old sweep with planned seeds and margin."""
    told = {"departures": {}}
    margin = plan.margin_points if plan.new_margin is None else plan.new_margin
    planned = define(old, Changes(seeds=plan.seeds), ()).manifest
    wanted = planned.model_copy(update={**told, "margin_points": margin})
    try:
        found = define(new, Changes(), ()).manifest
    except BadInput:
        found = None
    if found is None or found.model_copy(update=told) != wanted:
        raise BadInput(
            f"With its seeds changed, {old} would not give the same sweep: it says more of them "
            f"elsewhere. Write the seeds into it by hand."
        )


@contextmanager
def _beside(path: Path, content: bytes) -> Generator[Path]:
    """Write a file next to another, which is gone afterwards unless it took the other's place."""
    with NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.stem}-", suffix=".py", delete=False
    ) as file:
        unfinished = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)
