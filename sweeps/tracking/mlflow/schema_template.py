"""An empty database of MLflow's in the user's cache: its dozens of migrations run once a version.

They take two seconds of processor time, as long as a small sweep trains. The file is derived, and
may be deleted at any time.
"""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from mlflow.version import VERSION

from capsmodel.whole_file import write_whole
from sweeps.records.errors import BadInput
from sweeps.storage.locations import user_cache
from sweeps.storage.regular_files import open_regular, opened_folder, read_descriptor


def template_path() -> Path:
    """Return where the template of this version of MLflow lies."""
    return user_cache() / f"mlflow-{VERSION}.db"


def copy_template(database: Path) -> bool:
    """Put a copy of the template where there is no database. Returns whether there was one."""
    path = template_path()
    with suppress(OSError, BadInput, RuntimeError), opened_folder(path.parent) as folder:
        database.write_bytes(read_descriptor(open_regular(path, folder=folder), path))
        return True
    return False


def keep_template(database: Path) -> None:
    """Keep a new database as the template, without its rows. Where that cannot be, none is kept."""
    path = template_path()
    with suppress(OSError, BadInput, RuntimeError, sqlite3.Error):
        path.parent.mkdir(parents=True, exist_ok=True)
        emptied = sqlite3.connect(":memory:")
        with closing(emptied), closing(sqlite3.connect(database)) as made:
            made.backup(emptied)
            emptied.execute("DELETE FROM experiments")
            emptied.commit()
            with opened_folder(path.parent):
                write_whole(path, emptied.serialize())


def drop_template() -> None:
    """Delete the template: MLflow could do nothing with it."""
    with suppress(OSError, RuntimeError):
        template_path().unlink(missing_ok=True)
