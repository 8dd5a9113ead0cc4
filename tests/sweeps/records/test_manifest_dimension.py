"""A dimension of a search's manifest has values: what a store holds may have lost them."""

from typing import Any

import pytest
from pydantic import ValidationError

from sweeps.records.manifest_plan import ManifestDimension

RANGE = {"name": "rate", "path": "rate", "kind": "floats", "low": 0.1, "high": 1.0, "log": True}
CHOICES = {"name": "kind", "path": "kind", "kind": "choices", "choices": ["a"]}


@pytest.mark.parametrize("fields", [RANGE, RANGE | {"low": 1.0}, CHOICES])
def test_a_whole_one_is_read(fields: dict[str, Any]) -> None:
    assert ManifestDimension.model_validate(fields).kind == fields["kind"]


@pytest.mark.parametrize(
    "damaged",
    [
        RANGE | {"low": None},
        RANGE | {"high": None},
        RANGE | {"low": 2.0},
        RANGE | {"low": 0.0},
        CHOICES | {"choices": []},
    ],
)
def test_one_without_values_is_refused(damaged: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="has choices, or a range"):
        ManifestDimension.model_validate(damaged)
