"""The notes below a table of planned looks: when each arm was decided, and what limits the rest."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import percent
from sweeps.aggregation.rendering.table import Needed
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.looks import images_as_certain_as_seeds
from sweeps.aggregation.statistics.shared_seeds import stacked
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestPlan
from sweeps.records.plain_text import listed, one_line

_MOST_NAMED = 8


def look_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield at which looks arms were decided, and why others get no more seeds.

    Args:
        manifest: With the looks so far; without a plan of looks there is nothing to say.
        compared: Each arm with the baseline, at its last look.
    """
    plan = manifest.plan
    if not plan or not plan.seeds_at_looks:
        return
    looks = ", ".join(map(str, plan.seeds_at_looks))
    decided = "; ".join(_decided(plan)) or "none so far"
    yield Needed(
        f"Looks at {looks} seeds, planned before the first; a decided arm got no more, and its "
        f"difference is over the seeds of its look. Decided: {decided}."
    )
    yield from _added(plan)
    yield from _images(plan, compared)
    if changed := [comparison.shown_name for comparison in compared if not comparison.is_as_logged]:
        yield Needed(
            f"{listed(changed, _MOST_NAMED)}: the verdict is that of the look. The trials that it "
            f"was taken on have changed since, and it no longer follows from their records."
        )


def _decided(plan: ManifestPlan) -> Iterator[str]:
    """Yield which arms were decided at each look."""
    for look in plan.looked:
        arms = [
            one_line(arm) + " (identical to the baseline)" * (verdict == "identical")
            for arm, verdict in look.verdicts.items()
            if verdict != "undecided"
        ]
        if arms:
            yield f"{listed(arms, _MOST_NAMED)} at {look.num_seeds}"


def _added(plan: ManifestPlan) -> Iterator[str]:
    """Yield which arms were added after the first look, and what that does to the level."""
    batches = dict[int, list[str]]()  # by how many arms there were at the first look of each
    seen = set[str]()
    for look in plan.looked:
        new = [one_line(arm) for arm in look.verdicts if arm not in seen]
        seen |= look.verdicts.keys()
        if new:
            batches.setdefault(look.num_compared, []).extend(new)
    added = [*batches.values()][1:]
    if added:
        spent = 1 + sum(len(arms) / number for number, arms in [*batches.items()][1:])
        names = listed([arm for arms in added for arm in arms], _MOST_NAMED)
        yield Needed(
            f"Added after the first look, and begun at it: {names}. With them anything is bold by "
            f"chance in up to {percent(SIGNIFICANCE * spent):.2g} % of such sweeps."
        )


def _images(plan: ManifestPlan, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield which arms stopped early as more seeds would hardly help, and what images would do."""
    most = plan.seeds_at_looks[-1]
    stopped = {
        arm
        for look in plan.looked
        if look.is_last and look.num_seeds < most
        for arm, verdict in look.verdicts.items()
        if verdict == "undecided"
    }
    limited = [comparison for comparison in compared if comparison.arm.arm.name in stopped]
    ways = [comparison.way for comparison in limited if comparison.way is not None]
    if not ways:
        return
    names = listed([comparison.shown_name for comparison in limited], _MOST_NAMED)
    together = stacked(ways, min(way.num_seeds for way in ways), ways[0].num_clusters)
    number = images_as_certain_as_seeds(together, most)
    unit = "objects" if ways[0].num_clusters < limited[0].num_images else "images"
    yield Needed(
        f"{names}: up to {most} seeds would narrow the interval by 5 % at most, as the test "
        f"{unit} limit it. About {number:,} of them would limit it no more than {most} seeds do."
    )
