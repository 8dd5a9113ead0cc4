"""The confirmation table: the best arms of a search on seeds that had no part in choosing them."""

from collections.abc import Mapping

from capsmodel.metrics import TEST_ERROR, Metric
from sweeps.aggregation.rendering.measured import (
    field_name,
    measured_cell,
    measured_column,
    measured_difference_cell,
    value_cell,
)
from sweeps.aggregation.rendering.table import (
    Cell,
    Column,
    Table,
    count_cell,
    no_difference_cell,
)
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.confirmed import Confirmed, confirmed_results
from sweeps.aggregation.tables.confirmation_words import confirmation_notes, settings_cell
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.targets import marked
from sweeps.aggregation.tables.uncounted_cells import GAP_COLUMN, gap_cell
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord


def confirmation_table(
    manifest: Manifest, records: Mapping[str, TrialRecord], name: str = "confirmation"
) -> Table:
    """Return one row a confirmed arm, ranked by validation on seeds that did not choose it.

    The reference, what a middling choice at random gives, stands last and without a rank. Before
    the best are chosen there are no rows, and the first note says how far the search is. Holds
    only what trial keys decide.

    Args:
        manifest: Of a search.
        records: By trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.

    Raises:
        BadInput: If the sweep is no search.
    """
    confirmed = confirmed_results(manifest, records)
    rows = enumerate(confirmed.rows(), start=1)
    table = Table(
        name=name,
        title=f"Confirmation of {manifest.sweep}: the best arms on fresh seeds",
        description=one_line(manifest.description),
        columns=_columns(confirmed.metric),
        rows=tuple(_row(rank, arm, confirmed) for rank, arm in rows),
        notes=tuple(confirmation_notes(confirmed, manifest)),
    )
    return with_departures(manifest, table)


def _row(rank: int, arm: ArmResults, confirmed: Confirmed) -> tuple[Cell, ...]:
    metric, reference = confirmed.metric, confirmed.reference
    values, digits = confirmed.values(arm), _digits(metric)
    is_reference = reference is not None and arm.arm.name == reference.arm.name
    has_rank = bool(values) and rank <= len(confirmed.chosen)
    if reference is None or is_reference:
        difference = no_difference_cell()
    else:
        difference = measured_difference_cell(values, confirmed.values(reference), metric, digits)
    name = one_line(arm.arm.name)
    return (
        Cell(str(rank), (rank,)) if has_rank else Cell("", (None,)),
        Cell(f"{name} (reference)" if is_reference else name, (arm.arm.name, is_reference)),
        settings_cell(arm, confirmed),
        measured_cell(values.values(), metric, digits),
        count_cell(len(values), len(arm.trials)),
        difference,
        _search_cell(arm, confirmed),
        marked(measured_cell(arm.test_errors.values(), TEST_ERROR), arm),
        gap_cell(arm),
    )


def _search_cell(arm: ArmResults, confirmed: Confirmed) -> Cell:
    """Return the value for which the search chose the arm."""
    value = confirmed.proposals[arm.arm.name].value
    if value is None:
        return Cell("", (None,))
    return value_cell(value, confirmed.metric, _digits(confirmed.metric))


def _digits(metric: Metric) -> int:
    return 2 if metric.is_fraction else 5


def _columns(metric: Metric) -> tuple[Column, ...]:
    points = "difference_points" if metric.is_fraction else "difference"
    ends = ("", "_low", "_high")
    return (
        Column("Rank", ("rank",)),
        Column("Arm", ("arm", "is_reference"), align="left"),
        Column("Settings", ("settings",), align="left"),
        measured_column(metric, metric.text.capitalize()),
        Column("n", ("n", "num_planned")),
        Column(
            "To the reference" + (" (points)" if metric.is_fraction else ""),
            (*(points + end for end in ends), "difference_n"),
        ),
        Column("In the search", (f"search_{field_name(metric)}",)),
        measured_column(TEST_ERROR, "Test error"),
        GAP_COLUMN,
    )
