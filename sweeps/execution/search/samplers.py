"""Optuna's samplers as a search uses them: each seeded by the number of its proposal."""

from typing import TYPE_CHECKING

from search_spaces.plans.search import SAMPLER_FLAGS, Search

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler, NSGAIISampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial


def sampler_of(
    search: Search, number: int, *, num_beside: int = 0, num_redrawn: int = 0
) -> "BaseSampler":
    """Return the sampler of one proposal, seeded by its number, and by how often it was redrawn.

    Args:
        search: Whose.
        number: Of the proposal, from 0.
        num_beside: Points that were trained and are no proposals: no part of the random start.
        num_redrawn: How often the proposal broke a limit.
    """
    import numpy as np
    from optuna.samplers import GPSampler, RandomSampler, TPESampler

    entropy = [search.sampler_seed, number, *[num_redrawn] * (num_redrawn > 0)]
    seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
    num_startup = search.num_startup + num_beside
    match search.sampler:
        case "tpe":
            flags = SAMPLER_FLAGS["tpe"]
            return TPESampler(
                seed=seed,
                n_startup_trials=num_startup,
                multivariate=flags["multivariate"],
                constant_liar=flags["constant_liar"],
                group=flags["group"],
            )
        case "gp":
            return GPSampler(seed=seed, n_startup_trials=num_startup + num_redrawn)
        case "nsga2":
            return _generations(search, num_beside, seed)
        case _:
            return RandomSampler(seed=seed)


def _generations(search: Search, num_beside: int, seed: int) -> "NSGAIISampler":
    """Return NSGA-II whose generations hang on the numbers of the proposals alone.

    Optuna's own notes in its study which trial was asked for in which generation, which a study
    that is built anew has lost.
    """
    from optuna.samplers import NSGAIISampler
    from optuna.trial import TrialState

    size = max(2, search.num_startup)

    class ByNumber(NSGAIISampler):
        def get_trial_generation(self, study: "Study", trial: "FrozenTrial") -> int:
            """Return the generation of a trial; what was trained beside is of the first."""
            return max(0, trial.number - num_beside) // size

        def get_population(self, study: "Study", generation: int) -> "list[FrozenTrial]":
            """Return the trials of a generation that have a result."""
            trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            return [one for one in trials if self.get_trial_generation(study, one) == generation]

    flags = SAMPLER_FLAGS["nsga2"]
    return ByNumber(
        population_size=size,
        crossover_prob=flags["crossover_prob"],
        swapping_prob=flags["swapping_prob"],
        seed=seed,
    )
