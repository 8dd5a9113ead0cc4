"""The front of a search with two objectives."""

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
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.columns import point_cell, with_departures, with_ill_mark
from sweeps.aggregation.tables.front_figure import front_figure
from sweeps.aggregation.tables.front_notes import front_lead, front_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import listed, one_line


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
    """Return one row per arm of the front, the cheapest first, and then the base.

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
    params = {result.proposal.arm: result.params for result in front.results.proposals}
    values = front.values(arm.arm)
    is_base = arm.name == search.base
    name = one_line(arm.name)
    return (
        Cell(f"{name} (baseline)" if is_base else name, (arm.name, is_base)),
        point_cell(params.get(arm.name, {}), search),
        integer_cell(arm.arm.arm.num_parameters),
        with_ill_mark(measured_cell(front.mean(arm.arm).interval, metric, digits), arm.arm),
        count_cell(len(values), len(arm.arm.trials)),
        Cell(one_line(_standing(arm)), (arm.standing, ", ".join(arm.dominated_by))),
        measured_cell(front.mean(arm.confirmed).interval, metric, digits)
        if arm.confirmed
        else Cell("", (None,) * len(MEAN_ENDS)),
    )


def _standing(arm: FrontArm) -> str:
    if arm.standing == "front":
        return "none is better in both"
    if arm.standing == "beyond a limit":
        return arm.standing
    relations = {
        "dominated": "dominated by",
        "within noise": "dominated within noise by",
        "not judged": "dominated, by how much is not known, by",
    }
    return f"{relations[arm.standing]} {listed(arm.dominated_by, 2)}"
