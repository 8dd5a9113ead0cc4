"""The figure of an ablation: what it draws, and what stands above it."""

import pytest

from sweeps.aggregation.rendering.figure_style import drawn
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.departures import departure_sentence
from sweeps.aggregation.tables import ablation_figure as ablation
from tests.sweeps.aggregation.known_predictions import predictions_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, known_sweep, manifest_of


def ablation_figure(manifest, records, predictions=None):
    arms = arm_results(manifest, records)
    compared = ablation_comparisons(manifest, arms, predictions or {})
    return ablation.ablation_figure(manifest, arms, compared)


@pytest.mark.parametrize("image_format", ["png", "svg"])
def test_equal_results_give_equal_bytes(image_format):
    manifest, records = known_sweep()
    backwards = dict(reversed(records.items()))

    first = drawn(lambda: ablation_figure(manifest, records), image_format)
    assert drawn(lambda: ablation_figure(manifest, backwards), image_format) == first


@pytest.mark.parametrize("image_format", ["png", "svg"])
def test_another_result_gives_another_figure(image_format):
    manifest, records = known_sweep()
    changed = records | by_key(finished("no decoder", 0, 6))

    assert drawn(lambda: ablation_figure(manifest, changed), image_format) != drawn(
        lambda: ablation_figure(manifest, records), image_format
    )


def test_a_vector_figure_holds_no_date_and_no_version():
    svg = drawn(lambda: ablation_figure(*known_sweep()), "svg")

    assert b"dc:date" not in svg
    assert b"Matplotlib" not in svg


def test_settings_of_the_users_own_do_not_enter():
    import matplotlib

    expected = drawn(lambda: ablation_figure(*known_sweep()), "svg")
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30}):
        assert drawn(lambda: ablation_figure(*known_sweep()), "svg") == expected
        assert matplotlib.rcParams["font.size"] == 30


def test_an_arm_that_missed_its_target_says_so(monkeypatch):
    import matplotlib.axes

    labels = []
    real = matplotlib.axes.Axes.set_yticks

    def set_yticks(self, ticks, texts=None, **named):
        labels.extend(texts or ())
        return real(self, ticks, texts, **named)

    monkeypatch.setattr("matplotlib.axes.Axes.set_yticks", set_yticks)
    manifest, records = known_sweep()
    late = {key: record.model_copy(update={"target": "missed"}) for key, record in records.items()}
    drawn(lambda: ablation_figure(manifest, late), "png")

    assert (
        "no decoder (3 missed the\ntarget)" in labels
        or "no decoder (3 missed the target)" in labels
    )
    assert "wild (n = 1, 1 missed the target)" in labels


def test_the_figure_of_a_smaller_sweep_differs_by_what_its_title_says(monkeypatch):
    import matplotlib.axes

    titles = []
    real = matplotlib.axes.Axes.set_title

    def set_title(self, label, *arguments, **named):
        titles.append(label)
        return real(self, label, *arguments, **named)

    monkeypatch.setattr("matplotlib.axes.Axes.set_title", set_title)
    manifest, records = known_sweep()
    departed = manifest.model_copy(update={"departures": {"stopping.epochs": (30, 3)}})
    drawn(lambda: ablation_figure(departed, records), "png")

    sentence = departure_sentence(departed)
    assert "stopping.epochs 3 instead of 30 (--epochs)." in sentence
    assert " ".join(titles[0].split()).startswith(sentence)


@pytest.mark.parametrize(
    ("arms", "seeds"),
    [
        (["only"], [0]),
        ([r"$\undefined$", "$x$"], [0]),
        ([f"{n} {'long ' * 30}" for n in range(20)], [0, 1]),
    ],
)
def test_a_figure_can_be_drawn_of(arms, seeds):
    trials = [finished(arm, seed, 5 + seed) for arm in arms for seed in seeds]

    assert drawn(lambda: ablation_figure(manifest_of(arms, seeds), by_key(*trials)), "png")
    assert drawn(lambda: ablation_figure(manifest_of(arms, seeds), {}), "png")


def lines_of(axes, width):
    return [
        tuple(line.get_xdata())
        for line in axes.lines
        if line.get_linewidth() == width and line.get_linestyle() != "None"
    ]


def test_seeds_stand_on_the_left_and_nothing_there_looks_like_a_test():
    manifest, records = known_sweep()
    seeds = ablation_figure(manifest, records, predictions_of(records)).axes[0]

    assert sum(len(points.get_offsets()) for points in seeds.collections) == 3 * 3
    spans = [line for line in seeds.lines if len({*line.get_xdata()}) > 1]
    assert spans == []
    assert list(seeds.patches) == []
    assert list(seeds.containers) == []


def test_on_the_right_stands_each_difference_with_the_intervals_of_the_table():
    wrong = {"base": (6, 7, 8), "worse": (60, 66, 72), "near": (7, 6, 9)}
    trials = [finished(arm, seed, n) for arm, row in wrong.items() for seed, n in enumerate(row)]
    records = by_key(*trials)
    manifest = manifest_of(wrong, margin_points=0.5)
    predictions = predictions_of(records)
    compared = ablation_comparisons(manifest, arm_results(manifest, records), predictions)
    figure = ablation_figure(manifest, records, predictions)
    _, right = figure.axes

    for width, intervals in (
        (3, [comparison.difference for comparison in compared]),
        (0.9, [comparison.simultaneous for comparison in compared]),
    ):
        ends = [(100 * interval.low, 100 * interval.high) for interval in intervals]
        assert set(ends) <= set(lines_of(right, width))
    assert (0, 0) in lines_of(right, 0.9), "the zero line"
    (margin,) = right.patches
    assert (margin.get_x(), margin.get_width()) == (-0.5, 1.0)
    bold = [label.get_text() for label in figure.axes[0].get_yticklabels() if is_bold(label)]
    assert bold == ["worse"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "95 %, for new seeds and new test images" in legend
    assert "seeds alone, no verdict" not in legend


def is_bold(label):
    return label.get_fontweight() == "bold"


def test_differences_that_rest_on_seeds_alone_are_marked():
    figure = ablation_figure(*known_sweep())
    hollow = [line for line in figure.axes[1].lines if line.get_markerfacecolor() == "white"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]

    assert len(hollow) == 3  # one round = uniform, no decoder, wild
    assert lines_of(figure.axes[1], 3) == []
    assert "seeds alone, no verdict" in legend
    assert not any(is_bold(label) for label in figure.axes[0].get_yticklabels())


def test_of_very_many_arms_the_first_are_drawn_and_the_baseline(monkeypatch):
    monkeypatch.setattr(ablation, "MOST_ROWS", 3)
    names = ["a", "b", "c", "d", "e"]
    manifest = manifest_of(names, seeds=[0], baseline="d")
    trials = [finished(name, 0, 5 + place) for place, name in enumerate(names)]
    figure = ablation_figure(manifest, by_key(*trials))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "d"]
    assert "(the first 3; 2 more in the table)" in figure.axes[0].get_title(loc="left")


def test_arms_with_identical_results_stand_in_one_row_as_in_the_table():
    labels = [
        label.get_text() for label in ablation_figure(*known_sweep()).axes[0].get_yticklabels()
    ]

    assert labels == ["three rounds", "one round = uniform", "no decoder", "wild (n = 1)", "late"]
