"""Which routings and models can be exported, as docs/implementations.md says.

    pip install onnxscript onnxruntime
    python -m tools.onnx_exports

Each is exported by `torch.export` and `torch.onnx.export` with a batch of any size, and what ONNX
Runtime gives for another batch is compared with PyTorch. The packages are no requirements of
capsweep; nothing else needs them.
"""

import contextlib
import io
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from capsmodel.layers import Capsules
from capsmodel.models import MODELS, MatrixCapsNet, Model, as_outputs
from capsmodel.routing import ROUTINGS
from capsmodel.settings.parts import kind_of
from tests.capsmodel.testing.test_model_contracts import SMALL

_TOLERANCE = 1e-5
_MISSING = re.compile(r"No ONNX function found for <OpOverload\(op='([\w.]+)'")
_ANY_BATCH = ({0: Dim.DYNAMIC},)


class Beliefs(nn.Module):
    """The beliefs of a capsule layer or a network alone."""

    def __init__(self, module: nn.Module) -> None:
        """Take the layer or the network."""
        super().__init__()
        self.module = module

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the belief in each class."""
        return as_outputs(self.module(inputs)).lengths


def cases() -> Iterator[tuple[str, nn.Module, tuple[int, ...]]]:
    """Yield what is exported: its name, a small module in evaluation mode, and an input's shape."""
    for routing in ROUTINGS:
        layer = Capsules(in_caps=6, in_dim=4, out_caps=3, out_dim=4, routing=routing())
        yield f"routing `{kind_of(routing)}`", Beliefs(layer).eval(), (6, 4)
    kinds: tuple[Any, ...] = MODELS
    models: dict[str, Model] = {kind_of(kind): kind(**SMALL[kind_of(kind)]) for kind in kinds}
    models["matrix_capsnet.variational_bayes"] = MatrixCapsNet.small_variational_bayes()
    for name, model in models.items():
        yield f"model `{name}`", Beliefs(model.build((2, 14, 15), 3)).eval(), (2, 14, 15)


def exported(module: nn.Module, inputs: Tensor) -> ExportedProgram:
    """Return a module as `torch.export` has it, for batches of any size."""
    return torch.export.export(module, (inputs,), dynamic_shapes=_ANY_BATCH)


def operators(program: ExportedProgram) -> set[str]:
    """Return the operators of an exported program, taken apart as far as PyTorch can."""
    nodes = program.run_decompositions().graph.nodes
    return {str(node.target).rpartition(".")[0] for node in nodes if node.op == "call_function"}


def row(name: str, module: nn.Module, shape: tuple[int, ...]) -> str:
    """Return the row of the table."""
    generator = torch.Generator().manual_seed(0)
    few, others = (torch.rand(size, *shape, generator=generator) / 2 for size in (3, 7))
    exported(module, few)
    return f"| {name} | works | {_in_onnx(module, few, others)} |"


def _in_onnx(module: nn.Module, few: Tensor, others: Tensor) -> str:
    onnxruntime: Any = import_module("onnxruntime")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            program: Any = torch.onnx.export(module, (few,), dynamic_shapes=_ANY_BATCH)
    except torch.onnx.errors.OnnxExporterError as error:
        missing = _MISSING.search(str(error))
        return f"no operator for `{missing[1]}`" if missing else str(error)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        program.save(path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {session.get_inputs()[0].name: others.numpy()})
    difference = (torch.from_numpy(found) - module(others)).abs().max().item()
    return "works" if difference < _TOLERANCE else f"differs by {difference:.0e}"


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    sys.stdout.write("| part | `torch.export` | ONNX |\n| :--- | :--- | :--- |\n")
    for case in cases():
        sys.stdout.write(f"{row(*case)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
