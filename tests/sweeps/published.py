"""Sweeps written to a tracking store as a log that only declares them."""

import zlib
from pathlib import Path

from sweeps.execution.sweep_log import write_log
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Declared, text_of
from sweeps.tracking.store import RecordWriter
from sweeps.tracking.sweep_logs import publish_log


def log_text(manifest: Manifest) -> str:
    """Return the log of a sweep that declares all its cells."""
    return text_of([Declared(manifest=manifest)]).decode()


def line_with(entry: str) -> bytes:
    """Return a line of a log with an entry, whatever that holds, and its right checksum."""
    return f'{{"sum":"{zlib.crc32(entry.encode()):08x}","entry":{entry}}}\n'.encode()


def log_with(manifest: str) -> bytes:
    """Return a log that declares a manifest, whatever that holds."""
    return line_with(f'{{"type":"declared","manifest":{manifest}}}')


def publish_manifest(writer: RecordWriter, manifest: Manifest) -> str:
    """Make a manifest a sweep's current one; return the id of the sweep's record."""
    return publish_log(writer, manifest, log_text(manifest).encode())


def write_manifest(journals: Path, manifest: Manifest) -> None:
    """Write the log of a sweep that declares all its cells into a storage folder."""
    write_log(journals, manifest.sweep, [Declared(manifest=manifest)])
