"""Promotion: who comes to a rung waits there, and goes on once it is one of the best there.

Pure functions of what is known. Judged are arms, by the mean over their seeds, as all rungs do; a
seed waits for its siblings without training on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from search_spaces.plans.decisions import WAIT, Continue, Decision, Pause, Stop
from search_spaces.plans.search import BASE, Search
from sweeps.execution.search.curves import as_rival
from sweeps.execution.search.judging.rungs import Stopping
from sweeps.execution.search.search_known import SearchKnown


class Promotion:
    """Who of a search pauses, who is promoted, and who is given up at its end.

    Args:
        search: Whose scheduler pauses trials.
    """

    def __init__(self, search: Search) -> None:
        self._kept = search.scheduler.kept
        self._num_wanted = search.confirm.best if search.confirm else 1
        self._rungs = cache(search.scheduler.rungs)

    def verdict(self, known: SearchKnown, trial_key: str) -> Sequence[Decision]:
        """Return what follows from an epoch of a trial: whether it waits at its rung.

        What is found beyond a rung has been promoted there: by a launch whose journal is lost, or
        another sweep has trained it. Where one seed of a proposal was promoted, all are.
        """
        trial, curves = known.by_key(trial_key), known.curves
        arm, told = known.arm_of(trial_key), max(trial.epochs, default=0)
        if arm is None or arm == BASE or curves.has_reached_target(trial_key):
            return ()
        if not trial.is_open or trial_key in known.stops:
            return ()
        promoted = {
            rung
            for key, one in known.siblings(trial_key).items()
            for rung in one.judged
            if key not in known.stops or rung != known.stops[key].epoch
        }
        goes_on: list[Decision] = []
        for rung in self._rungs(known.num_epochs[arm]):
            if rung > told:
                break
            is_passed = rung < told and rung not in trial.pauses
            if rung in promoted or is_passed:
                goes_on += [Continue(trial_key, rung)] * (rung not in trial.judged)
            elif rung in trial.pauses or not math.isfinite(curves.of(trial_key)[rung]):
                break
            else:
                return (*goes_on, Pause(trial_key, rung))
        return goes_on

    def room(self, known: SearchKnown, *, is_last: bool) -> Sequence[Decision]:
        """Return what follows from room for another trial, before anything new is proposed.

        Args:
            known: Of the search.
            is_last: Whether nothing new will be proposed.
        """
        return self._promoted(known) or (self._at_the_end(known) if is_last else ())

    def _promoted(self, known: SearchKnown) -> Sequence[Continue]:
        """Return that a proposal goes on: of the highest rung that has one to promote, the best."""
        for rung, ranked in self._ranked(known):
            for number in ranked[: math.floor(len(ranked) * self._kept + 1e-9)]:
                if waiting := _promotable(known, number, rung):
                    return [Continue(key, rung) for key in waiting]
        return ()

    def _at_the_end(self, known: SearchKnown) -> Sequence[Decision]:
        """Return what becomes of those that wait when no more is proposed or promoted.

        As many go on as full lengths are missing, the best of the highest rung first; once they are
        there, or nobody is left to go on, all that wait are stopped.
        """
        if known.is_running:
            return (WAIT,)
        complete = {
            known.first_key(number)
            for number, observation in enumerate(known.observations)
            if observation.state == "complete"
        }
        best = [
            [Continue(key, rung) for key in waiting]
            for rung, ranked in self._ranked(known)
            for number in ranked
            if (waiting := _promotable(known, number, rung))
        ]
        missing = best[: max(0, self._num_wanted - len(complete))]
        return [one for each in missing for one in each] or list(_stops(known))

    def _ranked(self, known: SearchKnown) -> Iterator[tuple[int, list[int]]]:
        """Yield the rungs from the highest down, and who has come to each, the best first."""
        at: dict[int, list[tuple[float, int]]] = {}
        for number, name in enumerate(known.names):
            key = known.first_key(number)
            if known.arm_of(key) != name:  # a trial belongs to its first arm
                continue
            for rung in self._rungs(known.num_epochs[name]):
                value = known.curves.value(key, rung)
                if value is None:
                    break
                at.setdefault(rung, []).append((as_rival(known.cost(value)), number))
                if not math.isfinite(value):  # it has diverged on its way to this rung
                    break
        for rung in sorted(at, reverse=True):
            yield rung, [number for _, number in sorted(at[rung])]


def judge_of(search: Search) -> Stopping | Promotion:
    """Return who judges a search's trials at the rungs of its scheduler."""
    return Promotion(search) if search.scheduler.pauses else Stopping(search.scheduler)


def _promotable(known: SearchKnown, number: int, rung: int) -> list[str]:
    """Return the trials of a proposal that wait at a rung, none where it cannot be whole."""
    key = known.first_key(number)
    trials = known.siblings(key)
    is_lost = any(trial.ended in {"failed", "pruned", "diverged"} for trial in trials.values())
    return [] if is_lost else [key for key, one in trials.items() if one.waits_at == rung]


def _stops(known: SearchKnown) -> Iterator[Stop]:
    """Yield that all who wait are stopped where they do."""
    waiting: Mapping[str, int] = known.waiting
    for number in range(len(known.names)):
        for key in known.siblings(known.first_key(number)):
            if (rung := waiting.get(key)) is not None:
                mean, own = known.curves.value(key, rung), known.curves.of(key)[rung]
                yield Stop(key, rung, own if mean is None or math.isnan(mean) else mean)
