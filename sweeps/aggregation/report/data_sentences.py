"""The data of a report in sentences: the images of each split, and what is unusual in them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.plain_text import image_counts_text, large_batch_text, one_line, shortened
from sweeps.records.trial_record import TrialRecord

_COPIES = "near-duplicate"  # is in each note of `near_duplicate_notes` of capsmodel


def data_sentences(arms: Sequence[ArmResults]) -> tuple[str, ...]:
    """Return the numbers of images of each data set and the notes on it, but those on copies.

    Records of unfinished trials and of earlier releases do not have these numbers.

    Args:
        arms: Those of a report, with their trials.
    """
    names: dict[str, list[str]] = {}
    notes: dict[str, None] = {}
    for arm in arms:
        ended = [trial for trial in arm.trials.values() if trial and trial.num_images]
        for trial in ended[:1]:
            counts = one_line(image_counts_text(trial.num_images)) + _share_text(arm)
            names.setdefault(f"Data {data_kind(arm)}: {counts}", []).append(arm.arm.name)
            notes |= dict.fromkeys(_large_batch(arm, trial.num_images.get("training", 0)))
        notes |= dict.fromkeys(note for note in _notes(ended) if _COPIES not in note)
    if len(names) == 1:
        return (*(f"{text}." for text in names), *notes)
    by_arm = (f"{text} ({shortened(', '.join(arms), 200)})." for text, arms in names.items())
    return (*by_arm, *notes)


def copies_across_splits(arms: Sequence[ArmResults]) -> tuple[str, ...]:
    """Return the notes on near-duplicates across splits, whose errors are too small.

    Args:
        arms: Those of a report, with their trials.
    """
    trials = [trial for arm in arms for trial in arm.trials.values() if trial]
    return tuple(dict.fromkeys(note for note in _notes(trials) if _COPIES in note))


def _notes(trials: Iterable[TrialRecord]) -> Iterator[str]:
    return (one_line(note) for trial in trials for note in trial.data_notes)


def _share_text(arm: ArmResults) -> str:
    """Return the share of the data set that is used, or "" for all of it."""
    data: Any = arm.arm.config.get("data")
    settings: dict[str, Any] = data if isinstance(data, dict) else {}
    fraction, of_train = (settings.get(name, 1) for name in ("fraction", "train_fraction"))
    text = f", {fraction:g} of every split, the test too" if fraction != 1 else ""
    return text + (f", {of_train:g} of the training split alone" if of_train != 1 else "")


def _large_batch(arm: ArmResults, num_images: int) -> list[str]:
    """Return a note if an arm's batches are larger than its training split."""
    size: Any = arm.arm.config.get("batch_size")
    if not isinstance(size, int) or not 0 < num_images < size:
        return []
    return [f"{large_batch_text(size, num_images)} ({arm.shown_name})."]


def data_kind(arm: ArmResults) -> str:
    """Return the kind of an arm's data set with the name of the set, "" if its config has none."""
    data: Any = arm.arm.config.get("data")
    settings: dict[str, Any] = data if isinstance(data, dict) else {}
    name = settings.get("name")
    of_name = f" ({name})" if isinstance(name, str) and name else ""
    return one_line(f"{settings.get('kind', '')}{of_name}")
