"""The sweeps of the page on robustness can be launched, and its example of a module runs."""

from typing import Any

import torch

from search_spaces import Sweep
from tests.pages import page, snippets


def sweep_of(snippet: str) -> Sweep:
    names: dict[str, object] = {}
    exec(snippet, names)
    sweep = names["SWEEP"]
    assert isinstance(sweep, Sweep)
    return sweep


def test_the_pages_first_sweep_declares_six_evaluations() -> None:
    sweep = sweep_of(snippets(page("robustness"))[0])
    assert len(sweep.evaluations) == 6
    assert len({evaluation.model_dump_json() for evaluation in sweep.evaluations}) == 6


def test_the_page_examines_a_plain_module() -> None:
    names: dict[str, Any] = {}
    with torch.random.fork_rng(devices=()):
        exec(snippets(page("robustness"))[1], names)
    assert names["changed"].shape == (40, 1, 8, 8)
    error, by_image = names["errors"]
    assert by_image.double().mean().item() == error
    assert names["routing"].metrics["changed.iterations_3"] == 0


def test_the_pages_second_sweep_stops_in_a_window_that_digits_can_hit() -> None:
    sweep = sweep_of(snippets(page("robustness"))[2])
    sweep.base.stopping.check_validation(num_images=180)
    assert sweep.base.stopping.judged_every_steps
    assert sweep.margin_points
