"""A report warns where test and validation images do not belong together, and only there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import nchypergeom_fisher

from sweeps.aggregation.rendering.contents import Report
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.statistics.exact_tests import far_apart_p
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestPlan
from tests.sweeps.aggregation.known_search import floats, search_of
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, trial_key
from tools.acceptance import split_alarms as drawn
from tools.acceptance.networks import BOTH_MATTER

CLASSES = 10
SEEDS = range(3)


@dataclass(frozen=True)
class Judged:
    """The predictions of one trial."""

    test: SplitPredictions
    validation: SplitPredictions


def judged(
    num_images: int, wrong: float, seed: int, num_classes: int = CLASSES
) -> SplitPredictions:
    """Return what a network predicts that errs on a share of the images, at random."""
    labels = (np.arange(num_images) % num_classes).astype(np.uint8)
    chance = np.random.default_rng([num_images, seed])
    places = chance.permutation(num_images)[: round(wrong * num_images)]
    classes = labels.copy()
    classes[places] += chance.integers(1, num_classes, len(places), dtype=np.uint8)
    return SplitPredictions(classes % num_classes, labels)


def relabelled(split: SplitPredictions, labels: Mapping[int, int]) -> SplitPredictions:
    """Return the same predictions of images whose classes have been renumbered."""
    numbers = np.array([labels.get(label, label) for label in range(CLASSES)], dtype=np.uint8)
    return replace(split, labels=numbers[split.labels])


def trials(test: tuple[int, float], validation: tuple[int, float]) -> list[Judged]:
    """Return trials whose splits have a size and an error each."""
    return [Judged(judged(*test, seed), judged(*validation, seed + 50)) for seed in SEEDS]


def report_of(
    arms: Mapping[str, Sequence[Judged]], manifest: Manifest | None = None, **of_trials: Any
) -> Report:
    """Return the report of a sweep whose arms predicted this, seed by seed."""
    predictions = {
        trial_key(arm, seed): Predictions("data", trial.test, trial.validation)
        for arm, of_arm in arms.items()
        for seed, trial in enumerate(of_arm)
    }
    records = [
        finished(
            arm,
            seed,
            0,
            test_error=float(trial.test.errors.mean()),
            validation_error=float(trial.validation.errors.mean()),
            data_fingerprint="data",
            **of_trials,
        )
        for arm, of_arm in arms.items()
        for seed, trial in enumerate(of_arm)
    ]
    results = Results(
        manifest or manifest_of(arms, SEEDS),
        by_key(*records),
        lambda *_: {},
        find_predictions=lambda wanted: {
            record.trial_key: predictions[record.trial_key] for record in wanted
        },
    )
    return make_report(results)


def alarms(report: Report) -> list[str]:
    """Return the alarms, each of which is among the first notes, on the terminal and the page."""
    words = ("further apart", "look permuted")
    notes = [note for note in report.table.notes if any(text in note for text in words)]
    num = len(notes)
    assert list(report.table.main_notes[:num]) == notes
    assert list(report.shown[0].main_notes[:num]) == notes
    assert list(report.provenance.data[:num]) == notes
    return notes


def confused(seed: int) -> SplitPredictions:
    """Return predictions of inverted images, two classes of which are mostly exchanged."""
    split = judged(360, 1.0, seed)
    is_exchanged = (split.labels < 2) & (np.random.default_rng(seed).random(360) < 0.64)
    return replace(split, classes=np.where(is_exchanged, 1 - split.labels, split.classes))


HEALTHY = trials((360, 0.03), (180, 0.03))
FAR = {
    "inverted test images": (
        {"base": trials((360, 0.189), (180, 0.0278)), "other": HEALTHY},
        ("base", "18.89 %", "360 test images", "2.78 %", "180 validation images"),
    ),
    "inverted test images that look like other classes": (
        {"base": [replace(HEALTHY[seed], test=confused(seed)) for seed in SEEDS]},
        ("base", "100.00 %", "360 test images", "in 3 of 3 trials"),
    ),
    "test images of another scale": (
        {"base": trials((360, 0.903), (180, 0.0278))},
        ("base", "90.28 %", "360 test images", "2.78 %", "180 validation images"),
    ),
    "test images that were trained on": (
        {"base": trials((1000, 0.0), (500, 0.2))},
        ("base", "0.00 %", "1,000 test images", "20.00 %", "500 validation images"),
    ),
    "one label of twenty wrong": (
        {"base": trials((10_000, 0.06), (7500, 0.01))},
        ("base", "6.00 %", "10,000 test images", "1.00 %", "7,500 validation images"),
    ),
    "one arm of four, on one seed": (
        {
            **dict.fromkeys(("base", "second", "third"), HEALTHY),
            "fourth": [*trials((360, 0.4), (180, 0.03))[:1], *HEALTHY[1:]],
        },
        ("fourth", "seed 0", "40.00 %", "360 test images", "180 validation images"),
    ),
}


@pytest.mark.parametrize(("arms", "parts"), FAR.values(), ids=FAR)
def test_a_test_error_far_from_the_validation_error_is_an_alarm(
    arms: Mapping[str, Sequence[Judged]], parts: Sequence[str]
) -> None:
    (alarm,) = alarms(report_of(arms))
    assert not [part for part in parts if part not in alarm], alarm


SHIFTED = {label: (label + 1) % CLASSES for label in range(CLASSES)}
PERMUTED = {
    "shifted by one": (SHIFTED, "test", ("10 classes", "360 images", "1 for 0")),
    "two classes swapped": ({3: 5, 5: 3}, "test", ("2 classes", "3 for 5", "5 for 3")),
    "three in a circle": (
        {1: 4, 4: 7, 7: 1},
        "test",
        ("3 classes", "4 for 1", "7 for 4", "1 for 7"),
    ),
    "counted backwards": ({label: 9 - label for label in range(10)}, "test", ("10 classes",)),
    "validation labels swapped": ({0: 9, 9: 0}, "validation", ("2 classes", "0 for 9", "9 for 0")),
}


@pytest.mark.parametrize(("labels", "split", "parts"), PERMUTED.values(), ids=PERMUTED)
def test_permuted_labels_are_an_alarm(
    labels: Mapping[int, int], split: str, parts: Sequence[str]
) -> None:
    changed = [
        replace(trial, **{split: relabelled(getattr(trial, split), labels)}) for trial in HEALTHY
    ]
    (alarm,) = alarms(report_of({"base": changed, "other": changed}))
    assert f"labels of the {split} split look permuted" in alarm.lower()
    assert not [part for part in parts if part not in alarm], alarm


def guessed(num_images: int, num_classes: int) -> SplitPredictions:
    """Return predictions that know nothing of their images."""
    labels = (np.arange(num_images) % num_classes).astype(np.uint8)
    chance = np.random.default_rng(num_images)
    return SplitPredictions(chance.integers(num_classes, size=num_images, dtype=np.uint8), labels)


def of_one_class(split: SplitPredictions) -> SplitPredictions:
    """Return predictions of the first class for all images."""
    return replace(split, classes=np.zeros_like(split.classes))


SILENT = {
    "errors alike": HEALTHY,
    "errors as far apart as chance makes them": trials((360, 0.05), (180, 0.02)),
    "no error on few images": trials((100, 0.0), (50, 0.06)),
    "splits of few images": trials((30, 0.4), (10, 0.0)),
    "networks that guess": [Judged(guessed(360 + seed, 10), guessed(180, 10)) for seed in SEEDS],
    "two classes at chance": [Judged(guessed(360 + seed, 2), guessed(180, 2)) for seed in SEEDS],
    "one class for all": [
        Judged(of_one_class(trial.test), of_one_class(trial.validation)) for trial in HEALTHY
    ],
}


@pytest.mark.parametrize("of_arm", SILENT.values(), ids=SILENT)
def test_healthy_splits_give_no_alarm(of_arm: Sequence[Judged]) -> None:
    assert not alarms(report_of({"base": of_arm, "other": of_arm}))


UNLIKE = trials((360, 0.4), (180, 0.03))


def manifest_with(**of_arm: Any) -> Manifest:
    """Return the manifest of one arm that has this."""
    manifest = manifest_of(["base"], SEEDS)
    arms = tuple(arm.model_copy(update=of_arm) for arm in manifest.arms)
    return manifest.model_copy(update={"arms": arms})


def of_objects(trial: Judged, size: int = 2) -> Judged:
    """Return predictions of so many images of each object."""
    splits = {
        name: replace(split, objects=np.arange(len(split.labels)) // size)
        for name, split in vars(trial).items()
    }
    return Judged(**splits)


LEFT_OUT: dict[str, tuple[Sequence[Judged], Manifest, dict[str, Any]]] = {
    "declared": (UNLIKE, manifest_with(shifted_test=True), {}),
    "an extra test, of an earlier release": (
        UNLIKE,
        manifest_with(),
        {"extra_test_errors": {"familiar": 0.03}},
    ),
    "objects, of an earlier release": ([*map(of_objects, UNLIKE)], manifest_with(), {}),
    "stopped by validation": (
        UNLIKE,
        manifest_with(config={"stopping": {"kind": "target_metric"}}),
        {},
    ),
    "tested after the epoch that validation chose": (
        UNLIKE,
        manifest_with(config={"weights": "best"}),
        {"tested_epoch": 3},
    ),
    "chosen by validation": (
        UNLIKE,
        manifest_with().model_copy(
            update={
                "plan": ManifestPlan(
                    kind="path", definition="0", num_cells=9, choosing_seeds=(7,), is_over=True
                )
            }
        ),
        {},
    ),
}


@pytest.mark.parametrize(("of_arm", "manifest", "of_trials"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_a_test_that_is_unlike_validation_by_design_is_not_compared(
    of_arm: Sequence[Judged], manifest: Manifest, of_trials: dict[str, Any]
) -> None:
    assert not alarms(report_of({"base": of_arm}, manifest, **of_trials))
    swapped = [replace(trial, test=relabelled(trial.test, {2: 3, 3: 2})) for trial in of_arm]
    (alarm,) = alarms(report_of({"base": swapped}, manifest, **of_trials))
    assert "3 for 2" in alarm


def test_a_search_whose_validation_chose_is_not_compared() -> None:
    manifest = search_of([floats("rate")], [{"rate": 0.1}], seeds=SEEDS)
    assert not alarms(report_of({"proposal 0": UNLIKE}, manifest))


def test_data_that_declare_one_kind_are_compared_whatever_else_they_have() -> None:
    manifest = manifest_with(shifted_test=False)
    (alarm,) = alarms(report_of({"base": UNLIKE}, manifest, extra_test_errors={"noisy": 0.5}))
    assert alarm.startswith("base (seed 0) errs on 40.00 % of the 360 test images")
    assert alarms(report_of({"base": [*map(of_objects, UNLIKE)]}, manifest))


def test_images_of_one_object_count_once() -> None:
    few = [replace(trial, test=judged(360, 0.15, seed)) for seed, trial in enumerate(UNLIKE)]
    assert alarms(report_of({"base": few}, manifest_with(shifted_test=False)))
    by_object = [of_objects(trial, size=10) for trial in few]
    assert not alarms(report_of({"base": by_object}, manifest_with(shifted_test=False)))


@pytest.mark.parametrize("within", [1.0, 1.25, 3.0])
@pytest.mark.parametrize(
    "counts", [(9, 100, 2, 70), (30, 100, 30, 90), (0, 10, 4, 8), (5, 5, 0, 3), (0, 9, 0, 5)]
)
def test_shares_are_far_apart_as_scipy_computes_it(
    counts: tuple[int, int, int, int], within: float
) -> None:
    count, total, other, num = counts
    if count * num < other * total:
        count, total, other, num = other, num, count, total
    tail = nchypergeom_fisher.sf(count - 1, total + num, count + other, total, within)
    is_within = count * (num - other) <= within * other * (total - count)
    expected = 1.0 if is_within else min(1.0, 2 * tail)
    assert far_apart_p(*counts, within=within) == pytest.approx(expected)


@pytest.mark.parametrize("num_test", [100, 1000])
@pytest.mark.parametrize("fault", [drawn.no_fault, drawn.one_split_easier])
def test_healthy_tables_of_unlike_arms_have_hardly_any_alarm(
    num_test: int, fault: drawn.Fault
) -> None:
    count, _ = drawn.share_with_alarm(BOTH_MATTER, drawn.UNLIKE, num_test, 40, fault)
    assert count <= 1


def test_wrong_labels_of_one_image_in_twenty_are_found() -> None:
    fault = partial(drawn.shifted_labels, 0.05)
    count, num = drawn.share_with_alarm(BOTH_MATTER, [0.01] * 5, 1000, 20, fault)
    assert count >= 0.9 * num
