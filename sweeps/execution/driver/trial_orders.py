"""What workers are told: a cell's settings, and of the launch what its record keeps."""

from functools import cached_property
from pathlib import Path
from typing import Any

from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.engine.capacity import Room
from sweeps.execution.plan.plan_runner import Heads
from sweeps.execution.worker.provenance import git_revision, package_versions
from sweeps.execution.worker.trial import TrialOrder
from sweeps.records.manifest import ManifestCell
from sweeps.storage.locations import Storage


class Orders:
    """Makes the orders of one launch.

    Args:
        storage: Where the cells' folders are.
        options: Of the launch.
        folder: Where the sweep's code lies.
        room: Says what each trial gets of a machine.
    """

    def __init__(
        self, storage: Storage, options: LaunchOptions, folder: Path, room: Room | None = None
    ) -> None:
        self._cells = str(storage.cells)
        self._options = options
        self._folder = folder
        self._room = room or Room(options.resources)

    def of(self, definition: Heads, cell: ManifestCell) -> TrialOrder:
        """Return what a worker needs to train a cell."""
        head = definition.head(cell)
        share = self._room.share(head.config)
        given = {"device": share.device, "threads": share.cpus}
        head = head.model_copy(update=self._launch | given)
        return TrialOrder(cells=self._cells, head=head)

    @cached_property
    def _launch(self) -> dict[str, Any]:
        """What every trial of the launch is told."""
        return {
            "gradient_checkpointing": self._options.gradient_checkpointing,
            "git_revision": git_revision(self._folder),
            "versions": package_versions(),
        }
