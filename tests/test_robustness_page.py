"""The sweep of the page on robustness is one that can be launched."""

from search_spaces import Sweep
from tests.pages import page, snippets


def test_the_pages_sweep_declares_six_evaluations() -> None:
    names: dict[str, object] = {}
    (sweep_file,) = snippets(page("robustness"))
    exec(sweep_file, names)
    sweep = names["SWEEP"]
    assert isinstance(sweep, Sweep)
    assert len(sweep.evaluations) == 6
    assert len({one.model_dump_json() for one in sweep.evaluations}) == 6
