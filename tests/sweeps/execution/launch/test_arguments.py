"""The keyword arguments of a launch from Python are its options."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import sweeps
from sweeps.execution.launch_options import LaunchOptions

LAUNCHING = pytest.mark.parametrize("launching", [sweeps.run, sweeps.plan, sweeps.plan_seeds])


@LAUNCHING
def test_its_keyword_arguments_are_the_options_with_their_defaults(
    launching: Callable[..., Any],
) -> None:
    arguments = [
        (name, parameter.default)
        for name, parameter in inspect.signature(launching).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    assert arguments == [
        (name, field.default) for name, field in LaunchOptions.model_fields.items()
    ]


@LAUNCHING
def test_a_renamed_argument_is_refused_with_its_new_name(launching: Callable[..., Any]) -> None:
    with pytest.raises(sweeps.BadInput, match="The option 'fresh' is now called 'retrain'"):
        launching("quickstart", fresh=True)


@LAUNCHING
def test_an_unknown_argument_is_refused_with_the_one_that_was_meant(
    launching: Callable[..., Any],
) -> None:
    with pytest.raises(sweeps.BadInput, match=r"Unknown option 'epoch'. Did you mean 'epochs'?"):
        launching("quickstart", epoch=3)
