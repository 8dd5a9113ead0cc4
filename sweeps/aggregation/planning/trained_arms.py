"""What was trained of a sweep's arms, whatever sweep trained it, and what a pilot lacks."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

from sweeps.aggregation.planning.pilot import Pilot, pilot_of
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import comparisons
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.ablation_lead import NO_SPREAD
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class TrainedArms:
    """What was trained of a sweep's arms.

    Attributes:
        manifest: Of the seeds that any arm has a record of.
        records: By trial key.
        predictions: By trial key.
    """

    manifest: Manifest
    records: Mapping[str, TrialRecord]
    predictions: Mapping[str, Predictions]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Those that any arm was trained with, finished or not."""
        return self.manifest.seeds

    @cached_property
    def spread(self) -> Pilot | str:
        """How far seeds and images make the arms vary, or why that is not known."""
        baseline = next(arm for arm in self._arms if arm.is_baseline)
        return pilot_of(comparisons(self._arms, self.predictions), baseline.test_errors)

    @property
    def pilot_seeds(self) -> tuple[int, ...]:
        """Seeds that give a spread once they are trained; empty where none would.

        Three, without those that some arm has lost; more where as many have told nothing.
        """
        whole = [seed for seed in self.seeds if all(self._is_told(arm, seed) for arm in self._arms)]
        if len(whole) >= FEWEST_SEEDS and self.spread != NO_SPREAD:
            return ()
        num = FEWEST_SEEDS * (1 + len(whole) // FEWEST_SEEDS)
        return tuple(islice((seed for seed in count() if not self._is_lost(seed)), num))

    @cached_property
    def _arms(self) -> tuple[ArmResults, ...]:
        return arm_results(self.manifest, self.records)

    def _is_told(self, arm: ArmResults, seed: int) -> bool:
        trial = arm.counted.get(seed)
        return trial is not None and trial.trial_key in self.predictions

    def _is_lost(self, seed: int) -> bool:
        """Return whether an arm has ended with a seed, without a result that can be compared."""
        ended = [(arm, arm.trials.get(seed)) for arm in self._arms]
        return any(
            trial is not None and trial.outcome.is_final and not self._is_told(arm, seed)
            for arm, trial in ended
        )
