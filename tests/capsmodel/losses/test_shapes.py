import importlib
import inspect

import pytest
import torch
from jaxtyping import TypeCheckError

from capsmodel.losses import MarginLoss
from tests.checked_types import modules_with_shapes


def test_shapes_in_signatures_are_checked_here() -> None:
    with pytest.raises(TypeCheckError):
        MarginLoss().loss(torch.zeros(3, 10), torch.zeros(4, dtype=torch.int64), 0.0)


@pytest.mark.parametrize("name", modules_with_shapes())
def test_a_module_that_states_shapes_has_them_checked(name: str) -> None:
    module = importlib.import_module(name)
    functions = [
        function
        for _, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == name
    ]
    assert all(hasattr(function, "__wrapped__") for function in functions), name
