"""Figures that an earlier launch has drawn from the same inputs by the same code.

Drawing takes a third of a second a figure, and a launch that trains nothing would draw all of them
again. They lie in the user's cache, a file a report, which may be deleted at any time. All that
could change a figure is in the digest that they are looked up by: the digest of the report's
inputs, the text of our own code, and the versions of what it computes and draws with.
"""

import base64
import hashlib
import json
import platform
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sweeps.aggregation.rendering.contents import Figure, Report
from sweeps.records.errors import BadInput
from sweeps.storage.folder import PRIVATE, Folder, read_named_file
from sweeps.storage.locations import user_cache

_MOST_BYTES = 32 * 2**20
_MOST_REPORTS = 50
_LIBRARIES = ("matplotlib", "numpy", "optuna", "pandas", "pillow", "scikit-learn", "scipy")


class DrawnFigures:
    """The figures of one report, as they were last drawn.

    Args:
        report: The folder of its files, by which they are looked up.
    """

    def __init__(self, report: Path) -> None:
        self._name = f"{hashlib.sha256(str(report.absolute()).encode()).hexdigest()[:32]}.json"

    @contextmanager
    def reused(self, report: Report) -> Generator[None]:
        """Give a report the images that it would have drawn, and keep those that are drawn inside.

        What cannot be read is drawn, and what cannot be written is drawn again by the next launch.
        """
        digest, figures = _digest(report), dict(_figures(report))
        known = self._read(digest)
        for name, images in known.items():
            if name in figures:
                figures[name].images.update(images)
        yield
        images = {name: figure.images for name, figure in figures.items()}
        if images != known:
            self._write(digest, images)

    def _read(self, digest: str) -> dict[str, dict[Any, bytes]]:
        """Return the images that were drawn from these inputs, name -> format -> content."""
        with suppress(OSError, BadInput, RuntimeError, ValueError):
            content = _folder().read(self._name, _MOST_BYTES)
            checksum, _, text = content.partition(b"\n")
            if checksum.decode() == _checksum(digest, text):
                return {
                    name: {form: base64.b64decode(image) for form, image in images.items()}
                    for name, images in json.loads(text).items()
                }
        return {}

    def _write(self, digest: str, images: dict[str, dict[Any, bytes]]) -> None:
        """Keep images in place of those of other inputs."""
        encoded = {
            name: {form: base64.b64encode(image).decode() for form, image in by_form.items()}
            for name, by_form in images.items()
        }
        text = json.dumps(encoded).encode()
        if len(text) > _MOST_BYTES:
            return
        with suppress(OSError, BadInput, RuntimeError):
            folder = _folder().make(0o700)
            names = folder.names()
            for name in names if len(names) >= _MOST_REPORTS else ():
                folder.remove(name)
            folder.write(self._name, f"{_checksum(digest, text)}\n".encode() + text, PRIVATE)


def _folder() -> Folder:
    """Return the folder of all reports' figures.

    Raises:
        RuntimeError: If the user has no home.
    """
    return user_cache() / "figures"


def _figures(report: Report) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of a report, each with a name that no other has."""
    for place, section in enumerate((*report.sections, *report.background)):
        for figure in section.figures:
            yield f"{place} {figure.name}", figure


def _checksum(digest: str, text: bytes) -> str:
    return hashlib.sha256(digest.encode() + text).hexdigest()


def _digest(report: Report) -> str:
    """Return the SHA-256 of all that could change a figure of a report."""
    sections = (f"{section.kind} {section.name}" for section in report.sections)
    libraries = (platform.python_version(), *map(version, _LIBRARIES))
    facts = (report.provenance.digest, code_digest(), *libraries, *sections)
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


@cache
def code_digest() -> str:
    """Return the SHA-256 of the text of our own three packages."""
    digest = hashlib.sha256()
    for name in ("capsmodel", "search_spaces", "sweeps"):
        package = find_spec(name)
        assert package
        assert package.submodule_search_locations
        for path in sorted(Path(package.submodule_search_locations[0]).rglob("*.py")):
            digest.update(read_named_file(path))
    return digest.hexdigest()
