"""Sentences about the proposals that sensitivity rests on, and which way they mislead."""

from collections import Counter
from collections.abc import Iterator

from sweeps.aggregation.results.search_results import ProposalResult
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity


def sample_notes(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield what counts and what does not, and the direction of the bias where there is one."""
    results, sample = sensitivity.results, sensitivity.sample
    words = results.objective.metric.text
    seeds = f", mean over {len(results.seeds)} seeds" if len(results.seeds) > 1 else ""
    when = "of the last epoch" if sample.epoch is None else f"after epoch {sample.epoch}"
    yield (
        f"Counted: {len(sample.values)} of {len(results.proposals)} proposals, "
        f"{_which(sensitivity)}. What is explained is their {words} {when}{seeds}; "
        "the test split was never looked at."
    )
    if sample.diverged:
        yield (
            f"{len(sample.diverged)} of them diverged and count as the worst value of the others: "
            "left out, a setting that makes training diverge would look harmless."
        )
    gaps = Counter(_gap(result, sensitivity) for result in results.proposals)
    if told := [f"{count} {gap}" for gap, count in gaps.items() if gap]:
        yield f"Not counted: {', '.join(told)}."
    yield from _bias_notes(sensitivity)


def _which(sensitivity: Sensitivity) -> str:
    sample, search = sensitivity.sample, sensitivity.results.search
    start = f"the random start of the sampler ({search.sampler}), " if sample.is_start else ""
    if sample.epoch is not None:
        return f"{start}as they were after epoch {sample.epoch}, where the first was stopped"
    return f"{start}those that ran to full length{' or diverged' * bool(sample.diverged)}"


def _gap(result: ProposalResult, sensitivity: Sensitivity) -> str:
    """Return why a proposal does not count, "" where it does."""
    sample, search = sensitivity.sample, sensitivity.results.search
    if result.number in sample.values:
        return ""
    if result.repeats is not None:
        return "with the same settings as another, which count once"
    if sample.is_start and result.number >= search.num_startup:
        return "proposed by results"
    if result.state in {"finished", "stopped"}:
        return "without a value there"
    return result.state


def _bias_notes(sensitivity: Sensitivity) -> Iterator[str]:
    sample, search = sensitivity.sample, sensitivity.results.search
    if sample.epoch is not None:
        yield (
            "The scheduler stopped some, and those that it kept all have good values of whatever "
            "it sorted by: among them alone such a setting would look smaller than it is. So all "
            f"are compared after epoch {sample.epoch}. A setting that acts early looks larger "
            "there than at full length, one that acts late smaller."
        )
    if sample.is_chosen:
        yield (
            f"After the first {search.num_startup} the sampler ({search.sampler}) proposed by "
            "results, and seldom tried bad values of a setting that matters: such a setting looks "
            "smaller than it is, and others may look larger. So nothing is bold; proposals at "
            f"random (--sampler random, or a start of {FEWEST_TRIALS}: "
            f"Search(startup={FEWEST_TRIALS})) say it without that bias."
        )
