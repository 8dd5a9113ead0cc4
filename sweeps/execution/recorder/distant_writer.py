"""The tracking store as a launch writes to it: by the recorder's process, which has it open.

So no launch loads what writes to a store a second time, which takes longer than all that it writes.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from sweeps.execution.recorder.calls import Method
from sweeps.records.manifest import Manifest
from sweeps.tracking.manifests import manifest_text
from sweeps.tracking.shown_sweep import ShownSweep
from sweeps.tracking.store import FoundSweep, FreedWeights


class BeginCall(Protocol):
    """What has a method called."""

    def __call__(
        self, method: Method, arguments: tuple[Any, ...], *, is_anew: bool = False
    ) -> Callable[[], Any]:
        """Return what waits for what the method returns, or raises."""
        ...


class DistantWriter:
    """A `LaunchWriter` in another process.

    Args:
        begin_call: Has a method called there.
    """

    def __init__(self, begin_call: BeginCall) -> None:
        self._begin_call = begin_call

    def open_anew(self) -> None:
        """Open the store anew, which may have lost all.

        Raises:
            StoreUnreachable: If it does not answer.
        """
        self._begin_call("refuse_absence", (), is_anew=True)()

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        self._call("refuse_absence", ())

    def begin_to_publish(self, manifest: Manifest) -> Callable[[], str]:
        """Do as `publish_manifest` does, and return what waits for the id of the sweep's record."""
        return self._begin_call("publish_manifest", (manifest_text(manifest),))

    def begin_to_show(self, sweep_id: str, shown: ShownSweep) -> Callable[[], None]:
        """Do as `show_sweep` does, and return what waits for its end."""
        return self._begin_call("show_sweep", (sweep_id, shown))

    def find_sweep(self, sweep: str) -> FoundSweep | None:
        """Return a sweep's own record."""
        return self._call("find_sweep", (sweep,))

    def open_sweep(self, sweep: str, description: str) -> str:
        """Find or create a sweep's own record and return its id."""
        return self._call("open_sweep", (sweep, description))

    def set_manifest(self, sweep_id: str, text: str) -> None:
        """Make a manifest the current one of a sweep, unless it is."""
        self._call("set_manifest", (sweep_id, text))

    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how a sweep's launch ended, None for one that runs."""
        self._call("settle_sweep", (sweep_id, exit_code))

    def show_sweep(self, sweep_id: str, shown: ShownSweep) -> None:
        """Write what people see of a sweep."""
        self.begin_to_show(sweep_id, shown)()

    def set_aside(self, trial_keys: Iterable[str]) -> None:
        """Mark the records of trial keys as replaced: no reader counts them any more."""
        self._call("set_aside", (tuple(trial_keys),))

    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a record, and look whether they are gone."""
        return self._call("delete_weights", (record_id,))

    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Add the files of a report to a sweep's own record, in place of those of their names."""
        self._call("publish_files", (sweep_id, tuple(path.absolute() for path in paths)))

    def _call(self, method: Method, arguments: tuple[Any, ...]) -> Any:
        return self._begin_call(method, arguments)()
