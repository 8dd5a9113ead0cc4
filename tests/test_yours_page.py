"""The page on parts of one's own is a sweep file, and its sweep can be trained."""

import re
from pathlib import Path

import pytest

from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.sweep_check import CheckFailed, check_sweep

PAGE = (Path(__file__).parents[1] / "docs" / "yours.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
MOST_LINES = 22  # of one example, imports and docstring included


def test_each_of_its_examples_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "yours.py"
    file.write_text("\n\n".join(BLOCKS), encoding="utf-8")
    sweep, _ = sweep_from_file(file)
    assert len(sweep.parts) == 6
    results = list(check_sweep(sweep))
    assert [str(result) for result in results if isinstance(result, CheckFailed)] == []
    assert any("Evaluation 'dark_error'" in str(result) for result in results)


def test_its_examples_are_short() -> None:
    for block in BLOCKS[:-1]:
        assert len([line for line in block.splitlines() if line.strip()]) <= MOST_LINES
