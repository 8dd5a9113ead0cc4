"""What computes and draws a report can be loaded before: then a report waits for none of it."""

import subprocess
import sys
from pathlib import Path

from tests.golden.stores.archive import STORAGE
from tests.golden.stores.questions import FINISHED_DESIGN

_REPORT = """
import sys
from pathlib import Path
import sweeps
from sweeps.aggregation.rendering.libraries import load_libraries

def loaded():
    return {name.partition(".")[0] for name in sys.modules if name.partition(".")[0] in LIBRARIES}

LIBRARIES = {"PIL", "jinja2", "matplotlib", "mpl_toolkits", "safetensors", "scipy"}
name, storage = sys.argv[1:]
assert not loaded()
load_libraries()
import scipy.stats  # for the exact test of an arm that diverged, which few reports have
before = {*sys.modules}
assert sweeps.report(name, storage=storage, reports=Path("reports")).paths
for name in {*sys.modules} - before:
    if name.startswith(("matplotlib.backends.", "scipy.")) or name in LIBRARIES:
        print(name)
"""


def test_a_report_loads_no_library_that_was_to_be_loaded_before(tmp_path: Path) -> None:
    FINISHED_DESIGN.unpacked(tmp_path)
    arguments = (FINISHED_DESIGN.sweep, str(tmp_path / STORAGE))
    command = [sys.executable, "-c", _REPORT, *arguments]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == ""
