"""The page on the library is one script, and does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "capsmodel.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
LOOP = BLOCKS[0]


def test_a_network_is_trained_in_fewer_than_twenty_five_lines() -> None:
    assert len([line for line in LOOP.splitlines() if line]) < 25


@pytest.mark.slow
def test_its_examples_are_one_script_that_runs(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(BLOCKS), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    error, beliefs, parameters, shapes = done.stdout.splitlines()
    assert float(error.removeprefix("test error ").removesuffix(" %")) < 15  # by chance 90
    assert beliefs.count(",") == 2
    assert parameters == "8215568"
    assert shapes == "torch.Size([4, 10]) torch.Size([4, 1, 8, 8])"
