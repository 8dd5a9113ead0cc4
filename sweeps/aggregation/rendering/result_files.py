"""Files of results: each is written whole or not at all, and never through a link."""

from collections.abc import Iterable
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder
from sweeps.storage.leftover_files import remove_leftovers


def write_results(folder: Folder, files: Iterable[tuple[str, bytes]]) -> tuple[Path, ...]:
    """Write files into a folder. It is made if it does not exist, and its other files stay.

    Leftovers of a write that was killed are removed.

    Args:
        folder: Where they go.
        files: The name and the content of each.

    Returns:
        Their paths.

    Raises:
        BadInput: If a file cannot be written, or a link redirects the folder.
    """
    path, paths = folder.path, list[Path]()
    try:
        remove_leftovers(folder.make())
        for name, content in files:
            path = folder.path / name
            folder.write(name, content)
            paths.append(path)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}. Choose another folder, by --reports, "
            f"--into or --out."
        ) from error
    return tuple(paths)
