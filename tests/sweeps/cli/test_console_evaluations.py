"""What is printed of evaluations: numbers in the unit of their metric, texts as they are."""

import pytest

from capsmodel.metrics import Metric
from sweeps.aggregation.results.found_evaluations import FoundEvaluation
from sweeps.cli.console import console
from sweeps.cli.console_evaluations import print_found
from sweeps.records.evaluation_record import EvaluationRecord

KEY = "ab" * 10
TOLD = EvaluationRecord(
    evaluation_key=KEY,
    trial_key="0" * 20,
    evaluation={"kind": "look", "most": 3},
    looks_at="test",
    metrics={"wrong": 0.125, "steps": 12.5, "unheard": 2.0},
    schemas=(Metric(name="wrong", unit="fraction"), Metric(name="steps", words="[steps]")),
    pictures=("dot",),
    left_out=("no\nother",),
    time=1,
    fence=1,
)


def lines(capsys: pytest.CaptureFixture[str], *found: FoundEvaluation) -> list[str]:
    print_found(found, console())
    return capsys.readouterr().out.splitlines()


def test_each_metric_is_in_its_unit(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, FoundEvaluation(KEY, TOLD.metrics, TOLD)) == [
        "evaluation look (most 3), of test images",
        "  wrong: 12.50 %",
        "  [steps]: 12.5",
        "  unheard: 2",
        "  pictures: dot",
        "  no other",
    ]


def test_one_whose_file_is_gone_has_the_numbers_of_the_record(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lines(capsys, FoundEvaluation(KEY, {"wrong": 0.125}, None)) == [
        f"evaluation {KEY}: its file is gone or cannot be read",
        "  wrong: 0.125",
    ]
    assert lines(capsys) == []
