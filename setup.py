"""The page of the wheel: README without pictures and links, which lead to files of a checkout."""

import re
from pathlib import Path

from setuptools import setup

PAGES = "The pages are installed with capsweep: `capsweep --version` prints their folder.\n"


def long_description() -> str:
    """Return README as an index can show it, which has no other file of the repository."""
    readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    without_pictures = re.sub(r"!\[[^]]*\]\([^)]*\)\n*", "", readme)
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", without_pictures) + f"\n{PAGES}"


setup(long_description=long_description(), long_description_content_type="text/markdown")
