"""What became of a sweep's evaluations in a launch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FailedEvaluation:
    """An evaluation that raised."""

    arm: str
    seed: int
    kind: str
    reason: str


@dataclass(frozen=True)
class EvaluationsMade:
    """What became of a sweep's evaluations in a launch.

    Attributes:
        num_made: In this launch.
        num_there: Of the sweep's finished trials, made now or earlier.
        num_wanted: That its finished trials should have.
        num_not_available: That cannot be made, as the weights are gone.
        failures: Those that raised.
        log: Where the traceback of a failed one is, "" where there is none.
    """

    num_made: int
    num_there: int
    num_wanted: int
    num_not_available: int = 0
    failures: tuple[FailedEvaluation, ...] = ()
    log: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether every finished trial has every evaluation."""
        return self.num_there == self.num_wanted

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to tell of it."""
        there = f"{self.num_there} of {self.num_wanted} there"
        told = [f"Evaluations: {self.num_made} made now, {there}."]
        told += [
            f"failed: {failed.kind} of {failed.arm}, seed {failed.seed}: {failed.reason}"
            for failed in self.failures
        ]
        if self.failures:
            told.append(f"Their log: {self.log}")
        if self.num_not_available:
            told.append(not_available(self.num_not_available))
        return tuple(told)


def not_available(number: int) -> str:
    """Return a sentence that says how many evaluations cannot be made, and how to go on."""
    are, their, trials = ("is", "its", "trial") if number == 1 else ("are", "their", "trials")
    return (
        f"{number} evaluation{'s' * (number != 1)} {are} not available, as the weights of {their} "
        f"{trials} were not kept: train the sweep anew (--fresh), or leave the evaluation out of "
        f"it."
    )
