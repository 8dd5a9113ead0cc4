"""The table of a front: what none is better than in both objectives."""

from capsmodel.metrics import Metric
from sweeps.aggregation.rendering.measured import measured_cell, measured_column
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    count_cell,
    integer_cell,
)
from sweeps.aggregation.results.fronts.front_results import FrontArm, FrontResults
from sweeps.aggregation.tables.fronts.words import front_lead, front_notes
from sweeps.aggregation.tables.points import point_cell
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def front_table(found: FrontResults, manifest: Manifest, name: str = "front") -> Table:
    """Return one row an arm of the front, the cheapest first, and then the base.

    Programs read a row of each proposal that ran to full length. Holds only what trial keys decide.

    Args:
        found: As `front_results` returns it.
        manifest: Of its search.
        name: The table's name, as the manifest declares it.
    """
    metric = found.results.objective.metric
    base = [found.base] if found.base else []
    others = [arm for arm in found.arms if arm.standing != "front"]

    def table(arms: list[FrontArm], inner: Table | None = None) -> Table:
        return Table(
            name=name,
            title=f"Front of {manifest.sweep}: {metric.text} against parameters",
            lead=front_lead(found),
            description=one_line(manifest.description),
            columns=_columns(metric),
            rows=tuple(_row(arm, found) for arm in arms),
            notes=tuple(front_notes(found, manifest)),
            for_programs=inner,
        )

    everything = table([*found.front, *others, *base])
    return table([*found.front, *base], everything)


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


def _row(arm: FrontArm, found: FrontResults) -> tuple[Cell, ...]:
    metric, search = found.results.objective.metric, found.results.search
    digits = 2 if metric.is_fraction else 5
    params = {one.proposal.arm: one.params for one in found.results.proposals}
    values = found.values(arm.arm)
    is_base = arm.name == search.base
    name = one_line(arm.name)
    return (
        Cell(f"{name} (baseline)" if is_base else name, (arm.name, is_base)),
        point_cell(params.get(arm.name, {}), search),
        integer_cell(arm.arm.arm.num_parameters),
        measured_cell(values.values(), metric, digits),
        count_cell(len(values), len(arm.arm.trials)),
        Cell(one_line(_standing(arm)), (arm.standing, ", ".join(arm.dominated_by))),
        measured_cell(found.values(arm.again).values(), metric, digits)
        if arm.again
        else Cell("", (None, None, None)),
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
