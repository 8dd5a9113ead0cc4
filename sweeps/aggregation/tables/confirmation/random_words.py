"""Whether a search found better than random points at equal compute, in words."""

from collections.abc import Iterator

from sweeps.aggregation.results.confirmed import Confirmed
from sweeps.aggregation.tables.ablation.lead import named
from sweeps.records.plain_text import one_line


def random_lead(confirmed: Confirmed) -> str:
    """Return what is known of it, "" where it is not asked or nothing is compared."""
    drawn = confirmed.random
    if drawn is None or drawn.best is None or not drawn.best.counted:
        return ""
    compared = list({id(one): one for one in confirmed.against_random.values()}.values())
    paired = [one for one in compared if one.difference.mean is not None]
    different = [one for one in paired if one.is_different]
    better = [one for one in different if (one.difference.mean or 0.0) < 0]
    worse = [one for one in different if one not in better]
    if better:
        return (
            f"The search found better than random points at equal compute: "
            f"{named(better, with_means=True)}."
        )
    if worse and len(worse) == len(paired):
        return (
            f"Random points at equal compute found better than the search: against their best, "
            f"{named(worse, with_means=True)}."
        )
    if drawn.same and drawn.same.arm in {arm.arm.name for arm in confirmed.chosen}:
        return "Random points at equal compute found one of the arms that the search has chosen."
    if not paired:
        return ""
    return "That the search found better than random points at equal compute is not shown."


def random_progress(confirmed: Confirmed) -> str:
    """Return how far the random points are, "" where there are none."""
    drawn = confirmed.random
    if drawn is None:
        return ""
    return (
        f"Of {drawn.num_points} random points at equal compute so far {drawn.num_over} are over. "
    )


def random_notes(confirmed: Confirmed) -> Iterator[str]:
    """Say what the random points are, and what the comparison with their best can tell."""
    drawn = confirmed.random
    if drawn is None:
        return
    made = f"{drawn.num_points} random points (drawn by seed {drawn.reference.seed})"
    if drawn.best is None:
        yield f"None of the {made} ran to full length: the search is held against the base alone."
        return
    name = one_line(drawn.best.arm.name)
    yield (
        f"Against random: test error of the arm minus {name}, the best on validation of {made}, "
        f"trained in full on the seeds of the search and chosen as its arms were. They took "
        f"{drawn.epochs:,} epochs, where the search took {drawn.search_epochs:,}. Bold holds "
        f"together with the comparisons with the baseline."
    )
    yield (
        "It tells whether this search found better than this draw did. Another search or draw may "
        "be luckier, so that it is no measure of what the sampler is worth elsewhere."
    )
    if drawn.same:
        yield f"{name} is the same configuration as {one_line(drawn.same.arm)}."
