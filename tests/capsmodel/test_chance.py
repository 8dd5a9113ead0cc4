"""What draws and is compiled refuses a generator, which no compiler takes."""

from collections.abc import Callable

import pytest
import torch

from capsmodel import chance


@pytest.mark.parametrize("draw", [chance.uniform, chance.normal])
def test_a_generator_is_refused_where_something_is_compiled(
    draw: Callable[..., torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator()
    assert draw((2, 3), generator).shape == (2, 3)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    with pytest.raises(RuntimeError, match=r"generator=None, and set the seed by torch\.manual"):
        draw((2, 3), generator)
    assert draw((2, 3), None).shape == (2, 3)
