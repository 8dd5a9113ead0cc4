"""The words that tell users of parts are those of the parts themselves."""

from importlib import import_module
from pathlib import Path

import pytest

from capsmodel.evaluation import EVALUATIONS
from capsmodel.part_descriptions import described_parts, markdown_table
from capsmodel.settings.parts import family_class, kind_of
from tests.capsmodel.testing.test_contracts import FAMILIES

PARTS = described_parts()


def test_every_member_of_every_family_is_described_once() -> None:
    members = {
        (member.family, member.model_fields["kind"].default) for f in FAMILIES for member in f
    }
    described = [(part.family, part.kind) for part in PARTS]
    assert set(described) == members
    assert len(described) == len(members)


def test_every_part_says_what_it_is_and_what_each_setting_means() -> None:
    for part in PARTS:
        assert part.summary.endswith("."), part
        assert not [setting.name for setting in part.settings if not setting.meaning], part


def test_every_part_with_a_source_says_how_it_differs() -> None:
    for part in PARTS:
        assert not part.source or part.source.startswith("none") or part.difference, part


def test_an_evaluation_that_no_sweep_may_declare_says_so() -> None:
    said = [part.kind for part in PARTS if "a sweep must not declare it" in part.summary]
    assert said == [
        kind_of(evaluation) for evaluation in EVALUATIONS if evaluation.is_measured_in_training
    ]
    assert said == ["test_error"]


def test_a_description_holds_source_difference_settings_and_profiles() -> None:
    (em,) = described_parts("em")
    assert em.source.startswith("Hinton, Sabour and Frosst 2018")
    assert em.difference.endswith(".")
    assert list(em.profiles) == ["paper", "official", "normalised"]
    assert "centre_momentum=0.9" in em.profiles["official"]
    (iterations,) = [setting for setting in em.settings if setting.name == "iterations"]
    assert iterations.default == "3"
    assert iterations.allowed == "an integer from 1 to 100"
    assert iterations.meaning.startswith("Rounds.")


def test_every_part_is_imported_as_it_says() -> None:
    for part in PARTS:
        cls = getattr(import_module(part.home), part.class_name)
        assert (kind_of(cls), family_class(cls).family) == (part.kind, part.family)


def test_a_family_is_asked_for_as_a_whole() -> None:
    assert {part.kind for part in described_parts("routing")} >= {"dynamic", "leaky", "em"}


def test_a_misspelt_part_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValueError, match=r"Unknown part 'dynamc'\. Did you mean 'dynamic'"):
        described_parts("dynamc")


PAGE = Path(__file__).parents[2] / "docs" / "parts.md"
STARTS, ENDS = "<!-- parts -->\n", "<!-- end of parts -->"


def write_page() -> None:
    """Write the page's table of parts anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(STARTS)
    text = before + STARTS + markdown_table(PARTS) + ENDS + rest.partition(ENDS)[2]
    PAGE.write_text(text, encoding="utf-8")


def test_the_pages_table_of_parts_is_that_of_the_parts() -> None:
    table = PAGE.read_text(encoding="utf-8").partition(STARTS)[2].partition(ENDS)[0]
    assert table == markdown_table(PARTS), "write it: tests.capsmodel.test_described.write_page()"
