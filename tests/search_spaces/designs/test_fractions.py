"""Fractions and screens of two levels: their rows, what they mix, and what is refused."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.overrides import with_settings
from search_spaces import FractionalFactorial, PlackettBurman
from search_spaces.plans.designs.fractional import LETTERS, Fraction, fraction_of, fractions_for
from search_spaces.plans.designs.two_level import TwoLevelDesign
from tests.search_spaces.declared import sweep
from tests.search_spaces.designs.test_designs import (
    BASE,
    DECODER,
    ITERATIONS,
    ROUTING,
    designed,
    manifest_of,
    refused,
)

A, B, C, D, E = FIVE = (
    "batch_size",
    "model.class_dim",
    ITERATIONS,
    DECODER,
    "optimiser.learning_rate",
)
LEVELS: Mapping[str, tuple[Any, Any]] = {
    A: (32, 128),
    B: (16, 8),
    C: (1, 3),
    D: ("none", "fully_connected"),
    E: (1e-3, 1e-4),
    "loss": ("margin", "cross_entropy"),
    "model.primary_dim": (4, 8),
    "model.primary_types": (8, 32),
    "model.conv_channels": (16, 256),
    "model.init_scale": (1.0, 0.3),
    "model.dropout": (0.0, 0.5),
    "model.batch_norm": (False, True),
    "stopping.epochs": (3, 5),
}
# Montgomery, Design and Analysis of Experiments, and Box, Hunter and Hunter: I = ABD = ACE = BCDE
TEXTBOOK = """
A = BD = CE = ABCDE
B = AD = CDE = ABCE
C = AE = BDE = ABCD
D = AB = BCE = ACDE
E = AC = BCD = ABDE
BC = DE = ACD = ABE
BE = CD = ABC = ADE
"""


def factors(number: int) -> dict[str, tuple[Any, ...]]:
    return dict(list(LEVELS.items())[:number])


def signs(rows: Sequence[Sequence[bool]]) -> np.ndarray:
    return 1 - 2 * np.array(list(rows), dtype=int)


def contrast(columns: np.ndarray, effect: Sequence[int]) -> np.ndarray:
    return columns[:, list(effect)].prod(axis=1)


def titled(letters: str) -> str:
    return " x ".join(FIVE["ABCDE".index(letter)] for letter in letters)


def test_the_fraction_of_the_textbook_has_the_aliases_of_the_textbook() -> None:
    design = manifest_of(
        FractionalFactorial(factors=factors(5), generators=("D=AB", "E=AC"))
    ).design

    assert design
    assert (design.resolution, design.generators) == (3, ("D=AB", "E=AC"))
    assert not design.is_partly_aliased
    chains = [line.split(" = ") for line in TEXTBOOK.strip().splitlines()]
    short = [[word for word in chain if len(word) < 3] for chain in chains]
    expected = {
        titled(word): {titled(other) for other in chain if other != word}
        for chain in short
        for word in chain
    }
    assert {effect: {*others} for effect, others in design.aliases.items()} == expected
    assert list(design.aliases)[:6] == [*FIVE, titled("AB")]
    assert design.aliases[A] == (titled("BD"), titled("CE"))


def test_the_rows_of_the_textbook_multiply_to_its_defining_relation() -> None:
    fraction = fraction_of(5, ("D=AB", "E=AC"))
    columns = signs(list(fraction.rows()))

    for word in ("ABD", "ACE", "BCDE"):
        assert (contrast(columns, ["ABCDE".index(letter) for letter in word]) == 1).all()
    for line in TEXTBOOK.strip().splitlines():
        contrasts = [
            contrast(columns, ["ABCDE".index(x) for x in word]) for word in line.split(" = ")
        ]
        assert all((column == contrasts[0]).all() for column in contrasts)
    assert fraction.num_arms == len({*fraction.rows()}) == 8


fractions = st.integers(3, 11).flatmap(lambda number: st.sampled_from([*fractions_for(number)]))


@settings(max_examples=40, deadline=None)
@given(fractions)
def test_a_fraction_is_balanced_and_of_the_resolution_that_it_tells(fraction: Fraction) -> None:
    columns = signs(list(fraction.rows()))
    places = range(fraction.num_factors)
    assert columns.shape == (fraction.num_arms, fraction.num_factors)
    assert (columns[0] == 1).all(), "the first row is that of all first levels"

    def is_constant(size: int) -> bool:
        subsets = itertools.combinations(places, size)
        return any(abs(contrast(columns, subset).sum()) == len(columns) for subset in subsets)

    assert not any(is_constant(size) for size in range(1, fraction.resolution))
    assert is_constant(fraction.resolution)


@settings(max_examples=20, deadline=None)
@given(fractions)
def test_effects_are_aliased_where_their_columns_are_one_and_nowhere_else(
    fraction: Fraction,
) -> None:
    columns = signs(list(fraction.rows()))
    places = range(fraction.num_factors)
    effects = [(place,) for place in places] + list(itertools.combinations(places, 2))
    for effect, other in itertools.permutations(effects, 2):
        product = abs(contrast(columns, effect) @ contrast(columns, other))
        assert product in {0, len(columns)}
        assert (other in fraction.mixed_with(effect)) == (product == len(columns))


@given(
    st.lists(st.floats(-9, 9), min_size=5, max_size=5),
    st.lists(st.floats(-9, 9), min_size=10, max_size=10),
)
def test_what_is_found_is_the_sum_of_an_effect_and_its_aliases(
    main: list[float], pairs: list[float]
) -> None:
    fraction = fraction_of(5, ("D=AB", "E=AC"))
    columns = signs(list(fraction.rows()))
    effects = [(place,) for place in range(5)] + list(itertools.combinations(range(5), 2))
    planted = dict(zip(effects, [*main, *pairs], strict=True))
    measured = sum(size * contrast(columns, effect) for effect, size in planted.items())

    for effect, size in planted.items():
        estimate = (measured * contrast(columns, effect)).mean()
        mixed = sum(planted[other] for other in fraction.mixed_with(effect))
        assert estimate == pytest.approx(size + mixed, abs=1e-9)


@pytest.mark.parametrize("minus", ["D=-AB", "d = -ba"])
def test_a_minus_takes_the_other_half_with_the_same_aliases(minus: str) -> None:
    plus = fraction_of(4, ("D=AB",))
    other = fraction_of(4, (minus,))

    assert {*plus.rows()}.isdisjoint(other.rows())
    assert len({*plus.rows(), *other.rows()}) == 16
    assert other.alike == plus.alike


def test_a_generator_may_stand_for_any_of_the_factors() -> None:
    columns = signs(list(fraction_of(4, ("B=AD",)).rows()))
    assert (columns[:, 1] == columns[:, 0] * columns[:, 3]).all()
    assert len({tuple(row) for row in columns}) == 8


@pytest.mark.parametrize(
    ("number", "plan", "num_arms", "resolution"),
    [
        (5, {}, 16, 5),
        (6, {}, 16, 4),
        (7, {}, 16, 4),
        (8, {}, 16, 4),
        (7, {"resolution": 3}, 8, 3),
        (4, {"resolution": 3}, 8, 4),
        (6, {"resolution": 5}, 32, 6),
        (6, {"asks": ((A, B), (A, C))}, 16, 4),
        (6, {"asks": ((A, B), (E, C))}, 32, 6),  # of E=ABC, F=ABD
    ],
)
def test_the_smallest_fraction_that_answers_is_taken(
    number: int, plan: Any, num_arms: int, resolution: int
) -> None:
    fraction = FractionalFactorial(factors=factors(number), **plan).fraction
    assert (fraction.num_arms, fraction.resolution) == (num_arms, resolution)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(3, len(LEVELS)),
    st.sampled_from([FractionalFactorial, PlackettBurman]),
    st.data(),
)
def test_the_base_is_the_first_row_whichever_of_the_levels_it_has(
    number: int, kind: type[TwoLevelDesign], data: st.DataObject
) -> None:
    turned = {
        path: levels if data.draw(st.booleans()) else levels[::-1]
        for path, levels in factors(number).items()
    }
    chosen = {path: data.draw(st.sampled_from(levels)) for path, levels in turned.items()}
    base = with_settings(BASE, {p: v for p, v in chosen.items() if v != "fully_connected"})
    resolution = {"resolution": 3} if kind is FractionalFactorial else {}
    arms = sweep(base=base, plan=kind(factors=turned, **resolution)).arms()

    assert (arms[0].name, arms[0].config) == ("base", base)
    for arm in arms:
        assert arm.changes.keys() == turned.keys(), "each arm tells all of its levels"
        differing = [path for path in turned if arm.changes[path] != chosen[path]]
        assert arm.name.count("=") == len(differing) or arm.name.startswith(("base", "row "))
        assert len(arm.name) <= 200


def test_without_the_base_the_first_row_is_the_baseline_by_its_levels() -> None:
    plan = FractionalFactorial(factors={"batch_size": (8, 9), B: (16, 8), C: (1, 3)}, resolution=3)
    names = [arm.name for arm in designed(plan).arms()]
    assert names == [
        "batch_size=8, class_dim=16, iterations=3",
        "class_dim=8, iterations=1",
        "batch_size=9, iterations=1",
        "batch_size=9, class_dim=8",
    ]
    assert manifest_of(plan).baseline == names[0]


def test_a_name_that_no_record_holds_is_cut_behind_the_number_of_its_row() -> None:
    long = {path: levels for path, levels in LEVELS.items() if path != "loss"}
    long |= {"optimiser.schedule": ("constant", {"kind": "exponential", "factor": 0.25})}
    names = [arm.name for arm in designed(PlackettBurman(factors=long)).arms()]

    cut = [name for name in names if name.startswith("row ")]
    assert cut
    assert len({*names}) == len(names)
    for name in cut:
        assert name.endswith(", ...")
        assert len(name) < 120
    assert all(len(name) <= 200 for name in names)


@settings(max_examples=21, deadline=None)
@given(st.integers(3, 23))
def test_main_effects_of_a_screen_are_clear_of_each_other(number: int) -> None:
    paths = {f"a.setting_{place}": (0, 1) for place in range(number)}
    plan = PlackettBurman(factors=paths)
    columns = signs(list(plan.combinations()))

    assert len(columns) == 4 * (number // 4 + 1)
    assert (columns[0] == 1).all()
    assert (columns.T @ columns == len(columns) * np.eye(number)).all()
    for effect, others in plan.mixed():
        for other in others:
            assert contrast(columns, effect) @ contrast(columns, other)
    mixed = dict(plan.mixed())
    for place in range(number):
        for pair in itertools.combinations(range(number), 2):
            shares = bool(contrast(columns, (place,)) @ contrast(columns, pair))
            assert shares == (pair in mixed.get((place,), ()))
            assert shares == ((place,) in mixed.get(pair, ()))


def test_a_screen_of_eleven_takes_a_third_of_every_interaction_and_says_so() -> None:
    design = manifest_of(PlackettBurman(factors=factors(11))).design
    assert design
    assert design.is_partly_aliased
    assert design.resolution == 3
    assert len(design.aliases[A]) == 45
    assert set(design.aliases[f"{A} x {B}"]) == {*factors(11)} - {A, B}
    columns = signs(list(PlackettBurman(factors=factors(11)).combinations()))
    assert abs(contrast(columns, (0,)) @ contrast(columns, (1, 2))) * 3 == len(columns)


def test_a_screen_of_seven_is_a_fraction_of_resolution_three() -> None:
    design = manifest_of(PlackettBurman(factors=factors(7))).design
    assert design
    assert not design.is_partly_aliased
    assert {len(others) for effect, others in design.aliases.items() if " x " not in effect} == {3}


def test_what_a_full_design_records_has_no_word_of_aliases() -> None:
    from search_spaces import FullFactorial

    design = manifest_of(FullFactorial(factors=factors(3))).design
    assert design
    assert design.model_dump(mode="json").keys() == {"kind", "factors", "same"}


def make(number: int, **plan: Any) -> Any:
    return lambda: FractionalFactorial(factors=factors(number), **plan)


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            make(2),
            "A fraction needs at least 3 factors, got 2: train all 4 combinations with "
            "FullFactorial.",
        ),
        (
            lambda: FractionalFactorial(factors={f"x_{n}": (0, 1) for n in range(16)}),
            "A fraction has at most 15 factors, got 16: screen them with PlackettBurman first.",
        ),
        (
            make(3),
            "There is no fraction of 3 factors with resolution IV: there are resolution III "
            "(4 arms), and FullFactorial with all 8.",
        ),
        (
            make(5, resolution=6),
            "There is no fraction of 5 factors with resolution VI: there are resolution III "
            "(8 arms), resolution V (16 arms), and FullFactorial with all 32.",
        ),
        (
            make(5, resolution=3, asks=((B, D),)),
            f"'{A}' and '{B} x {D}' cannot be distinguished at resolution III (8 arms), and both "
            f"are asked for: it takes resolution=5 (16 arms).",
        ),
        (
            make(5, generators=("D=AB", "E=AC"), asks=((B, C), (D, E))),
            f"'{B} x {C}' and '{D} x {E}' cannot be distinguished at resolution III (8 arms), and "
            f"both are asked for: it takes resolution=5 (16 arms).",
        ),
        (
            make(4, asks=((A, B), (C, D))),
            f"'{A} x {B}' and '{C} x {D}' cannot be distinguished at resolution IV (8 arms), and "
            f"both are asked for: it takes FullFactorial (16 arms).",
        ),
        (make(5, resolution=4, generators=("E=ABCD",)), "The generators decide the resolution"),
        (make(5, asks=((A, "loss"),)), "Unknown factor that is asked for 'loss'."),
        (make(5, asks=((A, A),)), "An interaction is one of two factors"),
        (make(5, generators=("E=ABX",)), "Unknown factor in the generator 'E=ABX' 'X'."),
        (make(5, generators=("E:AB",)), "A generator is written D=AB or D=-AB, got 'E:AB'."),
        (make(5, generators=("E=A",)), "A generator is written D=AB or D=-AB, got 'E=A'."),
        (make(5, generators=("D=AB", "E=AD")), "'E=AD' is to be a product of different factors"),
        (make(5, generators=("D=AAB",)), "'D=AAB' is to be a product of different factors"),
        (make(5, generators=("E=AB", "E=AC")), "The factor E has two generators: E=AB, E=AC."),
        (
            make(5, generators=("D=AB", "E=-BA")),
            "make one of the main effects of D and E: give another product",
        ),
        (
            lambda: FractionalFactorial(factors={**factors(3), "batch_size": (1, 2, 3)}),
            "every factor has two levels, and 'batch_size' has 3: choose two of them",
        ),
        (
            lambda: PlackettBurman(factors={**factors(3), "batch_size": (1,)}),
            "The factor 'batch_size' has the one level 1",
        ),
        (lambda: PlackettBurman(factors=factors(2)), "A screen has 3 to 23 factors, got 2"),
        (
            lambda: PlackettBurman(factors={f"x_{n}": (0, 1) for n in range(24)}),
            "A screen has 3 to 23 factors, got 24: leave some out.",
        ),
        (
            lambda: PlackettBurman(factors={ROUTING: ("dynamic", "uniform"), **factors(4)}),
            f"The factor '{ITERATIONS}' does not exist in the arm 'routing=uniform",
        ),
        (
            lambda: PlackettBurman(factors={ROUTING: ("dynamic", "no"), **factors(4)}),
            "Unknown routing 'no'",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(plan: Any, sentence: str) -> None:
    said = refused(plan)
    assert sentence in said
    assert "\n" not in said


def test_two_levels_that_come_out_as_one_are_refused() -> None:
    decoder = BASE.model.reconstruction  # type: ignore[attr-defined]
    said = refused(
        lambda: FractionalFactorial(
            factors={**factors(3), DECODER: ("fully_connected", decoder)}, resolution=3
        )
    )
    assert f"Both levels of the factor '{DECODER}' give the arm 'base' the same settings" in said


def test_letters_leave_out_the_one_that_stands_for_what_is_constant() -> None:
    assert "I" not in LETTERS
    assert fraction_of(9, ("J=AB",)).num_arms == 256
