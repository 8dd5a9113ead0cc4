"""The manifest of a running search, handed from the driver to the recorder as a file.

The driver writes it whole whenever it grows; the recorder makes it the current one in the tracking
store now and then, and at the end. So the store lags behind by seconds and no trial waits for it.
"""

from pathlib import Path

from capsmodel.whole_file import write_whole
from sweeps.records.manifest import Manifest
from sweeps.tracking.manifests import manifest_text


def manifest_file(journals: Path, sweep: str) -> Path:
    """Return where the manifest of a running search lies."""
    return journals / f"{sweep}.manifest.json"


def hand_over(journals: Path, manifest: Manifest) -> None:
    """Hand the manifest of a search to the recorder; a design's does not grow."""
    path = manifest_file(journals, manifest.sweep)
    if manifest.search:
        write_whole(path, manifest_text(manifest).encode())
    else:
        path.unlink(missing_ok=True)
