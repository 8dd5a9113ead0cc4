"""Figures of effects: equal bytes of equal results, and words where nothing can be drawn."""

from sweeps.aggregation.rendering.contents import Figure
from sweeps.aggregation.rendering.figure_style import figure_style
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.factor_effects import effects_of
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.effects_figure import effect_figures
from tests.sweeps.aggregation.crossed_sweep import (
    ROUTING,
    WIDTH,
    Changes,
    crossed_manifest,
    crossed_results,
)


def planted(changes: Changes) -> float:
    return 0.2 + 0.12 * (changes[ROUTING] == "uniform")


def figures(results: Results) -> dict[str, Figure]:
    manifest = results.manifest
    arms = arm_results(manifest, results.records)
    estimated = effects_of(manifest, arms, results.predictions)
    return {figure.name: figure for figure in effect_figures(manifest, estimated, "effects")}


def texts_of(figure: Figure) -> str:
    import matplotlib.text

    with figure_style():
        drawing = figure.draw()
    return "\n".join(text.get_text() for text in drawing.findobj(matplotlib.text.Text))


def test_equal_results_give_equal_bytes():
    first, second = (figures(crossed_results(crossed_manifest(), planted)) for _ in range(2))
    assert [*first] == ["effects-levels", "effects-pairs"]
    assert first["effects-levels"].image("svg") == second["effects-levels"].image("svg")
    other = figures(crossed_results(crossed_manifest(), lambda changes: 0.2))
    assert other["effects-levels"].image("svg") != first["effects-levels"].image("svg")


def test_each_panel_says_what_may_be_concluded():
    by_name = figures(crossed_results(crossed_manifest(), planted))
    levels, pairs = texts_of(by_name["effects-levels"]), texts_of(by_name["effects-pairs"])
    assert "routing\n+12." in levels
    assert "points, effect" in levels
    assert "95 % for new seeds and new test images" in levels
    assert "routing x class_dim\n" in pairs
    assert pairs.count("undecided") == 3


def test_without_images_the_bars_are_of_seeds_alone():
    results = crossed_results(crossed_manifest(), planted)
    bare = Results(results.manifest, results.records, results.histories)
    assert "seeds alone, no verdict" in texts_of(figures(bare)["effects-levels"])


def test_a_level_without_a_result_says_so():
    factors = {ROUTING: ("dynamic", "uniform", "random"), WIDTH: (16, 8)}
    manifest = crossed_manifest(factors)
    results = crossed_results(manifest, planted)
    lost = {cell.trial_key for cell in manifest.cells if "random" in cell.arm}
    remaining = {key: record for key, record in results.records.items() if key not in lost}
    by_name = figures(Results(manifest, remaining, results.histories, results.find_predictions))
    assert "no result" in texts_of(by_name["effects-levels"])


def test_panels_that_are_not_drawn_are_counted():
    factors = {f"part_{place}": (0, 1) for place in range(13)}
    base = dict.fromkeys(factors, 0)
    arms = {"base": base} | {path: base | {path: 1} for path in factors}
    by_name = figures(crossed_results(crossed_manifest(factors, arms), lambda changes: 0.2))
    assert "Not drawn: 1 more setting." in texts_of(by_name["effects-levels"])
