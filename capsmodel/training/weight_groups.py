"""Which weights a training moves, and the learning rates of groups of them."""

from collections.abc import Sequence

import torch
from torch import nn

from capsmodel.models import Network
from capsmodel.spelling import hint

RATE_FACTOR = "rate_factor"
"""Key of a group of the optimiser: what its rate is multiplied by, 1 where it is missing."""


def freeze(network: Network, names: Sequence[str]) -> None:
    """Keep the weights of layers as they start.

    Args:
        network: The network.
        names: Of layers or weights: "backbone" is all that is called "backbone..." below the
            network, or below the module of a foreign network.

    Raises:
        ValueError: If a name is of no weight, or none would be left to train.
    """
    for name in names:
        for parameter in _named(network, name, "frozen"):
            parameter.requires_grad = False
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError(
            "No weight of the network is trained: freeze fewer, add layers, or hold those of a "
            "list in nn.ModuleList."
        )


def trained_parameters(network: nn.Module) -> tuple[nn.Parameter, ...]:
    """Return the parameters that have a gradient, in the network's order."""
    return tuple(p for p in network.parameters() if p.requires_grad)


def set_rate_factors(
    optimiser: torch.optim.Optimizer, network: Network, factors: Sequence[tuple[str, float]]
) -> tuple[nn.Parameter, ...]:
    """Give layers a group of the optimiser each, whose rate is a multiple of the others'.

    Args:
        optimiser: New, with one group.
        network: Whose parameters it moves.
        factors: Name of a layer or weight, as in `freeze`, with its factor. Where two names match
            a weight, the last one counts.

    Returns:
        The parameters in the order of the groups.

    Raises:
        ValueError: If a name is of no weight that is trained, or the optimiser has groups already.
    """
    if factors:
        if len(optimiser.param_groups) != 1:
            raise ValueError(
                f"rate_factors makes groups of the optimiser's one group, got "
                f"{len(optimiser.param_groups)}: leave rate_factors out, or build one group."
            )
        (group,) = optimiser.param_groups
        factor_of = dict.fromkeys(group["params"], 1.0)
        for name, factor in factors:
            trained = [p for p in _named(network, name, "rate_factors") if p in factor_of]
            if not trained:
                raise ValueError(f"rate_factors names '{name}', whose weights are all frozen.")
            factor_of |= dict.fromkeys(trained, factor)
        optimiser.param_groups = [
            {
                **group,
                RATE_FACTOR: factor,
                "params": [p for p, f in factor_of.items() if f == factor],
            }
            for factor in dict.fromkeys(factor_of.values())
        ]
    return tuple(p for group in optimiser.param_groups for p in group["params"])


def _named(network: Network, name: str, setting: str) -> list[nn.Parameter]:
    """Return the parameters of a layer, or one by its name.

    Raises:
        ValueError: If there are none.
    """
    known = {of_user.removeprefix("module."): p for of_user, p in network.named_parameters()}
    found = [p for known_name, p in known.items() if f"{known_name}.".startswith(f"{name}.")]
    if not found:
        steps = [known_name.split(".") for known_name in known]
        paths = {".".join(step[:depth]): None for step in steps for depth in range(1, len(step))}
        outermost = dict.fromkeys(step[0] for step in steps)
        raise ValueError(
            f"{setting} names '{name}', which is no layer or weight of the network."
            f"{hint(name, [*paths, *known])} Its outermost layers: {', '.join(outermost)}."
        )
    return found
