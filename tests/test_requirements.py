"""What is installed: one version of each package, known by the hashes of its files."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
USERS, DEVELOPERS = "requirements.txt", "requirements-dev.txt"
EMULATED_EC2 = "tests/cluster/emulated_ec2/requirements.txt"
BASE = f"-r {USERS}"


def locked(name: str) -> dict[str, tuple[str, int]]:
    """Return package -> version and number of hashes, of the lines of a requirements file."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    lines = [line for line in lines if line != BASE]
    matches = [re.match(r"([a-z0-9._-]+)(?:\[\S+\])?==(\S+)", line) for line in lines]
    assert all(matches), [line for line, match in zip(lines, matches, strict=True) if not match]
    return {
        match[1]: (match[2], len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)))
        for line, match in zip(lines, matches, strict=True)
        if match
    }


@pytest.mark.parametrize("name", [USERS, DEVELOPERS, EMULATED_EC2])
def test_every_file_that_is_installed_is_known_by_its_hash(name: str) -> None:
    assert all(num_hashes for _, num_hashes in locked(name).values())


def test_developers_get_what_users_get_and_more() -> None:
    lines = (ROOT / DEVELOPERS).read_text(encoding="utf-8").splitlines()
    assert next(line for line in lines if not line.startswith("#")) == BASE
    assert locked(USERS).keys().isdisjoint(locked(DEVELOPERS))


def test_all_that_is_asked_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = locked(USERS).keys()
    asked = {
        "users": (
            [*project["dependencies"], *extras["sweeps"], *extras["aws"], *extras["postgres"]],
            users,
        ),
        "developers": (extras["dev"], users | locked(DEVELOPERS).keys()),
    }
    for who, (requirements, packages) in asked.items():
        names = {re.split(r"[\[>=<]", requirement)[0] for requirement in requirements}
        assert names - {"capsweep"} <= packages, who


def test_nothing_is_installed_without_the_hashes() -> None:
    for name in ("Makefile", "deploy/prepare_node.sh"):
        lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        installing = [
            line for line in lines if re.search(r"--(editable|requirement)\b", line) is not None
        ]
        assert installing, name
        for line in installing:
            is_ours = "--no-deps --no-build-isolation --editable ." in line
            assert is_ours or "--require-hashes --requirement " in line, line
