"""Ray, started before the other imports of a launch, which take about as long as Ray does."""

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from search_spaces.catalogue import is_named
from sweeps.execution.child_process import ChildLostError
from sweeps.execution.engine.cgroup import num_cores
from sweeps.execution.engine.process.ray_engine import RayEngine
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import BadInput
from sweeps.storage.locations import resolve_storage

if TYPE_CHECKING:
    from sweeps.execution.plan.definition import Launchable

_MOST_SLOTS = 8
_ACCELERATORS = ("/dev/nvidia0", "/dev/kfd")


@contextmanager
def early_engine(launchable: "Launchable", options: LaunchOptions) -> Generator[RayEngine | None]:
    """Start Ray early if the launch probably needs it; end it with the block.

    That is so for a sweep's first launch in its storage folder on a small machine without a GPU.
    On a larger one the number of trials at once is known only with the sweep. Nothing is written
    but a scratch folder, as the launch may still be refused.

    Args:
        launchable: A named sweep, the path of a file that defines one, or a sweep.
        options: The launch's options.
    """
    slots = _slots(options)
    is_early = slots > 0 and "torch" not in sys.modules and _exists(launchable)
    if not is_early or _was_launched(launchable, options):
        yield None
        return
    begun = None
    with ExitStack() as resources:
        with suppress(BadInput, ChildLostError):  # the launch's own start reports why
            folder = resources.enter_context(scratch_folder())
            engine = RayEngine(None, folder / "log", num_ready=slots)
            resources.callback(engine.end)
            engine.begin()
            begun = engine
        yield begun


def _exists(launchable: "Launchable") -> bool:
    """Return whether there is such a sweep; another name is refused before Ray would be there."""
    return (
        not isinstance(launchable, str | Path)
        or is_named(str(launchable))
        or Path(launchable).exists()
    )


def _slots(options: LaunchOptions) -> int:
    """Return how many trials will run at once, 0 if that is not known yet."""
    is_elsewhere = options.address is not None or options.engine != "ray"
    has_accelerator = any(Path(name).exists() for name in _ACCELERATORS)
    if is_elsewhere or options.gpus_per_trial or has_accelerator:
        return 0
    slots = num_cores() // options.cpus_per_trial
    slots = min(slots, options.max_concurrent or slots)
    return slots if slots <= _MOST_SLOTS else 0


def _was_launched(launchable: "Launchable", options: LaunchOptions) -> bool:
    """Return whether the sweep has a log, so that nothing may be left to do."""
    declared_name = Path(launchable).stem if isinstance(launchable, str | Path) else launchable.name
    name = options.name or declared_name
    return (resolve_storage(options.storage).journals / f"{name}.jsonl").exists()
