"""Where a record came from: package versions and the revision of the code."""

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "capsweep",
    "torch",
    "numpy",
    "ray",
    "mlflow",
    "pydantic",
    "safetensors",
    "scikit-learn",
)


@cache
def package_versions() -> dict[str, str]:
    """Return the installed versions of the packages a result may depend on."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def git_revision(folder: Path) -> str:
    """Return the commit a folder is at, with "-dirty" after it where files differ, else ""."""
    revision = _git(folder, "rev-parse", "HEAD")
    if not revision:
        return ""
    return revision + ("-dirty" if _git(folder, "status", "--porcelain", "-uno") else "")


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
