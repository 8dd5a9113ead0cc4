"""The alarms of an arm's trials, in sentences: what `capsmodel.health` found unsound in them."""

from collections.abc import Iterable, Mapping, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.plain_text import one_line, shortened

_MOST_ARMS, _LONGEST = 5, 300
_MOST_IN_NOTE, _LONGEST_IN_NOTE = 3, 160

Alarms = Mapping[str, Sequence[Sequence[str]]]
"""Arm -> the alarms of each of its trials."""


def num_ill(arm: ArmResults) -> int:
    """Return how many of an arm's counted trials have alarms."""
    return sum(bool(trial.warnings) for trial in arm.counted.values())


def alarms_of(arms: Iterable[ArmResults]) -> Alarms:
    """Return the alarms of the counted trials of some arms."""
    return {arm.arm.name: [trial.warnings for trial in arm.counted.values()] for arm in arms}


def alarm_sentences(alarms: Alarms, elsewhere: str = "trials.csv") -> tuple[str, ...]:
    """Return a sentence for each of the first arms that have alarms, and how many others have.

    Args:
        alarms: Those of each arm.
        elsewhere: What has those of the other arms.
    """
    texts = _texts(alarms, _MOST_ARMS, elsewhere, longest=_LONGEST)
    return tuple(f"Health: {text}" for text in texts)


def alarms_in_short(alarms: Alarms) -> str:
    """Return the same in one note, with fewer arms, "" where none has an alarm."""
    texts = _texts(alarms, _MOST_IN_NOTE, "trials.csv", longest=_LONGEST_IN_NOTE)
    return f"Health: {' '.join(texts)}" if texts else ""


def _texts(alarms: Alarms, most: int, elsewhere: str, *, longest: int) -> list[str]:
    """Return the alarms of each arm's first ill trial: those of its others are mostly alike."""
    ill = {arm: [some for some in trials if some] for arm, trials in alarms.items()}
    ill = {arm: trials for arm, trials in ill.items() if trials}
    texts = [
        f"{one_line(arm)}, {len(trials)} of {len(alarms[arm])} trials: "
        f"{shortened(' '.join(trials[0]), longest)}"
        for arm, trials in list(ill.items())[:most]
    ]
    if (more := len(ill) - most) > 0:
        texts.append(f"{more} more arm{'s' * (more > 1)}: see the warnings in {elsewhere}.")
    return texts
