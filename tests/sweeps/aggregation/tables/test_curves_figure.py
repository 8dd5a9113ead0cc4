"""Curves over the epochs: what enters a line, what is said of the rest, and equal bytes."""

import csv
import io
import math
from typing import Any

import pytest

from capsmodel.metrics import TRAIN_LOSS, VALIDATION_ERROR
from search_spaces.tables import CurvesFigure
from sweeps.aggregation.rendering.csv_text import to_csv
from sweeps.aggregation.rendering.figure_style import drawn as drawn_as
from sweeps.aggregation.results.arm_curves import ArmCurve, arm_curves
from sweeps.aggregation.tables.curves_figure import (
    MOST_LINES,
    curves_data,
    curves_figure,
    shown_curve,
)
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from tests.sweeps.aggregation.known_sweep import (
    by_key,
    finished,
    known_sweep,
    manifest_of,
    trial_key,
    unfinished,
)
from tests.sweeps.aggregation.small_search import confirmed_search, search_of, trained

SPEC = CurvesFigure()


def falling(records: dict[str, TrialRecord], epochs: int = 6) -> dict[str, dict[int, float]]:
    """Return a history a record: an error that falls to that of its last epoch."""
    return {
        key: {
            epoch: (trial.validation_error or 0) * (1 + 0.5 * (epochs - epoch))
            for epoch in range(1, epochs + 1)
        }
        for key, trial in records.items()
    }


def drawn(manifest: Manifest, records: dict[str, TrialRecord], **more: Any) -> list[ArmCurve]:
    return arm_curves(manifest, records, falling(records, **more))


def figure(
    image_format: Any,
    manifest: Manifest,
    records: dict[str, TrialRecord],
    histories: dict[str, dict[int, float]] | None = None,
) -> bytes:
    curves = arm_curves(manifest, records, histories or falling(records))
    return drawn_as(lambda: curves_figure(manifest, curves, SPEC), image_format)


def notes_of(
    manifest: Manifest,
    records: dict[str, TrialRecord],
    monkeypatch: pytest.MonkeyPatch,
    histories: dict[str, dict[int, float]] | None = None,
) -> str:
    """Return the text that stands above the legend."""
    import matplotlib.figure

    titles: list[str] = []
    real = matplotlib.figure.Figure.legend

    def legend(self: Any, *arguments: Any, **named: Any) -> Any:
        titles.append(named["title"])
        return real(self, *arguments, **named)

    monkeypatch.setattr("matplotlib.figure.Figure.legend", legend)
    figure("svg", manifest, records, histories)
    return " ".join(titles[0].split())


def test_an_errors_line_is_the_mean_over_the_seeds_in_percent() -> None:
    trials = by_key(finished("a", 0, 5), finished("a", 1, 5))
    histories = {trial_key("a", 0): {1: 0.5, 2: 0.1}, trial_key("a", 1): {1: 0.3, 2: 0.2}}
    (recorded,) = arm_curves(manifest_of(["a"], [0, 1]), trials, histories)
    curve = shown_curve(recorded, VALIDATION_ERROR)
    assert curve.means == pytest.approx([40.0, 15.0])
    assert curve.ends == ([30.0, 10.0], [50.0, 20.0])


def test_a_loss_is_not_in_percent() -> None:
    trials = by_key(finished("a", 0, 5))
    histories = {trial_key("a", 0): {1: 0.5}}
    (curve,) = arm_curves(manifest_of(["a"], [0]), trials, histories)
    assert curve.means == [0.5]
    losses = to_csv(curves_data("x", [curve], TRAIN_LOSS))
    assert "train_loss,train_loss_lowest" in losses


def test_trials_that_did_not_run_to_their_end_enter_no_line() -> None:
    curves = {curve.arm.arm.name: curve for curve in drawn(*known_sweep())}
    assert curves["wild"].seeds == (2,)
    assert curves["late"].seeds == ()
    assert curves["uniform"].seeds == (0, 1, 2)


def test_a_trial_that_a_scheduler_stopped_enters_no_line_whatever_became_of_it() -> None:
    manifest = manifest_of(["a"], [0, 1])
    cells = [cell.model_dump() for cell in manifest.cells]
    cells[0]["stopped"] = {"epoch": 2, "value": 0.5}
    stopped = Manifest.model_validate(manifest.model_dump() | {"cells": cells})
    (curve,) = drawn(stopped, by_key(finished("a", 0, 5), finished("a", 1, 5)))
    assert curve.seeds == (1,)


def test_a_line_ends_with_the_last_epoch_that_all_seeds_have() -> None:
    trials = by_key(finished("a", 0, 5), finished("a", 1, 5))
    histories = {trial_key("a", 0): {1: 0.5, 2: 0.1}, trial_key("a", 1): {1: 0.3}}
    (curve,) = arm_curves(manifest_of(["a"], [0, 1]), trials, histories)
    assert list(curve.points) == [1]
    assert curve.is_cut


def test_the_figure_says_what_its_band_is_and_who_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = notes_of(*known_sweep(), monkeypatch)
    assert "Band: from the lowest to the highest seed." in notes
    assert "wild (1 failed, 1 diverged); late (1 missing, 2 unfinished)." in notes


def test_the_figure_says_who_does_not_measure_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ran to their end, and are not among those that did not."""
    manifest = manifest_of(["a", "b"], [0, 1])
    trials = by_key(*(finished(arm, seed, 5) for arm in "ab" for seed in (0, 1)))
    measured = {trial_key("a", seed): {1: 0.5} for seed in (0, 1)}
    notes = notes_of(manifest, trials, monkeypatch, measured)
    assert "Left out, as no part of theirs measures it: b." in notes
    assert "did not run to their end" not in notes


def test_the_figure_says_who_missed_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, records = known_sweep()
    late = {key: record.model_copy(update={"target": "missed"}) for key, record in records.items()}
    notes = " ".join(notes_of(manifest, late, monkeypatch).split())
    assert "3 of 3 trials of uniform never reached their target within 15 epochs." in notes
    assert "target" not in notes_of(manifest, records, monkeypatch)


def test_the_figure_of_a_smaller_sweep_says_so_first(monkeypatch: pytest.MonkeyPatch) -> None:
    manifest, records = known_sweep()
    departed = manifest.model_copy(update={"departures": {"stopping.epochs": (30, 3)}})
    assert notes_of(departed, records, monkeypatch).startswith(
        "The sweep was launched smaller than declared: "
    )


@pytest.mark.parametrize("image_format", ["png", "svg"])
def test_equal_results_give_equal_bytes(image_format: str) -> None:
    manifest, records = known_sweep()
    first = figure(image_format, manifest, records)
    assert figure(image_format, manifest, dict(reversed(records.items()))) == first


@pytest.mark.parametrize("image_format", ["png", "svg"])
def test_another_result_gives_another_figure(image_format: str) -> None:
    manifest, records = known_sweep()
    changed = records | by_key(finished("no decoder", 0, 6))
    assert figure(image_format, manifest, changed) != figure(image_format, manifest, records)


def test_the_csv_holds_every_arm_and_epoch() -> None:
    rows = list(
        csv.DictReader(
            io.StringIO(to_csv(curves_data("x", drawn(*known_sweep()), VALIDATION_ERROR)))
        )
    )
    assert len(rows) == 5 * 6
    last = rows[5]
    assert (last["arm"], last["epoch"], last["n"]) == ("three rounds", "6", "3")
    assert float(last["validation_error_percent"]) == pytest.approx(100 * 7 / 600)


def test_what_is_not_finite_is_a_gap() -> None:
    trials = by_key(finished("a", 0, 5))
    histories = {trial_key("a", 0): {1: math.inf, 2: 0.5, 3: math.nan}}
    manifest = manifest_of(["a"], [0])
    curves = arm_curves(manifest, trials, histories)
    assert to_csv(curves_data("x", curves, VALIDATION_ERROR)).splitlines()[1] == "a,1,1,,,"
    assert drawn_as(lambda: curves_figure(manifest, curves, SPEC), "png")


@pytest.mark.parametrize(
    "names",
    [
        ["only"],
        [r"$\undefined$", "_hidden"],
        [f"{place} {'long ' * 30}" for place in range(MOST_LINES + 3)],
    ],
)
def test_a_figure_can_be_drawn_of(names: list[str]) -> None:
    manifest = manifest_of(names, [0])
    trials = [finished(name, 0, 5 + place) for place, name in enumerate(names)]
    assert figure("png", manifest, by_key(*trials))
    failed = by_key(*(unfinished(name, 0, Outcome.FAILED, "no") for name in names))
    assert figure("png", manifest, failed)
    assert figure("png", manifest, {})


def test_of_a_search_the_confirmed_arms_and_the_reference_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notes = notes_of(*confirmed_search(), monkeypatch)
    assert "It shows the confirmed arms and what they are compared with (proposal" in notes
    assert "Left out" not in notes
    rows = to_csv(curves_data("x", drawn(*confirmed_search()), VALIDATION_ERROR))
    assert "proposal 0" in rows


def test_before_a_confirmation_all_proposals_of_full_length_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = trained({0: 30, 1: 6, 2: 12})
    notes = notes_of(search_of(stopped={3: 2}), records, monkeypatch)
    assert "It shows" not in notes
    assert "proposal 3 (1 missing)" in notes


def test_as_many_arms_can_be_drawn_where_the_baseline_has_no_result() -> None:
    names = [str(place) for place in range(MOST_LINES + 3)]
    trials = by_key(*(finished(name, 0, 5) for name in names[1:]))
    assert figure("png", manifest_of(names, [0]), trials)


def test_arms_beyond_those_that_can_be_told_apart_are_said_to_be_in_the_csv(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [str(place) for place in range(MOST_LINES + 3)]
    trials = by_key(*(finished(name, 0, 5) for name in names))
    notes = notes_of(manifest_of(names, [0]), trials, monkeypatch)
    assert f"It shows the first {MOST_LINES} arms; 3 others are left out." in notes
