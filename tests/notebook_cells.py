"""The notebook in docs, run cell by cell as a kernel would; as a program it stores what that gave.

    python -m tests.notebook_cells

A notebook is JSON and its cells are Python, so cells without magic commands need no kernel.
"""

import ast
import base64
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from tests.golden.stores.questions import FINISHED_DESIGN

NOTEBOOK = Path(__file__).parents[1] / "docs" / "analysis.ipynb"


def cells() -> list[dict[str, Any]]:
    """Return the cells of code."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(folder: Path) -> list[list[dict[str, Any]]]:
    """Run the cells in a folder with the kept store, and return the outputs of each."""
    FINISHED_DESIGN.unpacked(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    as_in_a_kernel = pd.option_context("display.max_columns", 20, "display.width", 80)
    with contextlib.chdir(folder), as_in_a_kernel:
        return [_outputs("".join(cell["source"]), names, n) for n, cell in enumerate(cells(), 1)]


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; what its last line gives is its output, as a kernel has it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), names)
    value = (
        eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names) if last else None
    )
    if value is None:
        return []
    result = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
    return [{**result, "data": _bundle(value)}]


def _bundle(value: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "savefig"):
        image = io.BytesIO()
        value.savefig(image, format="png", dpi=80)
        bundle["image/png"] = base64.b64encode(image.getvalue()).decode()
    elif html := getattr(value, "_repr_html_", None):
        bundle["text/html"] = html().splitlines(keepends=True)
    return bundle


def store() -> None:
    """Write the outputs into the notebook."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        outputs = run(Path(folder))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, shown) in enumerate(zip(code, outputs, strict=True), 1):
        cell |= {"execution_count": number, "outputs": shown}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store()
