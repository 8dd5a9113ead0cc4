"""What the table of a front says in words: how it was chosen, and how sure it is."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.fronts.front_results import FrontResults
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.records.fronts import dominates
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

_MOST_NAMED = 10


def front_lead(found: FrontResults) -> str:
    """Return what was found, "" before anything is."""
    if not found.arms:
        return ""
    num, of = len(found.front), len(found.arms)
    lead = f"{num} of {of} proposals that ran to full length {'is' if num == 1 else 'are'} on the "
    lead += "front."
    if found.base:
        better = _words(found.base.dominated_by)
        is_noise = " within noise" * (found.base.standing == "within noise")
        lead += (
            f" Better than the base in both{is_noise}: {better}."
            if better
            else " None is better than the base in both."
        )
    return lead


def front_notes(found: FrontResults, manifest: Manifest) -> Iterator[str]:
    """Say what the front is, what chance has to do with it, and what lies behind it."""
    results = found.results
    over = len(results.proposals) - results.count("unfinished")
    if over < results.search.num_asked:
        yield f"The search has not ended: {over} of {results.search.num_asked} proposals are over."
    if not found.arms:
        yield "No proposal has run to full length, so that there is no front."
        return
    yield (
        f"The front: proposals than which no other has a smaller {results.objective.metric.text} "
        f"at no more parameters, or fewer parameters at no larger one. By validation on "
        f"{_seeds(manifest.seeds)}, which chose them too, so that their errors are optimistic, the "
        f"more the smaller."
    )
    shown = [one for arm in found.arms for one in (arm.arm, arm.again) if one]
    if any(len(found.values(one)) > 1 for one in shown):
        yield f"{PLUS_MINUS} half the width of the 95 % t interval over seeds (n - 1 degrees)."
    yield from _behind(found)
    yield from _base(found)
    if any(arm.again for arm in found.arms):
        yield (
            "On fresh seeds: the mean of new trials, which had no part in any choice, on the same "
            "validation images. Chosen for them were, beside the base, the proposal with the best "
            "objective, and then each time that of the front which adds most to the area that is "
            "dominated, up to the worst of all, parameters by their logarithm."
        )


def _behind(found: FrontResults) -> Iterator[str]:
    """Say how sure it is that the others are dominated."""
    others = [arm for arm in found.arms if arm.standing != "front"]
    if not others:
        return
    noise = [arm for arm in others if arm.standing == "within noise"]
    unknown = sum(arm.standing == "not judged" for arm in others)
    sure = len(others) - len(noise) - unknown
    yield (
        f"Of the other {len(others)} proposals {sure} are dominated by more than noise: an arm of "
        f"the front has no more parameters, and the 95 % interval of the difference lies above 0 "
        f"({_of_what(found)}; each pair alone). Within noise: "
        f"{_words([arm.name for arm in noise]) or 'none'}. Any of those may belong to the front."
    )
    if unknown:
        yield (
            f"Of {unknown} it is not known: there are neither predictions of the same images nor "
            f"three seeds."
        )


def _base(found: FrontResults) -> Iterator[str]:
    if found.base is None:
        return
    worse = [arm.name for arm in found.front if dominates(found.base.point, arm.point)]
    if worse:
        yield f"The base itself is better in both than these of the front: {_words(worse)}."


def _of_what(found: FrontResults) -> str:
    num = max((len(found.values(arm.arm)) for arm in found.arms), default=0)
    if not found.results.objective.metric.is_fraction:
        return "over seeds"
    return "over validation images and seeds" if num >= FEWEST_SEEDS else "over validation images"


def _words(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(map(one_line, names[:_MOST_NAMED]))
    return listed + (f" and {more} more" if more > 0 else "")


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(str(seed) for seed in seeds)}"
