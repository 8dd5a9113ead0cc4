"""A sweep as the tests of sweeps declare it, and what it is refused with."""

from typing import Any, ClassVar, Literal

import pytest

from capsmodel import TrainingConfig
from capsmodel.routing import VectorRouting
from search_spaces import Asha, ListedArms, Search, Space, Sweep


class Mine(VectorRouting):
    """A user's own routing, never run here."""

    kind: Literal["mine"] = "mine"
    is_symmetric: ClassVar[bool] = True

    def route(self, votes: Any, *, generator: Any) -> Any:
        raise NotImplementedError


ARMS: dict[str, dict[str, Any]] = {
    "base": {},
    "one": {"model.routing.iterations": 1},
    "uniform": {"model.routing": "uniform"},
    "small": {"model.reconstruction.hidden": (4, 5), "batch_size": 8},
}


def sweep(arms: dict[str, dict[str, Any]] = ARMS, **changes: Any) -> Sweep:
    settings: dict[str, Any] = {
        "name": "example",
        "base": TrainingConfig(),
        "plan": ListedArms(baseline=next(iter(arms)), arms=arms),
        "seeds": (0, 1),
    }
    return Sweep(**(settings | changes))


def refusal(**changes: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        sweep(**changes)
    return str(caught.value)


# Searches.


SPACE = Space.of(TrainingConfig).varied({"model": ("capsnet",)}).only("model.routing.iterations")


def searching(space: Space = SPACE, **changes: Any) -> Sweep:
    plan = Search(space=space, trials=8, scheduler=Asha(grace=0.5))
    return sweep(**({"plan": plan, "seeds": ()} | changes))
