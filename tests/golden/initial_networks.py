"""What every model draws for a seed and answers before it has learned: its results depend on both.

    python -m tests.golden.initial_networks

writes the file anew. A change of it loses users their results: it needs a release that says so.
"""

import json
from pathlib import Path

import torch

from capsmodel.models import MODELS, Model
from capsmodel.settings.parts import kind_of
from tests.capsmodel.testing.test_model_contracts import SMALL, VARIANTS

FILE = Path(__file__).with_name("initial_networks.json")
EXAMPLES: dict[str, Model] = {
    **{kind_of(model): model(**SMALL[kind_of(model)]) for model in MODELS},
    **VARIANTS,
}


def sums(name: str) -> dict[str, float]:
    """Return the weighted sum of each tensor of an untrained network, and of its class scores."""
    network = EXAMPLES[name].build((2, 14, 15), 3)
    network.initialise(7)
    network.double().eval()
    images = torch.rand(4, 2, 14, 15, generator=torch.Generator().manual_seed(1)).double()
    with torch.no_grad():
        scores = network(images, generator=torch.Generator().manual_seed(2)).lengths
    tensors = {**network.state_dict(), "class scores": scores}
    return {path: _weighted(tensor) for path, tensor in tensors.items()}


def _weighted(tensor: torch.Tensor) -> float:
    """Return a sum in which each place has a weight of its own, so that none can be swapped."""
    values = tensor.detach().double().flatten()
    return float(values @ torch.linspace(1, 2, len(values), dtype=torch.float64))


if __name__ == "__main__":
    pinned = {name: sums(name) for name in EXAMPLES}
    FILE.write_text(json.dumps(pinned, indent=1) + "\n", encoding="utf-8")
