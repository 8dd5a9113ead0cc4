"""What trials warned of: said under every table that their figures are in."""

from collections.abc import Iterator, Sequence
from itertools import islice

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.plain_text import one_line, shortened

_MOST_NOTES = 5
_LONGEST_NOTE = 200


def health_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what trials warned of, the first few, and how many more there are."""
    notes = list(_warnings(arms))
    yield from islice(notes, _MOST_NOTES)
    if len(notes) > _MOST_NOTES:
        more = len(notes) - _MOST_NOTES
        yield f"Health: {more} more such line{'s' * (more > 1)}: see the warnings in trials.csv."


def _warnings(arms: Sequence[ArmResults]) -> Iterator[str]:
    for arm in arms:
        for seed, trial in arm.trials.items():
            for warning in trial.warnings if trial else ():
                text = shortened(warning, _LONGEST_NOTE)
                yield f"Health: {one_line(arm.arm.name)} seed {seed}: {text}"
