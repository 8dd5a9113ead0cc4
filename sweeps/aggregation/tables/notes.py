"""The lines above and below tables that several kinds have, each with its condition.

A kind of table lists its own in a file of its own, in the order of their weight.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from capsmodel.metrics import TEST_ERROR, non_finite_words, percent
from sweeps.aggregation.rendering.measured import shown_interval, shown_value
from sweeps.aggregation.rendering.table import ALONE_MARK, MINUS, PLUS_MINUS, Needed, number_text
from sweeps.aggregation.results.arms import (
    ArmResults,
    cell_reason,
    cell_state,
    gap_text,
    identical_groups,
)
from sweeps.aggregation.results.comparisons import (
    MOST_WITH_ADDED,
    NO_SPREAD,
    Comparison,
    evidence_needed,
)
from sweeps.aggregation.results.coverage import covered_text, not_covered_text, span
from sweeps.aggregation.results.health import alarms_in_short, alarms_of
from sweeps.aggregation.results.mean_errors import MeanOfArm
from sweeps.aggregation.results.search_results import SearchResults
from sweeps.aggregation.results.targets import (
    epoch_of_test_text,
    extra_tests,
    has_window,
    matched,
    missed,
    most_epochs,
    stopping_of,
    target_text,
)
from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.looks import ONLY_LOOK
from sweeps.aggregation.tables.columns import ILL_MARK, MISSED_MARK, is_alone
from sweeps.aggregation.tables.reach_sentences import (
    ERRORS,
    Wording,
    is_found,
    next_table_sentences,
)
from sweeps.records.manifest import Manifest, VerdictRule
from sweeps.records.plain_text import listed, points_text, shortened
from sweeps.records.trial_record import Outcome, TrialRecord

OBJECTS_NOTE = (
    "Objects: the data say which test images show one object, or are by one writer or of one "
    "source; these count together."
)
_MOST_NAMED = 5
_MOST_REASONS = 50
_MOST_WARNINGS = 5
_EARLIER_RULES: Mapping[VerdictRule, str] = {
    "own seeds": "each arm was judged by its own seeds alone",
    "shared seeds": "arms were held to their own seeds only beyond twice the others' variance",
}
_UNKNOWN = "unknown"
_PRECISIONS = {
    "tf32": "in TF32 (10 binary digits) where a GPU has it",
    "bf16": "in bfloat16 (7 binary digits)",
}


def tested_note(arms: Iterable[ArmResults], *, are_looked_at: bool) -> str:
    """Return after which epoch weights were tested, and what selection saw.

    Args:
        arms: Those of the table.
        are_looked_at: Whether verdicts on the test images, at planned looks, decided which arms got
            more seeds.
    """
    shown = [*arms]
    epoch = epoch_of_test_text(arm.arm.config for arm in shown)
    trials = [trial for arm in shown for trial in arm.counted.values()]
    numbers = {trial.num_images["test"] for trial in trials if "test" in trial.num_images}
    images = f"{span([*numbers])} test images" if numbers else "test images"
    earlier = "Earlier sweeps that looked at these images are not allowed for."
    if are_looked_at:
        return (
            f"Test errors are those of {epoch}, on {images}. Verdicts on them at the looks, and "
            f"nothing else, decided which arms got more seeds; intervals allow for that. {earlier}"
        )
    return (
        f"Test errors are those of {epoch}, on {images} that chose nothing: selection is given "
        f"validation figures only. {earlier}"
    )


def comparison_lead(
    manifest: Manifest, compared: Sequence[Comparison], arms: Sequence[ArmResults]
) -> str:
    """Return the verdicts, what is left open, and what a next table would find."""
    if len(arms) == 1:
        return "There is one arm: nothing to compare it with."
    if not any(arm.counted for arm in arms):
        return "No trial has finished: there is nothing to compare."
    baseline = next(arm for arm in arms if arm.is_baseline)
    if not baseline.counted:
        return f"The baseline has no finished trial ({gap_text(baseline)}): nothing is compared."
    return " ".join([*verdicts(manifest, compared), *_without_verdict(compared, arms)])


def verdicts(
    manifest: Manifest,
    compared: Sequence[Comparison],
    split: str = "test",
    words: Wording = ERRORS,
) -> Iterator[str]:
    """Yield which arms differ, which are equivalent, and what is left open of the others.

    Args:
        manifest: The sweep's margin.
        compared: Each group of arms with the baseline.
        split: The split whose images the errors are of.
        words: How the table speaks of differences.
    """
    paired = [comparison for comparison in compared if comparison.difference.n]
    different = [comparison for comparison in compared if comparison.is_different]
    equivalent = [comparison for comparison in paired if comparison.verdict == "equivalent"]
    undecided = [comparison for comparison in paired if comparison.verdict == "undecided"]
    if different:
        yield f"Different from the baseline: {named(different, with_means=True)}."
    if equivalent:
        within = f"{PLUS_MINUS}{points_text(manifest.margin_points or 0.0)}"
        yield f"Equivalent to the baseline within {within}: {named(equivalent)}."
    if undecided:
        num_arms = sum(len(comparison.arms) for comparison in undecided)
        count = f" ({num_arms} arm{'s' * (num_arms > 1)})" if different or equivalent else ""
        yield from open_sentences(
            f"Undecided{count}",
            [comparison.simultaneous for comparison in undecided],
            list(_next_table(undecided, split, words)),
            words,
            num_together=max(comparison.num_together for comparison in undecided),
        )
    elif any(comparison.reach for comparison in paired):
        yield from _next_table(paired, split, words)


def open_sentences(
    start: str,
    intervals: Sequence[Interval | None],
    of_next: Sequence[str],
    words: Wording,
    *,
    num_together: int,
) -> Iterator[str]:
    """Yield what the intervals of undecided rows leave open, and what a next table would find.

    Args:
        start: What is undecided.
        intervals: Of each such row, for all rows of the table at once; None where there is none.
        of_next: The sentences about a next table.
        words: How the table speaks of differences.
        num_together: Rows for which the intervals hold at once.
    """
    ends = [(shown.low, shown.high) for shown in map(_in_points, intervals)]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if not known:
        first, *others = of_next
        yield f"{start}: {first[0].lower()}{first[1:]}"
        yield from others
        return
    low, high = min(low for low, _ in known), max(high for _, high in known)
    of_some = f"; of {len(known)} of them" * (len(known) < len(ends))
    lies = words.they_lie if len(ends) > 1 else words.it_lies
    at_once = ", all at once" * (num_together > 1)
    between = f"{number_text(low, sign='+')} and {number_text(high, sign='+')} points"
    yield f"{start}: {lies} between {between} (95 %{at_once}{of_some})."
    yield from of_next


def _in_points(interval: Interval | None) -> Interval:
    return shown_interval(interval or Interval(0, None, None, None), TEST_ERROR)


def named(compared: Sequence[Comparison], *, with_means: bool = False, longest: int = 120) -> str:
    """Return the names of arms, those of identical results joined, the first few of many."""
    names = list[str]()
    for comparison in compared:
        name = comparison.shown_name
        mean = shown_value(comparison.difference.mean, TEST_ERROR)
        if with_means and mean is not None:
            name += f" ({mean:+.2f} points)".replace("-", MINUS)
        elif with_means:
            name += f" ({gap_text(comparison.arm)})"
        names.append(shortened(name, longest))
    return listed(names, _MOST_NAMED)


def _next_table(compared: Sequence[Comparison], split: str, words: Wording) -> Iterator[str]:
    """Yield what a next table would find of these arms, or why it is not known."""
    reaches = [(o.reach, o) for o in compared if o.reach]
    data = _data(compared, split) if any(comparison.way for comparison in compared) else ""
    unknown = dict.fromkeys(o.why_no_reach for o in compared if o.why_no_reach and o.has_spread)
    if reaches:
        usual = [reach for reach, comparison in reaches if not comparison.is_apart]
        apart = [(reach, named([o], longest=60)) for reach, o in reaches if o.is_apart]
        yield from next_table_sentences(usual, data, words, apart)
    elif unknown:
        yield (
            f"It is not known what a next table like this one ({data}) would find, as "
            f"{'; '.join(unknown)}."
        )
    elif untested := [comparison for comparison in compared if not _is_of_look(comparison)]:
        reasons = dict.fromkeys(map(_why_none, untested))
        of_some = f" of {named(untested)}" * (len(untested) < len(compared))
        yield f"No difference{of_some} can be tested, as {'; '.join(reasons)}."


def _is_of_look(comparison: Comparison) -> bool:
    """Return whether a difference was tested at a look, where a next table is not foretold."""
    is_tested = comparison.has_spread and comparison.simultaneous is not None
    return is_tested and comparison.look != ONLY_LOOK


def _why_none(comparison: Comparison) -> str:
    """Return why no difference of an arm can be tested."""
    if comparison.log_e is None or not comparison.has_spread:
        return comparison.why_seeds_alone or NO_SPREAD
    fewest = fewest_seeds(evidence_needed(comparison.num_together))
    return f"after seeds were added it takes {fewest} of them at least"


def _data(compared: Sequence[Comparison], split: str) -> str:
    tested = [comparison for comparison in compared if comparison.way]
    images = [comparison.num_images for comparison in tested]
    seeds = [comparison.difference.n for comparison in tested]
    splits = [comparison.num_splits for comparison in tested]
    objects = [comparison.way.num_clusters for comparison in tested if comparison.way]
    of_objects = f" of {objects[0]} objects" * (objects[0] < min(images))
    on = f" on {span(splits)} splits" * (max(splits) > 1)
    return (
        f"{span(images)} {split} images{of_objects} and {span(seeds)} "
        f"seed{'s' * (max(seeds) > 1)}{on}"
    )


def _without_verdict(compared: Sequence[Comparison], arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the arms that equal the baseline, and those without a result."""
    same = next(group for group in identical_groups(arms) if any(arm.is_baseline for arm in group))
    if others := [arm.shown_name for arm in same if not arm.is_baseline]:
        yield f"Identical to the baseline: {', '.join(others)}."
    unpaired = [
        comparison
        for comparison in compared
        if not comparison.difference.n and comparison.verdict == "undecided"
    ]
    alone = [arm for comparison in unpaired for arm in comparison.arms]
    if failed := [arm for arm in alone if not arm.counted]:
        names = (f"{arm.shown_name} ({gap_text(arm)})" for arm in failed)
        yield f"No result: {', '.join(names)}."
    if apart := [arm.shown_name for arm in alone if arm.counted]:
        yield f"No seed common with the baseline: {', '.join(apart)}."


def seed_list(seeds: Sequence[int]) -> str:
    """Return the seeds that trials have: "seed 0", "seeds 0, 1"."""
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"


def margin_text(manifest: Manifest) -> str:
    """Return what a verdict other than "different" means."""
    if (within := manifest.margin_points) is None:
        return "undecided does not mean equal: no margin was declared."
    return f"equivalent: shown to differ by less than {points_text(within)}, the margin declared."


def bold_text(compared: Sequence[Comparison], together: str) -> str:
    """Return how small p has to be for bold.

    Args:
        compared: The comparisons of a table.
        together: Over what p is adjusted; "" for nothing.
    """
    level = f"{min(comparison.level for comparison in compared):g}".removeprefix("0")
    return f"Bold: p < {level}{f' over {together} together (Holm)' if together else ''}"


def alone_notes(compared: Iterable[Comparison]) -> Iterator[str]:
    """Yield what the mark behind an interval means, if any interval has it."""
    if num := max(
        (comparison.num_together for comparison in compared if is_alone(comparison)), default=0
    ):
        yield Needed(
            f"{ALONE_MARK} The interval of this arm alone leaves out 0, but not the simultaneous "
            f"one for all {num} comparisons: by itself it is no finding."
        )


def near_limit_notes(compared: Iterable[Comparison]) -> Iterator[str]:
    """Yield which differences in bold are so small that they are mostly exaggerated, if any."""
    near = [
        comparison
        for comparison in compared
        if comparison.is_different and comparison.reach and comparison.difference.mean
        if not is_found(comparison.reach, comparison.difference.mean)
    ]
    if near:
        yield near_limit_note(named(near))


def near_limit_note(names: str) -> str:
    """Return how to read what is in bold though a next table might well not find it."""
    return (
        f"Near the limit of what this table can show, the sign of a figure in bold stands, and its "
        f"size is mostly too large: {names}."
    )


def shared_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield how the spread over seeds is estimated where comparisons share it."""
    shared = [comparison for comparison in compared if comparison.way and comparison.way.shared]
    if not shared:
        return
    apart = [comparison for comparison in shared if comparison.is_apart]
    seeds = [comparison.difference.n for comparison in shared]
    own = f" Held to their own seeds as well, as a precaution: {named(apart)}."
    yield (
        f"The spread over seeds is estimated from all arms together, as {span(seeds)} seeds of one "
        f"arm say little.{own * bool(apart)}"
    )
    if earlier := _EARLIER_RULES.get(manifest.verdict_rule):
        yield (
            f"The sweep was launched when {earlier}: verdicts may differ from those of a report of "
            f"that time."
        )


def seeds_alone_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield which differences rest on seeds alone or are equal on all, grouped by reason."""
    reasons: dict[str, list[Comparison]] = {}
    for comparison in compared:
        if not comparison.way and comparison.difference.mean is not None:
            reasons.setdefault(comparison.why_seeds_alone, []).append(comparison)
    for reason, alone in reasons.items():
        has_ends = any(comparison.difference.half_width is not None for comparison in alone)
        cover = f"{PLUS_MINUS} covers new seeds alone" if has_ends else "there is no interval"
        yield Needed(f"{named(alone)}: {cover} and nothing is bold, as {reason}.")
    alike = [comparison for comparison in compared if comparison.way and not comparison.has_spread]
    if undecided := [comparison for comparison in alike if comparison.verdict == "undecided"]:
        it = "it" if len(undecided) == 1 else "they"
        yield f"{named(undecided)}: {NO_SPREAD}: {it} cannot be called different."


def added_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield that seeds were added after a look, and what a verdict then needs."""
    if any(comparison.log_e is not None for comparison in compared):
        yield Needed(
            f"{added_text(manifest)} With the first look, which had the whole level, arms without "
            f"a difference have anything bold in at most {percent(MOST_WITH_ADDED):.0f} % of "
            f"tables."
        )


def added_text(manifest: Manifest) -> str:
    """Return what a verdict needs where seeds were added after looking."""
    planned = ", ".join(map(str, manifest.planned_seeds))
    return (
        f"Seeds other than {planned} were added after looking: bold here needs half the level, and "
        f"evidence that repeated looks do not inflate (an e-process over seeds)."
    )


def diverged_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield what the count means where any trial diverged."""
    if wild := [arm.shown_name for arm in arms if arm.count("diverged")]:
        yield Needed(
            f"Diverged: trials of {', '.join(wild)} whose loss became {_diverged_losses(arms)}, "
            f"with the exact 95 % interval of that share. They are left out of the means; bold "
            f"also holds if they count as networks that guess."
        )


def judged_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield which verdicts are on how often arms diverge."""
    if judged := [
        comparison for comparison in compared if comparison.way is None and comparison.is_different
    ]:
        yield Needed(
            f"{named(judged)}: as divergence leaves fewer than three seeds, the verdict is "
            f"on how often both arms diverge (Boschloo)."
        )


def _diverged_losses(arms: Sequence[ArmResults]) -> str:
    """Return what the losses of diverged trials became: "NaN", "infinite or NaN"."""
    losses = [
        loss
        for arm in arms
        for trial in arm.trials.values()
        if trial and trial.outcome is Outcome.DIVERGED
        for loss in (trial.train_loss, trial.validation_loss)
        if loss is not None and not math.isfinite(loss)
    ]
    names = sorted({non_finite_words(loss) for loss in losses}, key=str.lower)
    return " or ".join(names) or "infinite or NaN"


def failed_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield how failed trials affect verdicts, if an arm has more or fewer than the baseline."""
    usual = sum(arm.count("failed") for arm in arms if arm.is_baseline)
    counts = {arm.shown_name: arm.count("failed") for arm in arms}
    more = [f"{name} ({number})" for name, number in counts.items() if number > usual]
    fewer = [f"{name} ({number})" for name, number in counts.items() if number < usual]
    sentences = [
        f"{order} trials failed in {', '.join(names)} than in the baseline ({usual})."
        for order, names in (("More", more), ("Fewer", fewer))
        if names
    ]
    if sentences:
        yield (
            f"{' '.join(sentences)} If bad trainings fail, those that are left look too good: bold "
            f"also holds if failed trials count as networks that guess."
        )


def identical_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield which arms stand in one row, as their results are the same."""
    for group in identical_groups(arms):
        if len(group) > 1:
            names = " and ".join(arm.shown_name for arm in group)
            yield f"{names}: losses and errors of the last epoch are exactly equal on every seed."


def mean_notes(means: Iterable[MeanOfArm], images: str = "test") -> Iterator[str]:
    """Yield what the ± of means covers, and what stands in brackets where there is no ±.

    Args:
        means: Those of the table.
        images: Which images their errors are counted on: "test", "validation and test".
    """
    shown = [*means]
    by_image = [mean.errors for mean in shown if mean.errors]
    if by_image:
        numbers = sorted({len({*errors.splits}) or 1 for errors in by_image})
        is_of_views = any(errors.objects is not None for errors in by_image)
        of_images = f"{images} {'objects' if is_of_views else 'images'}"
        yield Needed(
            f"{PLUS_MINUS} of a mean: half of the 95 % interval, for "
            f"{covered_text(numbers, of_images)}; {not_covered_text(numbers)}."
        )
        if is_of_views:
            yield OBJECTS_NOTE
    if any(mean.errors is None and mean.interval.deviation is not None for mean in shown):
        yield Needed(
            "Without it, in brackets: the standard deviation over seeds (sd), not an interval."
            if by_image
            else f"In brackets: the standard deviation over seeds (sd), not an interval. "
            f"{PLUS_MINUS} is for errors on images whose predictions are recorded, from three "
            f"seeds on."
        )


def target_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield which trainings stop at a target, and how many trials of each arm missed it."""
    ending = [arm for arm in arms if any(trial.target for trial in arm.counted.values())]
    within = [arm for arm in ending if stopping_of(arm.arm.config).get("every_steps")]
    for some, place, end in (
        ([arm for arm in ending if arm not in within], "epoch", "that is their last epoch"),
        (within, "judgement", "their last epoch ends with it"),
    ):
        if some:
            yield (
                f"Trials of {arm_names(some)} end with the first {place} that reaches their "
                f"target, a figure of the validation images: {end}."
            )
    late = [arm for arm in arms if missed(arm)]
    for arm in late:
        target = target_text(arm.arm.config)
        epochs = most_epochs(arm.arm.config) or max(trial.epochs for trial in missed(arm))
        note = (
            f"{MISSED_MARK} {len(missed(arm))} of {len(arm.counted)} trials of {arm.shown_name} "
            f"never reached their target{f' ({target})' * bool(target)} within {epochs} epochs."
        )
        yield Needed(note) if arm is late[0] else note  # the first explains the mark


def arm_names(arms: Sequence[ArmResults]) -> str:
    """Return the names of arms, cut where they are very long together."""
    return shortened(", ".join(arm.shown_name for arm in arms), 400)


def matched_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Yield, where trials stop in a window, which arms are as good as the baseline on clean images.

    Args:
        manifest: The sweep's margin.
        arms: Of the sweep.
        compared: Their test errors with the baseline's.
    """
    if not has_window(arms) or len(arms) < 2:
        return
    if extra := extra_tests(arms):
        yield (
            f"Trials stop in a window so that arms are equally good on images like those of "
            f"validation. The test images may be of another kind, so no arm is called matched: "
            f"compare the errors on {', '.join(map(repr, extra))} in trials.csv."
        )
        return
    if (within := manifest.margin_points) is None:
        yield (
            "Not matched: trials stop in a window so that arms are equally good on clean images, "
            "and no margin was declared within which their test errors have to be equivalent: give "
            "the sweep margin_points before you see results."
        )
        return
    are_matched = matched(arms, compared)
    margin = f"to the baseline's within {PLUS_MINUS}{points_text(within)}, the margin declared"
    if equal := [arm for arm in arms if are_matched.get(arm.arm.name)]:
        yield f"Matched: clean test errors of {arm_names(equal)} are equivalent {margin}."
    if apart := [arm for arm in arms if are_matched.get(arm.arm.name) is False]:
        yield (
            f"Not matched: clean test errors of {arm_names(apart)} are not shown to be equivalent "
            f"{margin}: other differences from it may come from that."
        )


def gap_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield that the means leave out cells without a result, if there are any."""
    if any(len(arm.counted) < len(arm.trials) for arm in arms):
        yield "Trials that failed, diverged, are missing or unfinished are left out of the means."


def reason_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the outcome of each cell that does not count, seeds of one outcome together."""
    seeds: dict[tuple[str, str], list[str]] = {}
    for arm in arms:
        for seed, trial in arm.trials.items():
            if (state := cell_state(trial)) != "counted":
                reason = shortened(cell_reason(trial), 300)
                outcome = f"{state}: {reason}" if reason else state
                seeds.setdefault((arm.arm.name, outcome), []).append(str(seed))
    for (name, outcome), of_arm in list(seeds.items())[:_MOST_REASONS]:
        yield f"Arm {name}, seed{'s' * (len(of_arm) > 1)} {', '.join(of_arm)}: {outcome}"
    if (more := len(seeds) - _MOST_REASONS) > 0:
        yield f"And {more} more such lines: see trials.csv."


def limit_notes(results: SearchResults) -> Iterator[str]:
    """Yield which proposals of full length are no candidates, as they break a measured limit."""
    if beyond := results.beyond_limits:
        named = listed([result.broken_text for result in beyond], _MOST_NAMED)
        yield f"No candidates for the best, as they are beyond a limit of the search: {named}."


def ill_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield what is wrong with arms whose trials have alarms; it explains the mark."""
    if note := alarms_in_short(alarms_of(arms)):
        yield Needed(f"{ILL_MARK} {note}")


def health_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the first few warnings of trials, and how many more there are."""
    notes = [
        f"Health: {arm.shown_name} seed {seed}: {shortened(warning, 200)}"
        for arm in arms
        for seed, trial in arm.trials.items()
        for warning in (trial.warnings if trial else ())
    ]
    yield from notes[:_MOST_WARNINGS]
    if (more := len(notes) - _MOST_WARNINGS) > 0:
        yield f"Health: {more} more such line{'s' * (more > 1)}: see the warnings in trials.csv."


def machine_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield which arms were not trained in full precision, and where a table mixes machines.

    The same training ends in other last digits on another machine.
    """
    for precision, text in _PRECISIONS.items():
        names = [arm.arm.name for arm in arms if arm.arm.config.get("precision") == precision]
        if names:
            who = "All trials" if len(names) == len(arms) else ", ".join(names)
            yield (
                f"{who}: matrix products and convolutions were computed {text}, not in single "
                f"precision."
            )
    trials = [trial for arm in arms for trial in arm.counted.values()]
    for feature, counts in mixed_features(trials, is_unknown_one=False):
        yield (
            f"The trials were trained on different {feature}, {counts}: sums are rounded in "
            f"another order there, so the same settings and seed may differ in the last digits of "
            f"the weights, and a little in the error."
        )


def device_of(trial: TrialRecord) -> str:
    """Return the device that a trial ran on."""
    return trial.device or _UNKNOWN


def threads_of(trial: TrialRecord) -> str:
    """Return the number of threads that a trial ran with."""
    return _UNKNOWN if trial.threads is None else str(trial.threads)


_FEATURES: Mapping[str, Callable[[TrialRecord], str]] = {
    "devices": device_of,
    "numbers of threads": threads_of,
}


def mixed_features(
    trials: Sequence[TrialRecord], *, is_unknown_one: bool
) -> Iterator[tuple[str, str]]:
    """Yield the features in which trials differ, each with its counts: "1 (4 trials), 2 (1 trial)".

    Args:
        trials: Those of a table.
        is_unknown_one: Whether an unknown machine counts as another one.
    """
    for name, feature in _FEATURES.items():
        counts = Counter(map(feature, trials))
        if not is_unknown_one:
            del counts[_UNKNOWN]
        if len(counts) > 1:
            yield (
                name,
                ", ".join(f"{v} ({n} trial{'s' * (n != 1)})" for v, n in sorted(counts.items())),
            )
