"""None"""

import dataclasses

import pytest
from matplotlib.text import Text

from sweeps.aggregation.rendering.figure_style import drawn as drawn_as
from sweeps.aggregation.sensitivity.importance import Importance
from sweeps.aggregation.sensitivity.sensitivity import sensitivity
from sweeps.aggregation.tables.search_figure import parallel_figure
from sweeps.aggregation.tables.sensitivity_figure import importance_figure, marginals_figure
from sweeps.aggregation.tables.sensitivity_table import sensitivity_figures
from sweeps.records.trial_record import Outcome
from tests.sweeps.aggregation.known_search import broken, choices, ended, floats, ints, search_of
from tests.sweeps.aggregation.known_sweep import by_key

pytestmark = pytest.mark.usefixtures("rough_importances")


DIMENSIONS = [
    choices(r"routing $\x$ " + "long_name." * 12, "dynamic", "em $", True, 1.5),
    ints("iterations", 1, 40, conditions={"routing": "dynamic"}),
    floats("rate", 1e-4, 1e-2, log=True),
]


NAME = DIMENSIONS[0]["name"]


PARAMS = [
    {NAME: "dynamic", "iterations": 3, "rate": 1e-3},
    {NAME: "em $", "rate": 1e-4},
    {NAME: True, "rate": 5e-3},
    {NAME: "dynamic", "iterations": 39, "rate": 1e-2},
    {NAME: 1.5, "rate": 2e-3},
]


TRIALS = (ended(0, 0.02), ended(1, 0.9), ended(2, 0.04), broken(4, Outcome.DIVERGED))


def figures_of(*trials, image_format="svg", params=PARAMS):
    manifest = search_of(DIMENSIONS, params, stopped={3: (2, 0.5)} if len(params) > 3 else {})
    analysis = sensitivity(manifest, by_key(*trials), at_the_first_rung)
    return images_of(analysis, image_format)


def at_the_first_rung(trials, metric):
    return {trial.trial_key: {2: trial.metrics[metric]} for trial in trials}


def images_of(analysis, image_format="svg"):
    figures = sensitivity_figures(analysis, "what-matters")
    return {figure.name: drawn_as(figure.draw, image_format) for figure in figures}


@pytest.fixture(scope="module")
def drawn():
    return figures_of(*TRIALS)


def test_each_figure_is_named_after_the_declared_table(drawn):
    ends = ("marginals", "history", "parallel")

    assert list(drawn) == [f"what-matters-{end}" for end in ends], "too few trials weigh settings"


def test_equal_results_give_equal_bytes(drawn):
    assert figures_of(*reversed(TRIALS)) == drawn


def test_equal_results_give_equal_pixels():
    first = figures_of(*TRIALS, image_format="png")

    assert figures_of(*reversed(TRIALS), image_format="png") == first


def test_another_result_gives_another_course(drawn):
    changed = figures_of(ended(0, 0.03), *TRIALS[1:])

    assert changed["what-matters-history"] != drawn["what-matters-history"]
    assert changed["what-matters-marginals"] != drawn["what-matters-marginals"]


def test_importances_are_drawn_by_their_verdicts():
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS), by_key(*TRIALS))
    first, *others = analysis.settings
    settings = (
        dataclasses.replace(first, importance=Importance(0.4, 0.001, 0.01)),
        *(
            dataclasses.replace(setting, importance=Importance(-0.05, 0.5, 1.0))
            for setting in others
        ),
    )
    weighed = dataclasses.replace(analysis, settings=settings)

    figure = importance_figure(weighed)
    texts = texts_of(figure)
    assert "matters" in texts
    assert "not told from 0" in texts
    widths = [bar.get_width() for bar in figure.axes[0].patches]
    assert widths == [40.0, *[0.0] * len(others)]
    assert next(iter(images_of(weighed))) == "what-matters-importance"


def test_figures_hold_no_date_and_no_version(drawn):
    for svg in drawn.values():
        assert b"dc:date" not in svg
        assert b"Matplotlib" not in svg


@pytest.mark.parametrize(
    ("trials", "ends"),
    [
        ((), ["history"]),  # of a proposal that was stopped
        (TRIALS[:1], ["marginals", "history", "parallel"]),
        (TRIALS[3:], ["history"]),
    ],
)
def test_nothing_is_drawn_where_there_is_nothing_to_show(trials, ends):
    assert list(figures_of(*trials)) == [f"what-matters-{end}" for end in ends]


def test_a_search_that_has_proposed_nothing_has_no_figures():
    assert not figures_of(params=[])


def texts_of(figure):
    return " ".join(text.get_text() for text in figure.findobj(Text))


def test_means_by_value_stay_where_errors_lie():
    trials = [ended(number, 0.99 if number % 2 else 0.01) for number in range(4)]
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS[:4]), by_key(*trials))
    low, high = marginals_figure(analysis).axes[0].get_ylim()
    assert -2.0 <= low < 1.0
    assert 99.0 < high <= 102.0


def test_a_line_goes_on_past_a_setting_that_the_trial_has_not():
    analysis = sensitivity(search_of(DIMENSIONS, PARAMS), by_key(*TRIALS))
    axes = parallel_figure(analysis.results).axes[0]

    lines = [tuple(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) == 2]
    assert (0, 2) in lines  # past the iterations, which em has not
    assert (0, 1) in lines


def test_no_interval_and_no_name_of_a_level_is_cut_off():
    long = "a_very_long_name_of_a_level"
    params = [{"kind": "b", "rate": 1.0 + n} for n in range(4)]
    trials = [ended(n, value) for n, value in enumerate((0.1, 0.1, 0.5, 0.5))]
    dimensions = [choices("kind", long, "b"), floats("rate", 1.0, 4.0)]
    analysis = sensitivity(search_of(dimensions, params), by_key(*trials))
    figure = marginals_figure(analysis)

    interval = analysis.settings[0].marginals[1].objective
    low, high = figure.axes[0].get_ylim()
    assert interval.low < 0, "where no error lies: it is cut"
    assert low <= 0 < 10 < 50 < 100 * interval.high <= high
    assert long in texts_of(figure)
