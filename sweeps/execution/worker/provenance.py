"""The provenance of a record: versions, the name of the device, the revision of the code."""

import platform
import re
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
    "optuna",
    "pydantic",
    "safetensors",
    "scikit-learn",
)


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of the packages, Python and platform that a result may depend on."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


@cache
def hardware(device: str) -> str:
    """Return a torch device with its product name, such as "cuda: NVIDIA H200"."""
    if device.startswith("cuda"):
        import torch

        return f"{device}: {torch.cuda.get_device_name(device)}"
    return f"{device}: {_processor()}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text(errors="replace") if cpuinfo.exists() else ""
    match = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor() or platform.machine()


def git_revision(folder: Path) -> str:
    """Return the commit of a folder, with "-dirty" if files differ; "" if it has none."""
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
