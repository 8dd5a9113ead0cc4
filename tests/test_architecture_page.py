"""The map of the repository names files and folders that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAPS = ("docs/architecture.md", "CONTRIBUTING.md")
PATH = re.compile(r"`([\w.]+(?:/[\w.]+)*(?:/|\.(?:py|md|json|toml|yaml)))`")


def paths_named(name: str) -> list[str]:
    return PATH.findall((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MAPS)
def test_every_path_on_a_map_exists(name: str) -> None:
    paths = [path for path in paths_named(name) if "/" in path]
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_package_folder_is_on_the_map() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    folders = {
        f"{path.parent.relative_to(ROOT)}/"
        for package in ("capsmodel", "search_spaces", "sweeps")
        for path in ROOT.glob(f"{package}/*/__init__.py")
    }
    assert len(folders) > 10
    assert {folder for folder in folders if f"`{folder}" not in text} == set()


def test_the_maps_are_short() -> None:
    lengths = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in MAPS}
    assert lengths["CONTRIBUTING.md"] <= 50
    assert lengths["docs/architecture.md"] <= 120
