"""What the table of a front says in words: its answer, and how much of it may be chance."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.results.front_results import FrontResults
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables import notes
from sweeps.records.fronts import dominates
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed, one_line

_MOST_NAMED = 10


def front_lead(front: FrontResults) -> str:
    """Return the verdict on the front, "" before any arm has a result."""
    if not front.arms:
        return ""
    num, of = len(front.front), len(front.arms)
    lead = f"{num} of {of} proposals that ran to full length {'is' if num == 1 else 'are'} on the "
    lead += "front."
    if front.base:
        better = _names(front.base.dominated_by)
        is_noise = " within noise" * (front.base.standing == "within noise")
        lead += (
            f" Better than the base in both{is_noise}: {better}."
            if better
            else " None is better than the base in both."
        )
    return lead


def _names(names: Sequence[str]) -> str:
    return listed([*map(one_line, names)], _MOST_NAMED)


def front_notes(front: FrontResults, manifest: Manifest) -> Iterator[str]:
    """Yield what the front is, how much of it may be chance, and what lies behind it."""
    results = front.results
    yield from notes.ill_notes([arm.arm for arm in (*front.front, *filter(None, [front.base]))])
    over = len(results.proposals) - results.count("unfinished")
    if over < results.search.num_asked:
        yield f"The search has not ended: {over} of {results.search.num_asked} proposals are over."
    if not front.arms:
        yield "No proposal has run to full length, so that there is no front."
        return
    yield (
        f"The front: proposals than which no other has a smaller {results.objective.metric.text} "
        f"at no more parameters, or fewer parameters at no larger one. By validation on "
        f"{notes.seed_list(manifest.seeds)}, which chose them too, so that their errors are "
        f"optimistic, the more the smaller."
    )
    shown = [arm for front_arm in front.arms for arm in (front_arm.arm, front_arm.confirmed) if arm]
    yield from notes.mean_notes((front.mean(arm) for arm in shown), "validation")
    yield from _behind(front)
    yield from notes.limit_notes(results)
    base = front.base
    worse = [arm.name for arm in front.front if base and dominates(base.point, arm.point)]
    if worse:
        yield f"The base itself is better in both than these of the front: {_names(worse)}."
    if any(arm.confirmed for arm in front.arms):
        yield (
            "On fresh seeds: the mean of new trials, which had no part in any choice, on the same "
            "validation images. They were made for the base, the proposal with the best objective, "
            "and then repeatedly the proposal of the front that adds most to the dominated area, "
            "up to the worst of all, with parameters by their logarithm."
        )


def _behind(front: FrontResults) -> Iterator[str]:
    """Yield how sure it is that the other arms are dominated."""
    others = [arm for arm in front.arms if arm.standing not in {"front", "beyond a limit"}]
    if not others:
        return
    noise = [arm.name for arm in others if arm.standing == "within noise"]
    unknown = sum(arm.standing == "not judged" for arm in others)
    num_seeds = max((len(front.values(arm.arm)) for arm in front.arms), default=0)
    over = "validation images and seeds" if num_seeds >= FEWEST_SEEDS else "validation images"
    if not front.results.objective.metric.is_fraction:
        over = "seeds"
    yield (
        f"Of the other {len(others)} proposals {len(others) - len(noise) - unknown} are dominated "
        f"by more than noise: an arm of the front has no more parameters, and the 95 % interval of "
        f"the difference lies above 0 (over {over}; each pair alone). Within noise: "
        f"{_names(noise) or 'none'}. Any of those may belong to the front."
    )
    if unknown:
        yield (
            f"It is not known for {unknown}: there are neither predictions of the same images nor "
            f"three seeds."
        )
