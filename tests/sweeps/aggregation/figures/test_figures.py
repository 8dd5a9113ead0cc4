import pytest

from sweeps.aggregation.figures.ablation_figure import ablation_figure
from sweeps.aggregation.rendering.figure_style import drawn
from tests.sweeps.aggregation.known_sweep import by_key, finished, known_sweep, manifest_of


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

    def set_yticks(self, ticks, told=None, **named):
        labels.extend(told or ())
        return real(self, ticks, told, **named)

    monkeypatch.setattr("matplotlib.axes.Axes.set_yticks", set_yticks)
    manifest, records = known_sweep()
    late = {key: one.model_copy(update={"target": "missed"}) for key, one in records.items()}
    drawn(lambda: ablation_figure(manifest, late), "png")

    assert "uniform (3 missed the target)" in labels
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

    assert titles[0].startswith("Made smaller than declared: stopping.epochs 3 instead of 30.\n")


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
