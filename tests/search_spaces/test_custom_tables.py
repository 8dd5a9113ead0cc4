"""A user's own kind of table is told apart from the package's, or refused in one sentence."""

from typing import Any, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from capsmodel import TrainingConfig
from search_spaces import AblationTable, CustomTable, ListedArms, Sweep
from search_spaces.tables import DeclaredTable, RecordedTable, UnknownTable, custom_table_classes


class Worst(CustomTable):
    kind: Literal["worst"] = "worst"
    name: str = "worst"

    def make(self, results: Any) -> Any:
        return results


class Other(Worst):
    name: str = "other"


class Ablation(Worst):
    kind: Literal["ablation"] = "ablation"  # pyright: ignore[reportIncompatibleVariableOverride]


class Makerless(DeclaredTable):
    kind: Literal["makerless"] = "makerless"
    name: str = "makerless"


def refusal(*tables: DeclaredTable) -> str:
    plan = ListedArms(baseline="base", arms={"base": {}})
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        Sweep(name="example", base=TrainingConfig(), plan=plan, seeds=(0,), tables=tables)
    return str(caught.value)


def test_each_class_of_custom_tables_is_listed_once() -> None:
    tables = (AblationTable(), Worst(), Worst(name="again"))
    assert custom_table_classes(tables) == (Worst,)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            (Ablation(),),
            "The kind 'ablation' of Ablation is built in and cannot be overridden: choose another "
            "kind.",
        ),
        (
            (Worst(), Other()),
            "Two tables of your own are of the kind 'worst': choose another kind.",
        ),
        ((Makerless(),), "Makerless cannot be made: derive it from CustomTable."),
    ],
)
def test_a_kind_that_cannot_be_is_one_sentence(
    tables: tuple[DeclaredTable, ...], sentence: str
) -> None:
    assert refusal(*tables) == sentence


def test_a_manifest_keeps_what_it_does_not_know_and_a_sweep_refuses_it() -> None:
    plain = {"kind": "worst", "name": "x", "most": 3, "of": {"a": [1, 2.5]}}
    recorded = TypeAdapter[Any](RecordedTable)
    unknown = recorded.validate_python(plain)
    assert isinstance(unknown, UnknownTable)
    assert recorded.dump_python(unknown, mode="json") == plain
    with pytest.raises(ValidationError, match="name"):
        recorded.validate_python({"kind": "worst", "name": "../x"})
    with pytest.raises(ValidationError, match="kind"):
        recorded.validate_python({"kind": 3, "name": "x"})
