import importlib
import inspect

import pytest
import torch
from jaxtyping import TypeCheckError

from capsmodel.losses import MarginLoss
from tests.checked_types import modules_with_shapes


@pytest.mark.usefixtures("checked")
def test_shapes_in_signatures_are_checked_here() -> None:
    with pytest.raises(TypeCheckError):
        MarginLoss().loss(torch.zeros(3, 10), torch.zeros(4, dtype=torch.int64), 0.0)


def test_every_module_that_states_shapes_has_them_checked() -> None:
    names = modules_with_shapes()
    functions = [
        function
        for name in names
        for _, function in inspect.getmembers(importlib.import_module(name), inspect.isfunction)
        if function.__module__ == name
    ]
    assert len(functions) > len(names) > 60
    assert [function for function in functions if not hasattr(function, "__wrapped__")] == []
