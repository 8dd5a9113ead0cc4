"""A report says how many images each split has, and what is unusual in them."""

from typing import Any

import pytest
import torch

from capsmodel.data import DataSplits, Digits, Images, NearDuplicates, near_duplicate_notes
from capsmodel.data.near_duplicates import NearDuplicate
from sweeps.aggregation.report.data_sentences import data_sentences
from sweeps.aggregation.report.making import make_report
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import points_text
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import finished, manifest_of

COUNTS = {"training": 1257, "validation": 180, "test": 360}
FEW = {"training": 125, "validation": 18, "test": 36}
NOTE = "No image of class 9 is in the test split."


def manifest(**more: Any) -> Manifest:
    made = manifest_of(["base", "few"], seeds=[0], **more)
    config = {"data": {"kind": "digits"}}
    arms = tuple(arm.model_copy(update={"config": config}) for arm in made.arms)
    return made.model_copy(update={"arms": arms})


def records(few: dict[str, int], *notes: str) -> dict[str, TrialRecord]:
    trials = (
        finished("base", 0, 30, num_images=COUNTS),
        finished("few", 0, 40, num_images=few, data_notes=notes),
    )
    return {trial.trial_key: trial for trial in trials}


def test_one_data_set_is_said_once() -> None:
    arms = arm_results(manifest(), records(COUNTS, NOTE))
    assert data_sentences(arms) == (
        "Data digits: 1,257 training, 180 validation and 360 test images.",
        NOTE,
    )


def test_sets_of_one_kind_are_told_apart_by_their_names() -> None:
    made = manifest()
    arms = tuple(
        arm.model_copy(update={"config": {"data": {"kind": "medmnist", "name": name}}})
        for arm, name in zip(made.arms, ("pathmnist", "octmnist"), strict=True)
    )
    results = arm_results(made.model_copy(update={"arms": arms}), records(COUNTS))
    assert data_sentences(results) == (
        "Data medmnist (pathmnist): 1,257 training, 180 validation and 360 test images (base).",
        "Data medmnist (octmnist): 1,257 training, 180 validation and 360 test images (few).",
    )


def test_arms_with_fewer_images_are_named() -> None:
    assert data_sentences(arm_results(manifest(), records(FEW))) == (
        "Data digits: 1,257 training, 180 validation and 360 test images (base).",
        "Data digits: 125 training, 18 validation and 36 test images (few).",
    )


def test_a_fraction_says_which_splits_it_cuts() -> None:
    made = manifest()
    shares = ({"fraction": 0.1}, {"train_fraction": 0.25})
    arms = tuple(
        arm.model_copy(update={"config": {"data": {"kind": "digits", **share}}})
        for arm, share in zip(made.arms, shares, strict=True)
    )
    results = arm_results(made.model_copy(update={"arms": arms}), records(FEW))
    assert data_sentences(results) == (
        "Data digits: 1,257 training, 180 validation and 360 test images, 0.1 of every split, the "
        "test too (base).",
        "Data digits: 125 training, 18 validation and 36 test images, 0.25 of the training split "
        "alone (few).",
    )


def test_a_batch_larger_than_the_training_split_is_said() -> None:
    made = manifest()
    config = {"data": {"kind": "digits"}, "batch_size": 1000}
    arms = tuple(arm.model_copy(update={"config": config}) for arm in made.arms)
    notes = data_sentences(arm_results(made.model_copy(update={"arms": arms}), records(FEW)))
    assert notes[2:] == (
        "The batch size 1,000 is more than the 125 training images, so that an epoch is one step "
        "(few).",
    )


def test_records_that_do_not_tell_them_give_no_note() -> None:
    assert data_sentences(arm_results(manifest(), records({}))[1:]) == ()


def test_the_first_lines_of_a_report_and_the_notes_of_its_tables_say_them() -> None:
    results = Results(manifest(), records(COUNTS, NOTE), lambda *_: {})
    report = make_report(results)
    assert report.provenance.data == data_sentences(results.arms)
    assert all(table.notes[-2:] == report.provenance.data for table in report.sections[0].tables)
    assert report.shown[0].notes[-2:] == report.provenance.data


def test_near_duplicates_across_splits_are_the_first_note_of_each_table() -> None:
    labels = torch.tensor([0, 1])
    split = Images(torch.zeros(2, 1, 8, 8), labels)
    copies = NearDuplicates("test", 2, (NearDuplicate(0, "training", 1, True, False),))
    (copied,) = near_duplicate_notes(Digits(), DataSplits(split, split, split), (copies,))
    report = make_report(Results(manifest(), records(COUNTS, NOTE, copied), lambda *_: {}))
    assert report.provenance.data[0] == copied
    assert report.provenance.data.count(copied) == 1
    assert report.shown[0].notes[0] == copied
    assert all(table.notes[0] == copied for table in report.sections[0].tables)
    assert report.shown[0].notes[-1] == NOTE


@pytest.mark.parametrize(("points", "text"), [(1, "1 point"), (0.5, "0.5 points"), (2, "2 points")])
def test_one_point_is_no_plural(points: float, text: str) -> None:
    assert points_text(points) == text
