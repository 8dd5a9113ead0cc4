"""What a prompt and a notebook show of a plan, of a launch's result, and of how far a sweep is."""

from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.status import CellStatus, SweepStatus
from sweeps.execution.survey.survey import survey_of
from tests.sweeps.aggregation.rendering.seen_html import checked
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design


def test_a_plan_and_a_result_say_how_many_cells_there_are(tmp_path, monkeypatch):
    launches = Launches(tmp_path, design(), monkeypatch)
    places = {"storage": launches.storage.root, "tracking_uri": ADDRESS}
    options = LaunchOptions.model_validate(places)
    before = survey_of(design(), options)
    name = before.name
    assert repr(before) == f"<Plan {name}: 6 cells, 6 to train>"
    arm = before.definition.manifest.arms[0].name
    assert arm in checked(before).text
    assert "0, 1" in checked(before).text, "seeds to train"

    result = launches.run()
    assert repr(result) == f"<SweepResult {name}: 6 trained now, 6 of 6 cells filled>"
    checked(result)
    assert repr(survey_of(design(), options)) == f"<Plan {name}: 6 cells, 0 to train>"
    fewer = survey_of(design(), LaunchOptions.model_validate(places | {"epochs": 1}))
    assert repr(fewer).endswith(", refused>")
    assert "would be refused" in checked(fewer).text


def test_a_status_shows_how_many_cells_of_each_arm_are_in_which_state():
    cells = manifest(arms=("<b>base", "other"), seeds=(0, 1)).cells
    states = ("finished", "finished", "finished", "missing")
    statuses = tuple(CellStatus(cell, state) for cell, state in zip(cells, states, strict=True))
    status = SweepStatus("known", statuses, ("<b>base", "other"), None, is_recorded=True)

    assert repr(status) == "<SweepStatus known: 4 cells, 3 finished, 1 missing>"
    assert checked(status).text == "status of knownarmfinishedmissing<b>base2other11"
