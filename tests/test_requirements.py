"""What is installed: one version of each package, known by the hashes of its files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAMES = ("requirements.txt", "requirements-dev.txt")


def locked(name: str) -> dict[str, tuple[str, int]]:
    """Return package -> version and number of hashes, of a requirements file."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    matches = [re.match(r"([a-z0-9._-]+)(?:\[\S+\])?==(\S+)", line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {
        match[1]: (match[2], len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)))
        for line, match in zip(lines, matches, strict=True)
        if match
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_installed_is_known_by_its_hash(name: str) -> None:
    assert all(num_hashes for _, num_hashes in locked(name).values())


def test_the_tests_run_with_the_versions_that_users_get() -> None:
    users, developers = locked(NAMES[0]), locked(NAMES[1])
    assert {package: developers.get(package) for package in users} == users


def test_all_that_is_asked_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = {
        NAMES[0]: [*project["dependencies"], *extras["aws"]],
        NAMES[1]: [*project["dependencies"], *extras["aws"], *extras["dev"]],
    }
    for file, requirements in asked.items():
        names = {re.split(r"[\[>=<]", requirement)[0] for requirement in requirements}
        assert names - {"capsweep"} <= locked(file).keys()


def test_nothing_is_installed_without_the_hashes() -> None:
    for name in ("Makefile", "deploy/prepare_node.sh"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        installing = [
            line for line in lines if re.search(r"--(editable|requirement)\b", line) is not None
        ]
        assert installing, name
        for line in installing:
            is_ours = "--no-deps --no-build-isolation --editable ." in line
            assert is_ours or "--require-hashes --requirement requirements" in line, line
