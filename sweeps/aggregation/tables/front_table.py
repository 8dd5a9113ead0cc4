"""The front of a search with two objectives."""

from collections.abc import Iterator, Sequence
from functools import partial

from capsmodel.metrics import Metric
from search_spaces.tables import FrontTable
from sweeps.aggregation.rendering.contents import Figure, Section
from sweeps.aggregation.rendering.measured import MEAN_ENDS, measured_cell, measured_column
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    count_cell,
    integer_cell,
)
from sweeps.aggregation.results.front_results import FrontArm, FrontResults, front_results
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.front_figure import front_figure
from sweeps.aggregation.tables.mean_notes import mean_notes
from sweeps.aggregation.tables.points import point_cell
from sweeps.aggregation.tables.sweep_results import Results
from sweeps.records.fronts import dominates
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line

_MOST_NAMED = 10


def make_front(declared: FrontTable, results: Results) -> Section:
    """Return the table and the figure.

    Raises:
        BadInput: If the sweep is no search with two objectives.
    """
    front = front_results(results.manifest, results.records, results.predictions)
    table = front_table(front, results.manifest, declared.name)
    return Section(
        name=declared.name,
        kind=declared.kind,
        tables=(with_departures(results.manifest, table),),
        figures=(Figure(declared.name, partial(front_figure, front)),),
    )


def front_table(front: FrontResults, manifest: Manifest, name: str = "front") -> Table:
    """Return one row an arm of the front, the cheapest first, and then the base.

    Programs read a row of each proposal that ran to full length. Holds only what trial keys decide.

    Args:
        front: What `front_results` returned.
        manifest: The search's manifest.
        name: The table's name, as the manifest declares it.
    """
    metric = front.results.objective.metric
    base = [front.base] if front.base else []
    others = [arm for arm in front.arms if arm.standing != "front"]

    def table(arms: list[FrontArm], inner: Table | None = None) -> Table:
        return Table(
            name=name,
            title=f"Front of {manifest.sweep}: {metric.text} against parameters",
            lead=front_lead(front),
            description=one_line(manifest.description),
            columns=_columns(metric),
            rows=tuple(_row(arm, front) for arm in arms),
            notes=tuple(front_notes(front, manifest)),
            for_programs=inner,
        )

    everything = table([*front.front, *others, *base])
    return table([*front.front, *base], everything)


def front_lead(front: FrontResults) -> str:
    """Return the verdict on the front, "" before any arm has a result."""
    if not front.arms:
        return ""
    num, of = len(front.front), len(front.arms)
    lead = f"{num} of {of} proposals that ran to full length {'is' if num == 1 else 'are'} on the "
    lead += "front."
    if front.base:
        better = _words(front.base.dominated_by)
        is_noise = " within noise" * (front.base.standing == "within noise")
        lead += (
            f" Better than the base in both{is_noise}: {better}."
            if better
            else " None is better than the base in both."
        )
    return lead


def _words(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(map(one_line, names[:_MOST_NAMED]))
    return listed + (f" and {more} more" if more > 0 else "")


def _columns(metric: Metric) -> tuple[Column, ...]:
    fresh = measured_column(metric, "On fresh seeds")
    return (
        Column("Arm", ("arm", "is_baseline"), align="left"),
        Column("Settings", ("settings",), align="left"),
        Column("Parameters", ("num_parameters",)),
        measured_column(metric, metric.text.capitalize()),
        Column("n", ("n", "num_planned")),
        Column("Standing", ("standing", "dominated_by"), align="left"),
        Column(fresh.title, tuple(f"fresh_{field}" for field in fresh.fields), hide_if_empty=True),
    )


def _row(arm: FrontArm, front: FrontResults) -> tuple[Cell, ...]:
    metric, search = front.results.objective.metric, front.results.search
    digits = 2 if metric.is_fraction else 5
    params = {one.proposal.arm: one.params for one in front.results.proposals}
    values = front.values(arm.arm)
    is_base = arm.name == search.base
    name = one_line(arm.name)
    return (
        Cell(f"{name} (baseline)" if is_base else name, (arm.name, is_base)),
        point_cell(params.get(arm.name, {}), search),
        integer_cell(arm.arm.arm.num_parameters),
        measured_cell(front.mean(arm.arm).interval, metric, digits),
        count_cell(len(values), len(arm.arm.trials)),
        Cell(one_line(_standing(arm)), (arm.standing, ", ".join(arm.dominated_by))),
        measured_cell(front.mean(arm.confirmed).interval, metric, digits)
        if arm.confirmed
        else Cell("", (None,) * len(MEAN_ENDS)),
    )


def _standing(arm: FrontArm) -> str:
    if arm.standing == "front":
        return "none is better in both"
    by = ", ".join(arm.dominated_by[:2])
    more = f" and {len(arm.dominated_by) - 2} more" * (len(arm.dominated_by) > 2)
    words = {
        "dominated": "dominated by",
        "within noise": "dominated within noise by",
        "not judged": "dominated, by how much is not known, by",
    }
    return f"{words[arm.standing]} {by}{more}"


def front_notes(front: FrontResults, manifest: Manifest) -> Iterator[str]:
    """Yield what the front is, how much of it may be chance, and what lies behind it."""
    results = front.results
    over = len(results.proposals) - results.count("unfinished")
    if over < results.search.num_asked:
        yield f"The search has not ended: {over} of {results.search.num_asked} proposals are over."
    if not front.arms:
        yield "No proposal has run to full length, so that there is no front."
        return
    yield (
        f"The front: proposals than which no other has a smaller {results.objective.metric.text} "
        f"at no more parameters, or fewer parameters at no larger one. By validation on "
        f"{_seeds(manifest.seeds)}, which chose them too, so that their errors are optimistic, the "
        f"more the smaller."
    )
    shown = [one for arm in front.arms for one in (arm.arm, arm.confirmed) if one]
    yield from mean_notes((front.mean(one) for one in shown), "validation")
    yield from _behind(front)
    yield from _base(front)
    if any(arm.confirmed for arm in front.arms):
        yield (
            "On fresh seeds: the mean of new trials, which had no part in any choice, on the same "
            "validation images. They were made for the base, the proposal with the best objective, "
            "and then repeatedly the proposal of the front that adds most to the dominated area, "
            "up to the worst of all, with parameters by their logarithm."
        )


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(str(seed) for seed in seeds)}"


def _behind(front: FrontResults) -> Iterator[str]:
    """Yield how sure it is that the other arms are dominated."""
    others = [arm for arm in front.arms if arm.standing != "front"]
    if not others:
        return
    noise = [arm for arm in others if arm.standing == "within noise"]
    unknown = sum(arm.standing == "not judged" for arm in others)
    sure = len(others) - len(noise) - unknown
    yield (
        f"Of the other {len(others)} proposals {sure} are dominated by more than noise: an arm of "
        f"the front has no more parameters, and the 95 % interval of the difference lies above 0 "
        f"({_of_what(front)}; each pair alone). Within noise: "
        f"{_words([arm.name for arm in noise]) or 'none'}. Any of those may belong to the front."
    )
    if unknown:
        yield (
            f"It is not known for {unknown}: there are neither predictions of the same images nor "
            f"three seeds."
        )


def _of_what(front: FrontResults) -> str:
    num = max((len(front.values(arm.arm)) for arm in front.arms), default=0)
    if not front.results.objective.metric.is_fraction:
        return "over seeds"
    return "over validation images and seeds" if num >= FEWEST_SEEDS else "over validation images"


def _base(front: FrontResults) -> Iterator[str]:
    if front.base is None:
        return
    worse = [arm.name for arm in front.front if dominates(front.base.point, arm.point)]
    if worse:
        yield f"The base itself is better in both than these of the front: {_words(worse)}."
