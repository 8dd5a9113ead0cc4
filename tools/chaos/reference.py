"""The report of an undisturbed run of the same sweep, made once a machine and state of code."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.end_to_end.command import clean_environment

_CAPSWEEP = str(Path(sys.executable).with_name("capsweep"))
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("capsmodel", "search_spaces", "sweeps")


def reference_of(file: Path, options: list[str], scratch: Path) -> Path:
    """Return the folder of the report of a sweep that nothing was done to.

    Args:
        file: Of the sweep, named as the sweep.
        options: Options of the launch.
        scratch: Keeps what was made.
    """
    digest = hashlib.sha256(file.read_bytes() + " ".join(options).encode())
    for path in sorted(path for name in _PACKAGES for path in (_ROOT / name).rglob("*.py")):
        digest.update(path.read_bytes())
    folder = scratch / f"reference-{file.stem}-{digest.hexdigest()[:16]}"
    if not folder.exists():
        making = folder.with_suffix(".unfinished")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        with (making / "launch.out").open("wb") as out:
            subprocess.run(
                [_CAPSWEEP, "run", str(file), *options],
                cwd=making,
                env=clean_environment(),
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                check=True,
            )
        making.rename(folder)
    return folder / "reports" / file.stem
