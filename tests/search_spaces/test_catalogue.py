"""Named sweeps are found by reading their files."""

import subprocess
import sys
from pathlib import Path

import pytest

from search_spaces.catalogue import SweepEntry, named_sweep, named_sweeps


@pytest.mark.parametrize("entry", named_sweeps(), ids=lambda entry: entry.name)
def test_a_named_sweep_bears_its_files_name_and_its_arms_can_be_built(entry: SweepEntry) -> None:
    sweep = named_sweep(entry.name)
    assert sweep.name == entry.name
    assert sweep.plan.kind == "search" or sweep.arms()
    assert entry.summary.endswith((".", "?", "!"))


def test_quickstart_is_listed() -> None:
    assert "quickstart" in [entry.name for entry in named_sweeps()]


def test_listing_runs_no_file(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text('"""Loud.\n\nMore."""\nSWEEP = 1 / 0\n')
    (tmp_path / "typed.py").write_text('"""Typed."""\nSWEEP: int = 1 / 0\n')
    (tmp_path / "unknown_sweep.py").write_text("x = 1\n")
    (tmp_path / "silent.py").write_text("SWEEP = 2\n")
    listed = [(entry.name, entry.summary) for entry in named_sweeps([tmp_path])]
    assert listed == [("loud", "Loud."), ("silent", ""), ("typed", "Typed.")]


def test_an_unknown_sweep_gets_the_nearest_name() -> None:
    with pytest.raises(ValueError, match=r"Unknown sweep 'quikstart'\. Did you mean 'quickstart'"):
        named_sweep("quikstart")


@pytest.mark.parametrize("name", ["catalogue", "__init__", "", "../x", "quickstart.py"])
def test_a_module_that_is_no_sweep_is_none(name: str) -> None:
    with pytest.raises(ValueError, match="Unknown sweep"):
        named_sweep(name)


def test_listing_loads_neither_torch_nor_the_sweeps() -> None:
    program = (
        "import sys; from search_spaces.catalogue import named_sweeps; named_sweeps();"
        "sys.exit(bool({'torch', 'ray', 'search_spaces.quickstart'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
