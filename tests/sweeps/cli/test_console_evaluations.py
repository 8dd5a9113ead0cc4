"""What is printed of evaluations: numbers in the unit of their metric, texts as they are."""

import pytest

from capsmodel.metrics import Metric
from sweeps.aggregation.results.recorded_evaluations import RecordedEvaluation
from sweeps.cli.commands.show import evaluation_lines
from sweeps.cli.commands.status import print_evaluations
from sweeps.execution.survey.status import SweepStatus
from sweeps.execution.survey.surveyed_evaluations import EvaluationState, SurveyedEvaluation
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.manifest_evaluation import ManifestEvaluation

KEY = "ab" * 10
RECORD = EvaluationRecord(
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


def test_each_metric_is_in_its_unit() -> None:
    assert [*evaluation_lines(RecordedEvaluation(KEY, RECORD.metrics, RECORD))] == [
        "evaluation look (most 3), of test images",
        "  wrong: 12.50 %",
        "  [steps]: 12.5",
        "  unheard: 2",
        "  pictures: dot",
        "  no other",
    ]


def test_one_whose_file_is_gone_has_the_numbers_of_the_record() -> None:
    assert [*evaluation_lines(RecordedEvaluation(KEY, {"wrong": 0.125}, None))] == [
        f"evaluation {KEY}: its file is gone or cannot be read",
        "  wrong: 0.125",
    ]


def test_of_each_evaluation_it_is_told_of_how_many_trials_it_is_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    look, other, third = (
        ManifestEvaluation(evaluation_key=key * 10, kind=kind, looks_at="test", settings=settings)
        for key, kind, settings in (
            ("ab", "look", {"most": 3}),
            ("cd", "look", {"at": {"kind": "edges", "width": 0.5}, "steps": [0.1, 0.2, 0.4]}),
            ("ef", "l", {}),
        )
    )
    standing = [(look, state) for state in (*EvaluationState, EvaluationState.TO_MAKE)]
    standing.append((other, EvaluationState.RECORDED))
    planned = tuple(
        SurveyedEvaluation("0" * 20, evaluation, state) for evaluation, state in standing
    )
    print_evaluations(SweepStatus("s", (), (), None, True, (look, other, third), planned))
    assert capsys.readouterr().out.splitlines() == [
        "evaluation look (most 3): 1 recorded, 1 made and not yet recorded, 2 missing, "
        "1 not available, as the weights were not kept",
        "evaluation look (at edges, width 0.5, steps 0.1 to 0.4): 1 recorded",
        "evaluation l: no trial has finished yet",
    ]
    print_evaluations(SweepStatus("s", (), (), None, True))
    assert capsys.readouterr().out == ""
