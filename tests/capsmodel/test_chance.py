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


def test_steps_on_the_cpu_draw_from_the_stream_itself() -> None:
    stream = chance.stream(0, "routing")
    before = stream.get_state()
    generator = chance.of_steps(stream, torch.device("cpu"))
    chance.reseed(generator, stream)
    assert generator is stream
    assert torch.equal(stream.get_state(), before)


def test_a_generator_of_another_device_is_seeded_anew_by_its_stream() -> None:
    """What a stream's state decides, a checkpoint of the streams restores."""
    stream, generator = chance.stream(0, "routing"), torch.Generator()
    before = stream.get_state()
    drawn: list[torch.Tensor] = []
    for state in (before, None, before):
        if state is not None:
            stream.set_state(state)
        chance.reseed(generator, stream)
        drawn.append(chance.uniform((4,), generator))
    first, second, third = drawn
    assert torch.equal(first, third)
    assert not torch.equal(first, second)
