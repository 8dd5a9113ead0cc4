"""What stands above an ablation table: the answer, and what its intervals cover."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import MOST_POINTS, detectable_text, shown_value
from sweeps.aggregation.rendering.table import MINUS, PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults, identical_groups
from sweeps.aggregation.results.comparisons import Comparison, evidence_needed
from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.uncounted_cells import gap_text
from sweeps.records.manifest import Manifest, VerdictRule
from sweeps.records.plain_text import one_line, points_text, shortened

NO_SPREAD = "the differences of all seeds are equal"
REPETITIONS = "8 of 10 repetitions"
_MOST_NAMED = 5
_EARLIER_RULES: Mapping[VerdictRule, str] = MappingProxyType(
    {
        "own seeds": "each arm was judged by its own seeds alone",
        "shared seeds": "arms were held to their own seeds only beyond twice the others' variance",
    }
)
_ALIKE = 1.5  # figures of which the largest is at most so many times the smallest are one


def ablation_lead(
    manifest: Manifest, compared: Sequence[Comparison], arms: Sequence[ArmResults]
) -> str:
    """Return the verdicts, and the smallest difference that the trials could show."""
    if len(arms) == 1:
        return "There is one arm: nothing to compare it with."
    if not any(arm.counted for arm in arms):
        return "No trial has finished: there is nothing to compare."
    baseline = next(arm for arm in arms if arm.is_baseline)
    if not baseline.counted:
        return f"The baseline has no finished trial ({gap_text(baseline)}): nothing is compared."
    return " ".join([*verdicts(manifest, compared), *_without_verdict(compared, arms)])


def judged_by(figure: str, answer: str) -> str:
    """Return an answer that begins with the figure it is by, as a page has several answers."""
    return f"By {figure}, {answer[0].lower()}{answer[1:]}"


def verdicts(
    manifest: Manifest, compared: Sequence[Comparison], split: str = "test"
) -> Iterator[str]:
    """Yield which arms differ, which are equivalent, and what could be shown of the others.

    Args:
        manifest: The sweep's margin.
        compared: Each group of arms with the baseline.
        split: The split whose images the errors are of.
    """
    paired = [one for one in compared if one.difference.n]
    different = [one for one in compared if one.verdict == "different"]
    equivalent = [one for one in paired if one.verdict == "equivalent"]
    undecided = [one for one in paired if one.verdict == "undecided"]
    if different:
        yield f"Different from the baseline: {named(different, with_means=True)}."
    if equivalent:
        within = f"{PLUS_MINUS}{points_text(manifest.margin_points or 0.0)}"
        yield f"Equivalent to the baseline within {within}: {named(equivalent)}."
    if undecided:
        count = f" ({_count(undecided)})" if different or equivalent else ""
        yield f"Undecided{count}: {_reach(undecided, split)}."
    elif any(one.detectable for one in paired):
        reach = _reach(paired, split)
        yield f"{reach[0].upper()}{reach[1:]}."


def named(compared: Sequence[Comparison], *, with_means: bool = False, longest: int = 120) -> str:
    """Return the names of arms, those of identical results joined, the first few of many."""
    names = list[str]()
    for one in compared[:_MOST_NAMED]:
        name = " = ".join(one_line(arm.arm.name) for arm in one.arms)
        mean = shown_value(one.difference.mean, TEST_ERROR)
        if with_means and mean is not None:
            name += f" ({mean:+.2f} points)".replace("-", MINUS)
        elif with_means:
            name += f" ({gap_text(one.arm)})"
        names.append(shortened(name, longest))
    more = len(compared) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _count(compared: Sequence[Comparison]) -> str:
    num_arms = sum(len(one.arms) for one in compared)
    return "1 arm" if num_arms == 1 else f"{num_arms} arms"


def _reach(compared: Sequence[Comparison], split: str) -> str:
    """Return the smallest difference that these would show, at the power that is printed."""
    detectable = [
        (points, named([one], longest=60))
        for one in compared
        if (points := shown_value(one.detectable, TEST_ERROR)) is not None
    ]
    data = _data(compared, split) if any(one.way for one in compared) else ""
    unknown = dict.fromkeys(o.why_no_reach for o in compared if o.why_no_reach and o.has_spread)
    if not detectable and unknown:
        return (
            f"with {data}, it is not known which differences would be found, as "
            f"{'; '.join(unknown)}"
        )
    if not detectable:
        reasons = dict.fromkeys(_why_none(one) for one in compared)
        why = f", as {'; '.join(reasons)}" if reasons else ""
        return f"no difference can be tested{why}"
    return f"with {data}, {found_words(detectable, 'a difference', 'arm')}"


def found_words(detectable: Sequence[tuple[float, str]], what: str, unit: str) -> str:
    """Return what would be found: one figure where all agree, else the smallest and the largest.

    Args:
        detectable: The smallest size that would be found, in points, with the name of the
            comparison; one at least.
        what: Whose size it is, with the article: "a difference".
        unit: What the names are of, in one word.
    """
    (least, first), (most, last) = min(detectable), max(detectable)
    smallest, largest = detectable_text(least), detectable_text(most)
    found = f"would be found in {REPETITIONS}"
    if least > MOST_POINTS or (most > MOST_POINTS and most <= _ALIKE * least):
        return f"only {what} {largest} points {found}"
    points = (
        f"{largest} points"
        if most <= _ALIKE * least
        else f"{smallest} points ({first}) to {largest} points ({last}), depending on the {unit},"
    )
    return f"{what} of about {points} {found}; smaller ones mostly not"


def _why_none(one: Comparison) -> str:
    """Return why no difference of an arm can be tested."""
    if one.log_e is None or not one.has_spread:
        return one.why_seeds_alone or NO_SPREAD
    fewest = fewest_seeds(evidence_needed(one.num_together))
    return f"after seeds were added it takes {fewest} of them at least"


def _data(compared: Sequence[Comparison], split: str) -> str:
    tested = [one for one in compared if one.way]
    images = sorted({one.num_images for one in tested})
    seeds = sorted({one.difference.n for one in tested})
    objects = [one.way.num_clusters for one in tested if one.way]
    of_objects = f" of {objects[0]} objects" if objects[0] < images[0] else ""
    word = "seeds" if seeds[-1] > 1 else "seed"
    splits = sorted({one.num_splits for one in tested})
    on = f" on {span(splits)} splits" if splits[-1] > 1 else ""
    return f"{span(images)} {split} images{of_objects} and {span(seeds)} {word}{on}"


def span(numbers: Sequence[int]) -> str:
    """Return the least and the most of sorted numbers: `3`, or `3 to 5`."""
    low, high = f"{numbers[0]:,}", f"{numbers[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _without_verdict(compared: Sequence[Comparison], arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield the arms that equal the baseline, and those without a result."""
    same = next(group for group in identical_groups(arms) if any(arm.is_baseline for arm in group))
    if others := [one_line(arm.arm.name) for arm in same if not arm.is_baseline]:
        yield f"Identical to the baseline: {', '.join(others)}."
    alone = [
        arm
        for one in compared
        if not one.difference.n and one.verdict == "undecided"
        for arm in one.arms
    ]
    if failed := [arm for arm in alone if not arm.counted]:
        words = (f"{one_line(arm.arm.name)} ({gap_text(arm)})" for arm in failed)
        yield f"No result: {', '.join(words)}."
    if apart := [one_line(arm.arm.name) for arm in alone if arm.counted]:
        yield f"No seed common with the baseline: {', '.join(apart)}."


def covered_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Yield what the numbers of a table cover, and what they do not."""
    counts = sorted({len(arm.counted) for arm in arms if len(arm.counted) > 1})
    if counts:
        on = f" on {manifest.num_splits} splits" * bool(manifest.splits)
        yield f"sd: the standard deviation over {span(counts)} seeds{on}; it is not a test."
    elif len(manifest.seeds) == 1:
        yield "Each arm has one seed, so there is no spread over seeds."
    else:
        yield "No arm has two finished trials, so there is no spread."
    if any(one.way for one in compared):
        yield (
            f"{PLUS_MINUS}: half of the 95 % interval, for {covered(compared)}; "
            f"{not_covered(compared)}."
        )
        yield from shared_notes(manifest, compared)
        if words := split_words(manifest):
            yield words
        within = manifest.margin_points
        margin = (
            "undecided does not mean equal: no margin was declared."
            if within is None
            else f"equivalent: shown to differ by less than {points_text(within)}, the margin "
            f"declared."
        )
        yield f"Bold: holds for all comparisons together; {margin}"


def shared_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield how the spread over seeds is estimated where comparisons share it."""
    shared = [one for one in compared if one.way and one.way.shared]
    if not shared:
        return
    apart = [one for one in shared if one.way and one.way.shared and one.way.shared.is_apart]
    seeds = sorted({one.difference.n for one in shared})
    words = f" As a precaution, these arms must also hold by their own seeds: {named(apart)}."
    yield (
        f"The spread over seeds is estimated from all arms together, as {span(seeds)} seeds of one "
        f"arm say little.{words * bool(apart)}"
    )
    if earlier := _EARLIER_RULES.get(manifest.verdict_rule):
        yield (
            f"The sweep was launched when {earlier}: verdicts may differ from those of a report of "
            f"that time."
        )


def covered(compared: Sequence[Comparison], split: str = "test") -> str:
    """Return what intervals cover: `new seeds and new test images, on one split`."""
    numbers = sorted({one.num_splits for one in compared if one.way}) or [1]
    return covered_words(numbers, f"{split} {_images_word(compared)}")


def covered_words(num_splits: Sequence[int], images: str) -> str:
    """Return what intervals cover that rest on so many splits, the fewest first.

    Args:
        num_splits: Numbers of splits of the training images among the seeds.
        images: "test images", or others.
    """
    if [*num_splits] == [1]:
        return f"new seeds and new {images}, on one split"
    if num_splits[0] >= FEWEST_SPLITS:
        return f"new seeds, new splits of these training images and new {images}"
    if num_splits[-1] < FEWEST_SPLITS:
        is_one = len(num_splits) == 1
        which = f"these {num_splits[0]} splits" if is_one else "the splits of each arm"
        return f"new seeds and new {images}, on {which} alone"
    return (
        f"new seeds and new {images}, and for new splits of these training images where an arm "
        f"has {FEWEST_SPLITS} of them"
    )


def _images_word(compared: Sequence[Comparison]) -> str:
    """Return "images", or "objects" where images are views of few objects."""
    is_of_views = any(one.way and one.way.num_clusters < one.num_images for one in compared)
    return "objects" if is_of_views else "images"


def not_covered(compared: Sequence[Comparison]) -> str:
    """Return what intervals do not cover."""
    return not_covered_words([one.num_splits for one in compared])


def not_covered_words(num_splits: Sequence[int]) -> str:
    """Return what intervals do not cover that rest on so many splits."""
    is_over_splits = any(number >= FEWEST_SPLITS for number in num_splits)
    beyond = "training images beyond these" if is_over_splits else "new training images"
    return f"not for {beyond} or other data"


def split_words(manifest: Manifest) -> str:
    """Return how a sweep counts its splits, "" where there is one."""
    if not manifest.num_splits:
        return ""
    unit = (
        "Seeds of one split count as one value, and the variance over splits is enlarged for the "
        "training images that they share (Nadeau and Bengio)."
        if manifest.num_splits >= FEWEST_SPLITS
        else f"It takes {FEWEST_SPLITS} splits to speak of others."
    )
    return (
        f"Each seed is on one of {manifest.num_splits} splits into training and validation images; "
        f"there is one test split. {unit}"
    )


def seeds_alone_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield which differences rest on seeds alone, grouped by reason."""
    reasons: dict[str, list[Comparison]] = {}
    for one in compared:
        if not one.way and one.difference.mean is not None:
            reasons.setdefault(one.why_seeds_alone, []).append(one)
    for reason, alone in reasons.items():
        has_ends = any(one.difference.half_width is not None for one in alone)
        what = f"{PLUS_MINUS} covers new seeds alone" if has_ends else "there is no interval"
        yield f"{named(alone)}: {what} and nothing is bold, as {reason}."


def few_splits_notes(manifest: Manifest) -> Iterator[str]:
    """Yield, before training, what fewer than five splits cannot show."""
    num_splits, num_seeds = manifest.num_splits, len(manifest.seeds)
    if not 0 < num_splits < FEWEST_SPLITS:
        return
    note = (
        f"Differences over {num_splits} splits speak of these alone: it takes {FEWEST_SPLITS} to "
        f"speak of others"
    )
    fewest = num_splits + FEWEST_SEEDS - 1
    too_few = f", and {fewest} seeds on {num_splits} splits for an interval, or for bold"
    yield f"{note}{too_few * (num_seeds < fewest)}."
