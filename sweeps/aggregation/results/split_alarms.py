"""Alarms where the splits of a sweep's data do not belong together.

`tools/acceptance/split_alarms.py` counts how often healthy tables have one, and faulty ones none.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.class_names import class_name
from sweeps.aggregation.results.permuted_labels import PermutedClasses, permuted_classes
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.targets import stopping_of
from sweeps.aggregation.statistics.exact_tests import far_apart_p
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed, one_line
from sweeps.records.trial_record import TrialRecord

MOST_FALSE = 0.01
"""In how many tables of healthy splits any error may pass for far apart, at most."""

LIKE_ODDS = 1.25
"""The factor by which the odds of an error may differ between splits of one kind.

On MNIST and Fashion-MNIST those of three classifiers differ by factors of .81 to 1.23 between the
test images and three validation splits.
"""

_MOST_PERMUTED = 0.001
_MOSTLY_RIGHT = 0.5  # of the images, by the permuted labels
_NEARLY_AS_GOOD = 0.75  # as on its best split, where a network is right on few
_MOST_NAMED = 3
_FIXED_LENGTH = "fixed_epochs"


class _Trial(NamedTuple):
    arm: ArmResults
    seed: int
    record: TrialRecord
    predictions: Predictions

    @property
    def name(self) -> str:
        return f"{self.arm.shown_name} (seed {self.seed})"

    @property
    def data(self) -> str:
        """Its data set, to follow the name of a split."""
        settings = self.arm.arm.config.get("data")
        kind = one_line(str(settings.get("kind", ""))) if isinstance(settings, dict) else ""
        return f" of data '{kind}'" * bool(kind)

    @property
    def splits(self) -> Mapping[str, SplitPredictions]:
        predictions = self.predictions
        splits = {"test split": predictions.test}
        if predictions.validation is not None:
            splits["validation split"] = predictions.validation
        extra = predictions.extra_tests.items()
        return splits | {f"extra test '{one_line(name)}'": images for name, images in extra}


def split_alarms(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> tuple[str, ...]:
    """Return a sentence for each data set whose splits do not belong together.

    Args:
        manifest: Tells whether validation images chose anything.
        arms: Those of a report, with their trials.
        predictions: By trial key. Trials without any are left out.
    """
    trials = [
        _Trial(arm, seed, record, predictions[record.trial_key])
        for arm in arms
        for seed, record in arm.counted.items()
        if record.trial_key in predictions
    ]
    permuted = _permuted(trials)
    explained = {fingerprint for fingerprint, _ in permuted}
    others = [trial for trial in trials if trial.predictions.data_fingerprint not in explained]
    return (*permuted.values(), *_far_apart(manifest, others))


def _permuted(trials: Sequence[_Trial]) -> dict[tuple[str, str], str]:
    """Return (fingerprint of data, split) -> a sentence, of splits whose labels look permuted."""
    num_splits = sum(len(trial.splits) for trial in trials)
    sentences: dict[tuple[str, str], str] = {}
    for trial in trials:
        best = max(1 - float(split.errors.mean()) for split in trial.splits.values())
        least = min(_MOSTLY_RIGHT, _NEARLY_AS_GOOD * best)
        for name, split in trial.splits.items():
            place = (trial.predictions.data_fingerprint, name)
            circles = [
                circle
                for circle in permuted_classes(split)
                if circle.log_p <= math.log(_MOST_PERMUTED / num_splits)
            ]
            gained = sum(circle.num_taken - circle.num_own for circle in circles)
            right = float((split.classes == split.labels).mean()) + gained / len(split.labels)
            if circles and right >= least and place not in sentences:
                sentences[place] = _permuted_text(trial, name, circles)
    return sentences


def _permuted_text(trial: _Trial, split: str, circles: Sequence[PermutedClasses]) -> str:
    names = trial.predictions.class_names
    pairs = [
        f"{class_name(names, label)} for {class_name(names, other)}"
        for label, other in sorted(pair for circle in circles for pair in circle.taken_for.items())
    ]
    num_images = sum(circle.num_images for circle in circles)
    taken, own = (
        TEST_ERROR.written(sum(numbers) / num_images)
        for numbers in zip(*((circle.num_taken, circle.num_own) for circle in circles), strict=True)
    )
    return (
        f"Labels of the {split}{trial.data} look permuted: of the {num_images:,} images of "
        f"{len(pairs)} classes, {trial.name} takes {taken} for another class each "
        f"({listed(pairs, _MOST_NAMED)}) and {own} for their own: compare the numbers of these "
        f"classes with those of training."
    )


def _far_apart(manifest: Manifest, trials: Sequence[_Trial]) -> Iterator[str]:
    """Yield a sentence for each data set with test errors far from the validation errors.

    Each trial is tested by itself: given its network, the images of both splits are draws of their
    own, whatever it has in common with other seeds and arms. Bonferroni holds for all together.
    """
    compared = [trial for trial in trials if _is_comparable(manifest, trial)]
    ranked = sorted((_p_value(trial.predictions), place) for place, trial in enumerate(compared))
    far: dict[str, list[_Trial]] = {}
    for p_value, place in ranked:
        if p_value <= MOST_FALSE / len(compared):
            far.setdefault(compared[place].predictions.data_fingerprint, []).append(compared[place])
    for first, *others in far.values():
        validation = first.predictions.validation
        assert validation is not None
        more = f" (in {len(others) + 1} of {len(compared)} trials)"
        yield (
            f"{first.name} errs on {_error_text(first.predictions.test)} test images and on "
            f"{_error_text(validation)} validation images{first.data}, further apart than chance "
            f"explains{more}: compare labels and pixels of both splits, or declare shifted_test in "
            f"the data set if its test images are of another kind by design."
        )


def _is_comparable(manifest: Manifest, trial: _Trial) -> bool:
    """Return whether a trial's validation images are drawn as its test images are.

    They are not where they chose settings, the last epoch or the tested one, or where the data set
    declares other test images. Where it declares nothing, as in stores of earlier releases, extra
    tests and images that count by object are a sign of those.
    """
    predictions = trial.predictions
    is_chosen_by = manifest.search is not None or bool(manifest.choosing_seeds)
    length = stopping_of(trial.arm.arm.config).get("kind", _FIXED_LENGTH)
    is_chosen_by = is_chosen_by or trial.record.tested_epoch is not None
    if predictions.validation is None or is_chosen_by or length != _FIXED_LENGTH:
        return False
    if (is_shifted := trial.arm.arm.shifted_test) is not None:
        return not is_shifted
    splits = (predictions.test, predictions.validation)
    is_of_objects = any(split.objects is not None for split in splits)
    return not is_of_objects and not trial.record.extra_test_errors


def _p_value(predictions: Predictions) -> float:
    assert predictions.validation is not None
    (wrong, num), (others_wrong, num_others) = map(
        _counts, (predictions.test, predictions.validation)
    )
    return far_apart_p(wrong, num, others_wrong, num_others, within=LIKE_ODDS)


def _counts(split: SplitPredictions) -> tuple[int, int]:
    """Return the errors among independent images, and the number of these."""
    return round(float(split.errors.mean()) * split.num_clusters), split.num_clusters


def _error_text(split: SplitPredictions) -> str:
    return f"{TEST_ERROR.written(float(split.errors.mean()))} of the {len(split.labels):,}"
