"""The notes below the sensitivity tables: which proposals count, and how to read the importance."""

from collections import Counter
from collections.abc import Iterator

from sweeps.aggregation.rendering.table import MINUS, PLUS_MINUS, Needed
from sweeps.aggregation.results.search_results import ProposalResult
from sweeps.aggregation.sensitivity.importance import NUM_SHUFFLES
from sweeps.aggregation.sensitivity.pair_importance import NUM_SHUFFLES as NUM_PAIR_SHUFFLES
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS
from sweeps.aggregation.sensitivity.sensitivity import FEWEST_FOR_PAIRS, Sensitivity
from sweeps.aggregation.tables.notes import limit_notes
from sweeps.records.plain_text import one_line

_MISSING = {
    "few": f"fewer than {FEWEST_TRIALS} counted trials",
    "kinds": "fewer than two counted trials a kind",
    "equal results": "all results equal",
    "one value": "the same value in all counted trials",
}


def importance_notes(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield which proposals count, and how to read the columns in their order."""
    yield from _sample(sensitivity)
    for missing_reason, text in _MISSING.items():
        names = [
            one_line(setting.dimension.name)
            for setting in sensitivity.settings
            if setting.missing_reason == missing_reason
        ]
        if len(names) == len(sensitivity.settings):
            yield f"No importance is given: {text}. See the means by value."
        elif names:
            yield f"No importance is given for {', '.join(names)}: {text}."
    if sensitivity.has_importances:
        yield from _columns(sensitivity)


def _columns(sensitivity: Sensitivity) -> Iterator[str]:
    if not sensitivity.sample.is_chosen:
        yield Needed(
            "Verdict, bold where a setting matters: the objective, shuffled among the trials "
            f"{NUM_SHUFFLES:,} times, seldom follows it as closely (by ranks, p < .05 after Holm "
            "over all settings of the table). Not told from 0 does not mean without effect: of 24 "
            "trials a setting that explains 40 % matters in .2 to .75 of searches, by its shape "
            "and the number of settings, of 40 trials in .55 to .99."
        )
    yield Needed(
        "Share: how much of the differences between trials (their variance) this setting explains "
        "alone, averaged over the others: the main effect of a functional ANOVA, by least squares. "
        "It has no interval, since none holds with so few trials whatever the noise. Of 24 trials "
        "one share in four is off by 20 points and more, of 40 one in ten, and shares that just "
        "matter are mostly too large."
    )
    where = ", are in the table of pairs" if sensitivity.pairs else " get none"
    yield (
        f"A share counts what a setting does by itself. Settings that act only together, where "
        f"each helps or harms depending on the other{where}: no verdict shows that a setting can "
        f"be left out."
    )
    yield from _few_for_pairs(sensitivity)
    yield Needed(
        "Rank correlation (Spearman), of numbers only, with its 95 % interval of this row alone: "
        f"{MINUS}1 where the objective always falls as the setting grows, +1 where it always "
        "rises, near 0 where the best lies in the middle or nothing changes."
    )
    if _has_conditional(sensitivity):
        yield (
            "A setting that only some trials have (n of all counted) is compared with the others "
            "among those trials alone, so its share is one of their differences and not "
            "comparable with those of settings that all have."
        )


def pair_notes(sensitivity: Sensitivity, most_rows: int) -> Iterator[str]:
    """Yield which proposals count, and how to read the table of pairs.

    Args:
        sensitivity: With pairs.
        most_rows: How many of them readers see.
    """
    yield from _sample(sensitivity)
    yield Needed(
        "Verdict, bold where two settings act together: more of the differences between trials "
        "goes back to both and to neither alone than to pairs with a setting shuffled among them "
        f"({NUM_PAIR_SHUFFLES} shuffles, p < .05 after Holm over all pairs). The share comes from "
        "the functional ANOVA of a forest of random splits, on what is left once each setting has "
        "explained what it can by itself. A forest smooths: it shows 3 to 10 of 20 %. So the share "
        "ranks pairs and has no interval, and a pair without a verdict may still act together."
    )
    yield from _few_for_pairs(sensitivity)
    if (more := len(sensitivity.pairs) - most_rows) > 0:
        yield f"{more} more pairs of smaller shares are in the CSV."
    if _has_conditional(sensitivity):
        yield "Only settings that all counted trials have are paired."


def marginal_notes(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield which proposals count, and how to read the means by value."""
    yield from _sample(sensitivity)
    yield Needed(
        f"Mean over the counted trials with this value. {PLUS_MINUS}: half the width of its 95 % t "
        "interval (n - 1 degrees of freedom; none below three trials), for other such trials on "
        "these validation images, not for new images. Ranges are five parts "
        "of equal length, of equal ratio where the search varies the logarithm; a range holds its "
        "lower end."
    )
    yield (
        "The other settings differ between these trials too, and a search that learns tries good "
        "values more often: the means describe these trials and prove no cause."
    )


def _has_conditional(sensitivity: Sensitivity) -> bool:
    counted = len(sensitivity.sample.values)
    return any(len(setting.trials) < counted for setting in sensitivity.settings)


def _few_for_pairs(sensitivity: Sensitivity) -> Iterator[str]:
    counted = len(sensitivity.sample.values)
    if counted < FEWEST_FOR_PAIRS and len(sensitivity.settings) > 1:
        other = "Other pairs" if sensitivity.pairs else "Pairs"
        yield (
            f"{other} of settings that act together are not visible from {counted} proposals: it "
            f"takes about {FEWEST_FOR_PAIRS}."
        )


def _sample(sensitivity: Sensitivity) -> Iterator[str]:
    """Yield which proposals count, and the direction of any bias."""
    results, sample, search = sensitivity.results, sensitivity.sample, sensitivity.results.search
    seeds = f", mean over {len(results.seeds)} seeds" if len(results.seeds) > 1 else ""
    when = "at full length" if sample.epoch is None else f"after epoch {sample.epoch}"
    yield (
        f"Counted: {len(sample.values)} of {len(results.proposals)} proposals, "
        f"{_counted(sensitivity)}. What is explained is their {results.objective.metric.text} "
        f"{when}{seeds}; the test split was never looked at."
    )
    if sample.diverged:
        yield (
            f"{len(sample.diverged)} of them diverged and count as the worst value of the others: "
            "left out, a setting that makes training diverge would look harmless."
        )
    gaps = Counter(_gap(result, sensitivity) for result in results.proposals)
    if left_out := [f"{count} {gap}" for gap, count in gaps.items() if gap]:
        yield f"Not counted: {', '.join(left_out)}."
    yield from limit_notes(results)
    if sample.epoch is not None:
        yield (
            "The scheduler stopped some, and those that it kept all have good values of whatever "
            "it sorted by: among them alone such a setting would seem to matter less than it does. "
            f"So all are compared after epoch {sample.epoch}. A setting that acts early seems to "
            "matter more there than at full length, one that acts late less."
        )
    if sample.is_chosen:
        yield (
            f"After the first {search.num_startup} the sampler ({search.sampler}) proposed by "
            "results, and seldom tried bad values of a setting that matters: such a setting seems "
            "to matter less than it does, and others may seem to matter more. So there "
            "is no verdict; "
            f"random proposals (--sampler random, or {FEWEST_TRIALS} of them first: "
            f"Search(startup={FEWEST_TRIALS})) have no such bias."
        )


def _counted(sensitivity: Sensitivity) -> str:
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
    if search.warm_start and result.number < len(search.warm_start.points):
        return "taken from another sweep"
    if sample.is_start and result.number >= search.num_startup:
        return "proposed by results"
    if result.state in {"finished", "stopped"}:
        return "without a value there"
    return result.state
