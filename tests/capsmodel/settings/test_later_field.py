import pytest
from pydantic import BaseModel

from capsmodel.settings.parts import later


class Grown(BaseModel):
    first: int = 1
    more: dict[str, float] = later({})


def test_a_later_field_is_left_out_at_its_default() -> None:
    assert Grown().model_dump_json() == '{"first":1}'
    assert Grown().model_dump() == {"first": 1}


@pytest.mark.parametrize("is_short", [True, False], ids=["short", "whole"])
def test_a_later_field_is_written_where_it_differs(is_short: bool) -> None:
    text = Grown(more={"depth": 2.0}).model_dump_json(exclude_defaults=is_short)
    assert Grown.model_validate_json(text).more == {"depth": 2.0}
