"""What tables and plans say of a fraction: what it mixes, in short names, long lists shortened."""

from typing import Any

import pytest

from search_spaces import FractionalFactorial, PlackettBurman
from sweeps.aggregation.results.design_sentences import alias_sentences, generator_sentences
from sweeps.aggregation.tables.ablation_notes import ablation_notes
from sweeps.records.manifest import Manifest
from tests.search_spaces.designs.test_designs import manifest_of
from tests.search_spaces.designs.test_fractions import factors


def notes(plan: Any) -> list[str]:
    return [*alias_sentences(manifest_of(plan))]


def test_a_fraction_of_resolution_three_names_the_sums_that_it_finds() -> None:
    manifest = manifest_of(FractionalFactorial(factors=factors(5), generators=("D=AB", "E=AC")))

    mixed, sums = alias_sentences(manifest)
    assert mixed == (
        "8 of 32 combinations, resolution III: a main effect cannot be distinguished from "
        "interactions of two other factors, whatever the number of seeds. Interactions of three "
        "and more factors are taken to be nothing."
    )
    assert sums == (
        "Found only as a sum: batch_size = class_dim x reconstruction = iterations x "
        "learning_rate; class_dim = batch_size x reconstruction; iterations = batch_size x "
        "learning_rate; reconstruction = batch_size x class_dim; and 3 more sums."
    )
    assert [*generator_sentences(manifest)] == [
        "Made by D=AB, E=AC, where the factors are A batch_size, B class_dim, C iterations, D "
        "reconstruction, E learning_rate."
    ]
    assert set(alias_sentences(manifest)) <= {*ablation_notes(manifest, (), (), "")}


def test_higher_resolutions_say_what_is_clear() -> None:
    four, *sums = notes(FractionalFactorial(factors=factors(4)))
    assert "resolution IV: main effects are clear of interactions of two factors, which" in four
    assert sums == [
        "Found only as a sum: batch_size x class_dim = iterations x reconstruction; "
        "batch_size x iterations = class_dim x reconstruction; "
        "batch_size x reconstruction = class_dim x iterations."
    ]
    assert notes(FractionalFactorial(factors=factors(5))) == [
        "16 of 32 combinations, resolution V: main effects and interactions of two factors are "
        "clear of each other. Interactions of three and more factors are taken to be nothing."
    ]


def test_a_screen_says_that_an_interaction_can_pass_for_a_main_effect() -> None:
    (note,) = notes(PlackettBurman(factors=factors(11)))
    assert note.startswith("12 of 2,048 combinations, resolution III: each main effect takes on")
    assert "an interaction can pass for a main effect" in note


@pytest.mark.parametrize("number", [9, 13])
def test_however_many_effects_are_mixed_the_notes_are_short(number: int) -> None:
    for note in notes(FractionalFactorial(factors=factors(number), resolution=3)):
        assert len(note) <= 800


def test_a_full_factorial_and_listed_arms_say_nothing() -> None:
    manifest = manifest_of(FractionalFactorial(factors=factors(5)))
    content = manifest.model_dump(mode="json")
    content["design"] = {"kind": "factorial", "factors": {"a": [1, 2]}, "same": {}}
    for design in (content["design"], None):
        other = Manifest.model_validate({**content, "design": design})
        assert [*alias_sentences(other), *generator_sentences(other)] == []


def test_a_manifest_tells_the_same_when_it_is_read_again() -> None:
    manifest = manifest_of(FractionalFactorial(factors=factors(7), resolution=3))
    reloaded = Manifest.model_validate_json(manifest.model_dump_json())
    assert reloaded == manifest
    assert [*alias_sentences(reloaded)] == [*alias_sentences(manifest)]
