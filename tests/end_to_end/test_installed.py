"""What is built installs into new environments, by pip and by uv, and runs from an empty folder.

This takes a package registry, 10 GB and several minutes.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.end_to_end.command import clean_environment
from tests.pages import ROOT, links

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(7200)]

SENT = ("capsmodel", "search_spaces", "sweeps", "docs", "benchmarks/reports")
BUILD = """
from setuptools import build_meta
build_meta.build_sdist("dist")
build_meta.build_wheel("dist")
"""


@pytest.fixture(scope="module")
def base() -> Generator[Path]:
    """Yield a folder on a disk: the tests' own may be in memory."""
    with tempfile.TemporaryDirectory(prefix="capsweep-installed-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def built(base: Path) -> dict[str, Path]:
    """Build both from a copy of the checkout, which stays as it is."""
    source = base / "source"
    for name in SENT:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for pattern in ("*.md", "*.yaml", "LICENSE", "pyproject.toml", "setup.py"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, source)
    run(sys.executable, "-c", BUILD, folder=source)
    (wheel,) = (source / "dist").glob("*.whl")
    (sdist,) = (source / "dist").glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def run(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}"
    return done.stdout


def page_of(wheel: Path) -> Message:
    """Return what an index shows of a wheel: fields, and the page as its payload."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("dist-info/METADATA")]
        return message_from_string(archive.read(name).decode())


def test_the_wheels_page_has_no_dead_link(built: dict[str, Path]) -> None:
    page = page_of(built["wheel"])
    text = str(page.get_payload())
    assert links(text) == []
    assert "](" not in re.sub(r"\]\(https?:", "", text)
    assert text.startswith("# capsweep")
    assert (page["License-Expression"], page["License-File"]) == ("Apache-2.0", "LICENSE")


@pytest.mark.parametrize(
    ("tool", "first", "second"), [("uv", "sdist", "wheel"), ("pip", "wheel", "sdist")]
)
def test_it_is_installed_and_runs(
    base: Path, built: dict[str, Path], tool: str, first: str, second: str
) -> None:
    environment, empty = base / f"by-{tool}", base / f"empty-{tool}"
    empty.mkdir()
    run(sys.executable, "-m", "venv", str(environment), folder=empty)
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if tool == "uv":
        run(*install, "uv", folder=empty)
        install = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
    run(*install, f"{built[first]}[sweeps]", folder=empty)
    capsweep = str(environment / "bin" / "capsweep")
    options = ("--seeds", "0", "--epochs", "1", "--engine", "inline")
    assert "5 of 5 cells filled" in run(capsweep, "run", "quickstart", *options, folder=empty)
    assert (empty / "reports" / "quickstart" / "report.html").exists()
    check_pages(run(capsweep, "--version", folder=empty), environment)

    run(
        *install,
        "--no-deps",
        "--reinstall" if tool == "uv" else "--force-reinstall",
        str(built[second]),
        folder=empty,
    )
    check_pages(run(capsweep, "--version", folder=empty), environment)
    run(*install, "capsweep[sweeps]", folder=empty)  # as messages say; on no index it is
    shutil.rmtree(environment)


def check_pages(printed: str, environment: Path) -> None:
    """Check that the pages lie where it is said, and that their links lead to installed files."""
    docs = Path(printed.strip().rpartition(": ")[2])
    assert docs.is_relative_to(environment.resolve())
    pages = [docs.parent / "README.md", *docs.glob("*.md")]
    assert len(pages) > 20
    for page in pages:
        for link in links(page.read_text(encoding="utf-8")):
            name = link.partition("#")[0]
            assert not name or (page.parent / name).exists(), (page, link)
