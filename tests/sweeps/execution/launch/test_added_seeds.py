"""Seeds that a launch has added stay in the sweep, and a launch says so. It takes two seconds."""

from pathlib import Path
from typing import Any

import pytest

from search_spaces import Sweep
from sweeps.cli.commands.plan import print_plan
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.records.errors import BadInput
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design, searching

Added = tuple[Launches, pytest.CaptureFixture[str]]


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    """A sweep of three arms and the seeds 0 and 1, which were trained."""
    first = Launches(tmp_path, design(), monkeypatch)
    assert first.run().num_trained == 6
    return first


def planned(launches: Launches, sweep: Sweep | None = None, **options: Any) -> Survey:
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    return survey_of(sweep or design(), LaunchOptions(**(places | options)))


def said(launches: Launches, capsys: pytest.CaptureFixture[str], **options: Any) -> str:
    """Return what a launch prints."""
    capsys.readouterr()
    launches.run(**options)
    return capsys.readouterr().out


def test_a_seed_that_is_there_is_named_with_what_is_left_to_train(
    launches: Launches, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "already" not in said(launches, capsys, add_seeds=(2,))

    nothing = "Seed 2 is already in this sweep; nothing is left to train."
    assert planned(launches, add_seeds=(2,)).seeds_sentence == nothing
    assert nothing in said(launches, capsys, add_seeds=(2,))
    print_plan(planned(launches, add_seeds=(1, 2)))
    several = "Seeds 1-2 are already in this sweep; nothing is left to train."
    assert several in capsys.readouterr().out
    more = "Seed 2 is already in this sweep; 3 of 12 trials are left to train."
    assert more in said(launches, capsys, add_seeds=(2, 3))
    again = planned(launches, add_seeds=(2,), retrain=True)
    assert again.seeds_sentence.endswith("12 of 12 trials are left to train.")


def test_a_sweep_is_done_if_all_is_trained_and_recorded_under_its_name(launches: Launches) -> None:
    assert planned(launches).is_done
    assert planned(launches, replace=True).is_done
    for more in ({"name": "another"}, {"seeds": (0,)}, {"add_seeds": (2,)}, {"retrain": True}):
        assert not planned(launches, **more).is_done, more


def test_a_new_sweep_has_the_seeds_that_it_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = planned(Launches(tmp_path, design(), monkeypatch), add_seeds=(1, 2))
    assert new.seeds_sentence == (
        "Seed 1 is already in this sweep; 9 of 9 trials are left to train."
    )


def test_a_launch_without_options_resumes_with_added_seeds(
    launches: Launches, capsys: pytest.CaptureFixture[str]
) -> None:
    launches.run(add_seeds=(3,))
    launches.run(add_seeds=(2,))

    survey = planned(launches)
    assert survey.refusal is None
    assert survey.definition.manifest.seeds == (0, 1, 3, 2)
    assert survey.definition.manifest.planned_seeds == (0, 1)
    assert survey.seeds_sentence == (
        "Seeds 2-3 were added by an earlier launch and stay in this sweep; nothing is left to "
        "train."
    )
    assert survey.seeds_sentence in said(launches, capsys)
    assert survey.definition.manifest == planned(launches, add_seeds=(2,)).definition.manifest
    more = planned(launches, design(num_arms=4))
    assert "4 of 16 trials are left to train." in more.seeds_sentence
    of_file = planned(launches, design(seeds=(0, 1, 2, 4)))
    assert of_file.definition.manifest.seeds == (0, 1, 2, 4, 3)
    assert of_file.earlier_seeds.resumed == (3,)


def test_seeds_that_the_first_launch_added_stay_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, design(), monkeypatch)
    launches.run(add_seeds=(2,))
    assert launches.run().num_cells == 9


@pytest.mark.parametrize(
    ("sweep", "options", "gone"),
    [
        (design(), {"seeds": (0, 1)}, "2"),
        (design(), {"add_seeds": None, "seeds": (0, 2)}, "1"),
        (design(seeds=(1,)), {}, "0"),
        (design(num_arms=2), {}, None),
        (design(), {"epochs": 1}, None),
    ],
    ids=["seeds by option", "another by option", "a seed of the file", "an arm", "epochs"],
)
def test_what_would_be_dropped_is_refused(
    launches: Launches, sweep: Sweep, options: dict[str, Any], gone: str | None
) -> None:
    launches.run(add_seeds=(2,))
    refusal = planned(launches, sweep, **options).refusal
    assert refusal is not None
    assert ("seeds" in refusal) == (gone is not None)
    assert gone is None or f"the seeds {gone} are not in it" in refusal


def test_seeds_in_place_of_those_of_the_file_are_not_added_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, design(), monkeypatch)
    launches.run(seeds=(5, 6))
    with pytest.raises(BadInput, match="the seeds 5, 6 are not in it"):
        launches.run()


def test_replace_drops_added_seeds(launches: Launches) -> None:
    launches.run(add_seeds=(2,))
    assert planned(launches, replace=True).definition.manifest.seeds == (0, 1)
    assert launches.run(replace=True).num_cells == 6


def test_the_seeds_of_a_search_are_never_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = Launches(tmp_path, searching(), monkeypatch)
    launches.run()
    assert planned(launches, searching()).seeds_sentence == ""
