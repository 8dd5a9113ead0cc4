"""The arms of two sweeps that match, and what keeps their results from comparing."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
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
        """Return aspect -> both values, of what differs between the two.

        Another protocol of the code shows as different trial keys of equal settings, seeds and
        data. Under other settings it cannot be known.
        """
        if self.first is None or self.second is None:
            return {}
        first, second = self.first, self.second
        pairs: dict[Aspect, tuple[str, str]] = {
            "data": (_data(_trials(first)), _data(_trials(second))),
            "epochs": (_epochs(_trials(first)), _epochs(_trials(second))),
            "seeds": (_numbers(first.counted), _numbers(second.counted)),
        }
        differences: dict[Aspect, str] = {}
        if paths := _paths(first, second):
            differences["settings"] = paths
        elif pairs["data"][0] == pairs["data"][1] and _has_other_keys(first, second):
            differences["code protocol"] = ""
        for aspect, (left, right) in pairs.items():
            if left and right and left != right:
                differences[aspect] = f"{left} | {right}"
        return differences

    @property
    def differences_text(self) -> str:
        """What differs between the two, in one line."""
        texts = (
            f"{aspect}: {values}" if values else aspect
            for aspect, values in self.differences().items()
        )
        return "; ".join(texts)

    def num_same_trials(self) -> int:
        """Return the number of counted trials that both sweeps share."""
        if self.first is None or self.second is None:
            return 0
        first, second = (
            {trial.trial_key for trial in arm.counted.values()} for arm in (self.first, self.second)
        )
        return len(first & second)


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


def _paths(first: ArmResults, second: ArmResults) -> str:
    """Return the settings that differ, the first few with their values."""
    seeds = [seed for seed in first.trials if seed in second.trials]
    left, right = _settings(first, seeds), _settings(second, seeds)
    paths = [path for path in dict.fromkeys((*left, *right)) if left.get(path) != right.get(path)]
    texts = [f"{path} {_value(left.get(path))} | {_value(right.get(path))}" for path in paths]
    return listed(texts, _MOST_PATHS)


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


def _has_other_keys(first: ArmResults, second: ArmResults) -> bool:
    """Whether a seed of both arms has different trial keys."""
    left, right = first.counted, second.counted
    return any(left[seed].trial_key != right[seed].trial_key for seed in left if seed in right)
