"""Write the golden files of definitions and imports, with the code of the commit they pin.

With a checkout of that commit in the folder PINNED, its packages unchanged:

    cp -r tests/golden PINNED/tests
    (cd PINNED && PYTHONPATH=$PWD python -m tests.golden.write)
    cp -r PINNED/tests/golden tests
"""

import json
import lzma
import subprocess
from pathlib import Path
from typing import Any

import sweeps
from tests.golden import facts
from tests.golden.stores.questions import answer

COMMIT = "cfd8939"
MANIFESTS = facts.FOLDER / "manifests.json"
MANIFEST_TEXTS = facts.FOLDER / "manifests.json.xz"
USER_FILES = facts.FOLDER / "user_files.json"
IMPORTS = facts.FOLDER / "imports.json"
LISTED = facts.FOLDER / "list.txt"
PUBLIC_NAMES = facts.FOLDER / "public_names.json"


def pinned_checkout() -> Path:
    """Return the folder that the packages are taken from, if it is the commit itself."""
    folder = Path(str(sweeps.__file__)).parents[1]
    revision = _git(folder, "rev-parse", "HEAD")
    if not revision.startswith(COMMIT) or _git(
        folder, "status", "--porcelain", "-uno", "--", *facts.PACKAGES
    ):
        raise SystemExit(f"{folder} is no clean checkout of {COMMIT}.")
    return folder


def write() -> None:
    """Write all of them."""
    root = pinned_checkout()
    texts = facts.manifest_texts()
    _write_json(MANIFESTS, facts.summary(texts))
    raw = json.dumps(texts).encode()
    MANIFEST_TEXTS.write_bytes(lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME))
    mine = {facts.own_name(path): facts.of_user_file(path) for path in facts.USER_FILES}
    _write_json(USER_FILES, mine)
    _write_json(IMPORTS, facts.shown_imports(facts.documents(root)))
    _write_json(PUBLIC_NAMES, facts.public_names())
    LISTED.write_text(answer(facts.FOLDER, "list"), encoding="utf-8")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    write()
