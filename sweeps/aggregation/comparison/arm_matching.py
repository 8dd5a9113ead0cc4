"""The arms of two sweeps that match, and what keeps their results from comparing."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed, shortened
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.record_facts import flat_settings
from sweeps.tracking.store import RecordStore

Aspect = Literal["settings", "data", "code protocol", "epochs", "seeds"]
_MOST_PATHS = 3
_LONGEST_VALUE = 40
_NONE = "none"


@dataclass(frozen=True)
class ArmMatch:
    """An arm of one sweep with the matching arm of another.

    Attributes:
        first: Arm of the first sweep; None if it has no such arm.
        second: Arm of the second sweep; None if it has no such arm.
        by: What they have in common; "" where one stands alone.
    """

    first: ArmResults | None
    second: ArmResults | None
    by: Literal["config", "name", ""] = ""

    @property
    def name(self) -> str:
        """The first one's name, else the second one's."""
        arm = self.first or self.second
        assert arm is not None
        return arm.arm.name

    def differences(self) -> dict[Aspect, str]:
        """Return aspect -> both values, of what differs between the two."""
        if self.first is None or self.second is None:
            return {}
        return differences_of([self.first, self.second])

    @property
    def differences_text(self) -> str:
        """What differs between the two, in one line."""
        return text_of_differences(self.differences())

    def num_same_trials(self) -> int:
        """Return the number of counted trials that both sweeps share."""
        if self.first is None or self.second is None:
            return 0
        first, second = (
            {trial.trial_key for trial in arm.counted.values()} for arm in (self.first, self.second)
        )
        return len(first & second)


def differences_of(arms: Sequence[ArmResults]) -> dict[Aspect, str]:
    """Return in what matching arms of several sweeps differ: aspect -> a value for each sweep.

    Those are settings of their configs, the epochs among them, and the data, the epochs and the
    seeds of their counted trials. Another protocol of the code shows as different trial keys of
    equal settings, seeds and data. Under other settings it cannot be known.

    Args:
        arms: One of each sweep, in the order of the values.
    """
    values: dict[Aspect, list[str]] = {
        "data": [_data(_trials(arm)) for arm in arms],
        "epochs": [_epochs(_trials(arm)) for arm in arms],
        "seeds": [_numbers(arm.counted) for arm in arms],
    }
    differences: dict[Aspect, str] = {}
    if paths := _paths(arms):
        differences["settings"] = paths
    elif len({*values["data"]}) == 1 and _have_other_keys(arms):
        differences["code protocol"] = ""
    for aspect, texts in values.items():
        if _are_different(texts):
            differences[aspect] = " | ".join(text or _NONE for text in texts)
    return differences


def text_of_differences(differences: Mapping[Aspect, str]) -> str:
    """Return differences in one line."""
    texts = (f"{aspect}: {values}" if values else aspect for aspect, values in differences.items())
    return "; ".join(texts)


def match_arms(first: Sequence[ArmResults], second: Sequence[ArmResults]) -> Iterator[ArmMatch]:
    """Yield the first sweep's arms with those that match, then the other arms of the second.

    Arms match where their whole configs are equal, else where their names are. Each arm stands
    once.
    """
    unmatched = list(second)
    partners: dict[str, tuple[ArmResults, Literal["config", "name"]]] = {}
    for by in ("config", "name"):
        for arm in first:
            if arm.arm.name in partners:
                continue
            partner = next((other for other in unmatched if _key(other, by) == _key(arm, by)), None)
            if partner is not None:
                unmatched = [other for other in unmatched if other is not partner]
                partners[arm.arm.name] = (partner, by)
    for arm in first:
        yield ArmMatch(arm, *partners.get(arm.arm.name, (None, "")))
    for arm in unmatched:
        yield ArmMatch(None, arm)


def comparable_records(store: RecordStore, manifest: Manifest) -> Mapping[str, TrialRecord]:
    """Return the records of a sweep's trials, but for those that its scheduler stopped.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    return store.records({cell.trial_key for cell in manifest.cells if cell.stopped is None})


def differing_sweeps(matched: Sequence[ArmMatch]) -> dict[Aspect, tuple[str, str]]:
    """Return the data and the epochs of each sweep's trials, where they differ."""
    first = [trial for match in matched if match.first for trial in _trials(match.first)]
    second = [trial for match in matched if match.second for trial in _trials(match.second)]
    pairs: dict[Aspect, tuple[str, str]] = {
        "data": (_data(first), _data(second)),
        "epochs": (_epochs(first), _epochs(second)),
    }
    return {aspect: pair for aspect, pair in pairs.items() if all(pair) and pair[0] != pair[1]}


def _key(arm: ArmResults, by: Literal["config", "name"]) -> str:
    return arm.arm.name if by == "name" else json.dumps(arm.arm.config, sort_keys=True)


def _paths(arms: Sequence[ArmResults]) -> str:
    """Return the settings that differ, the first few with their values."""
    seeds = [seed for seed in arms[0].trials if all(seed in arm.trials for arm in arms)]
    settings = [_settings(arm, seeds) for arm in arms]
    by_path = {
        path: [each.get(path) for each in settings]
        for path in dict.fromkeys(path for each in settings for path in each)
    }
    texts = [
        f"{path} {' | '.join(map(_value, values))}"
        for path, values in by_path.items()
        if len(set(values)) > 1
    ]
    return listed(texts, _MOST_PATHS)


def _are_different(texts: Iterable[str]) -> bool:
    """Return whether two of some texts differ; an empty one stands for what is not known."""
    return len({text for text in texts if text}) > 1


def _settings(arm: ArmResults, seeds: Sequence[int]) -> dict[str, str]:
    """Return an arm's settings, with the splits of the seeds that both arms have."""
    settings = flat_settings(arm.arm.config)
    if arm.splits:
        splits = (f"{arm.splits[seed]} of seed {seed}" for seed in seeds or arm.splits)
        settings["data.split_seed"] = ", ".join(splits)
    return settings


def _value(text: str | None) -> str:
    return "not there" if text is None else shortened(text, _LONGEST_VALUE)


def _data(trials: Collection[TrialRecord]) -> str:
    return ", ".join(_several(trial.data_fingerprint for trial in trials))


def _epochs(trials: Collection[TrialRecord]) -> str:
    return _numbers({trial.epochs for trial in trials})


def _several(texts: Iterator[str]) -> list[str]:
    return sorted({shortened(text, _LONGEST_VALUE) for text in texts if text})


def _trials(arm: ArmResults) -> Collection[TrialRecord]:
    return arm.counted.values()


def _numbers(numbers: Collection[int]) -> str:
    """Return whole numbers with their ranges: "0-2, 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _have_other_keys(arms: Sequence[ArmResults]) -> bool:
    """Whether a seed of several arms has different trial keys."""
    keys: dict[int, set[str]] = {}
    for arm in arms:
        for seed, trial in arm.counted.items():
            keys.setdefault(seed, set()).add(trial.trial_key)
    return any(len(each) > 1 for each in keys.values())
