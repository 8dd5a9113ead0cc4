"""The contract of models whose lowest weights get a gradient only from the second step on."""

import torch

from capsmodel.models import Model
from capsmodel.testing import ModelContract
from capsmodel.testing.model_contract import ModelValuesContract


class SecondStepValuesContract(ModelValuesContract):
    """The laws of `ModelValuesContract`; whether all parameters learn is judged after one step."""

    def test_every_parameter_learns(self, model: Model) -> None:
        """After one step: where shares or scores start at zero, nothing below moves at first.

        A number that is added to the logits of all classes has no effect on their softmax.
        """
        network = model.build((2, 14, 15), 3).double().train()
        images = torch.rand(4, 2, 14, 15, generator=torch.Generator().manual_seed(1)).double()
        optimiser = torch.optim.SGD(network.parameters(), lr=0.5)
        for _ in range(2):
            optimiser.step()
            optimiser.zero_grad()
            beliefs = network(images, None, torch.Generator().manual_seed(2)).lengths
            (beliefs[0, 0] + 2 * beliefs[1, 1] - beliefs[2, 2]).backward()
        for name, parameter in network.named_parameters():
            if name.endswith("head_bias"):
                continue
            assert parameter.grad is not None, f"{name} has no gradient"
            assert bool((parameter.grad.abs() > 1e-12).any()), f"{name} never moves"


class SecondStepContract(SecondStepValuesContract, ModelContract):
    """All laws of `ModelContract`; whether every parameter learns is judged after one step."""
