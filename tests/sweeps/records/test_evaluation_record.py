"""What an evaluation leaves is read with care: a store may hold what nobody of us wrote."""

from typing import Any

import pytest
from pydantic import ValidationError

from sweeps.records.evaluation_record import EvaluationRecord


def raw_record(evaluation: dict[str, Any], **more: Any) -> dict[str, Any]:
    names = {"evaluation_key": "0" * 20, "trial_key": "1" * 20}
    return {**names, "evaluation": evaluation, "looks_at": "test", "time": 1, "fence": 1, **more}


def test_a_kind_and_its_settings_are_told_apart() -> None:
    record = EvaluationRecord.model_validate(raw_record({"kind": "shifted", "by": 2}))
    assert (record.kind, record.settings) == ("shifted", {"by": 2})


@pytest.mark.parametrize("kind", ["../../outside", "/tmp/x", "", "a\nb", None, 3])
def test_a_kind_that_is_no_name_is_refused(kind: Any) -> None:
    with pytest.raises(ValidationError):
        EvaluationRecord.model_validate(raw_record({"kind": kind}))
    with pytest.raises(ValidationError):
        EvaluationRecord.model_validate(raw_record({}))


@pytest.mark.parametrize("field", ["images", "arrays", "pictures"])
def test_a_file_that_is_named_like_a_path_is_refused(field: str) -> None:
    with pytest.raises(ValidationError):
        EvaluationRecord.model_validate(raw_record({"kind": "x"}, **{field: ["../../outside"]}))
