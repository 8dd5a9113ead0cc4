"""The best arms of a search on fresh seeds."""

from collections.abc import Mapping
from dataclasses import replace

from capsmodel.metrics import TEST_ERROR, Metric
from search_spaces.tables import ConfirmationTable
from sweeps.aggregation.rendering.contents import Section
from sweeps.aggregation.rendering.measured import (
    field_name,
    measured_cell,
    measured_column,
    value_cell,
)
from sweeps.aggregation.rendering.table import Cell, Column, Table, count_cell, integer_cell
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.confirmation_results import (
    ConfirmationResults,
    confirmation_results,
)
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.columns import (
    GAP_COLUMN,
    difference_of,
    gap_cell,
    ill_cell,
    ill_columns,
    marked,
    point_cell,
    verdict_of,
    with_departures,
)
from sweeps.aggregation.tables.confirmation_notes import confirmation_lead, confirmation_notes
from sweeps.aggregation.tables.headlines import confirmation_headline
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord


def make_confirmation(declared: ConfirmationTable, results: Results) -> Section:
    """Return the table.

    Raises:
        BadInput: If the sweep is no search.
    """
    table = confirmation_table(
        results.manifest, results.records, declared.name, results.predictions
    )
    return Section(declared.name, declared.kind, tables=(table,))


def confirmation_table(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    name: str = "confirmation",
    predictions: Mapping[str, Predictions] | None = None,
) -> Table:
    """Return one row per confirmed arm, in the search's order, on seeds that did not choose it.

    Its test errors are held against the base's, which stands last and without a rank. Before the
    best are chosen there are no rows, and the first note says how far the search is. Holds only
    what trial keys decide.

    Args:
        manifest: Manifest of a search.
        records: Records by trial key; their order changes nothing.
        name: The table's name, as the manifest declares it.
        predictions: Predictions by trial key. Without them intervals are over seeds alone, and
            nothing is bold.

    Raises:
        BadInput: If the sweep is no search.
    """
    confirmed = confirmation_results(manifest, records, predictions)
    rows, of_ill = enumerate(confirmed.rows(), start=1), ill_columns(confirmed.rows())
    table = Table(
        name=name,
        title=f"Confirmation of {manifest.sweep}: the best arms on fresh seeds",
        lead=confirmation_lead(confirmed, manifest),
        headline=confirmation_headline([*confirmed.compared.values()], len(confirmed.chosen)),
        description=one_line(manifest.description),
        columns=(
            *confirmation_columns(
                confirmed.metric,
                has_cost=bool(confirmed.results.search.cost),
                is_held_to_random=confirmed.random is not None,
            ),
            *of_ill,
        ),
        rows=tuple(
            (*confirmed_row(rank, arm, confirmed), *(ill_cell(arm) for _ in of_ill))
            for rank, arm in rows
        ),
        notes=tuple(confirmation_notes(confirmed, manifest)),
    )
    return with_departures(manifest, table)


def confirmation_columns(
    metric: Metric, *, has_cost: bool, is_held_to_random: bool = False
) -> tuple[Column, ...]:
    """Return the columns of a search that chooses by a metric, and by parameters or not."""
    ends = ("", "_low", "_high")
    of_random = (*(f"random_difference_points{end}" for end in ends), "random_difference_n")
    verdicts = ("random_verdict", "random_p", "random_adjusted_p")
    difference = Column(
        "Difference",
        (*(f"difference_points{end}" for end in ends), "difference_n"),
        is_answer=True,
    )
    verdict = Column(
        "Verdict",
        ("verdict", "p", "adjusted_p"),
        align="left",
        hide_if_empty=True,
        is_answer=True,
    )
    against = (
        Column("Against random", of_random),
        Column("Verdict on random", verdicts, align="left", hide_if_empty=True),
    )
    return (
        Column("Rank", ("rank",)),
        Column("Arm", ("arm", "is_baseline"), align="left"),
        Column("Settings", ("settings",), align="left", hide_if_empty=True),
        *([Column("Parameters", ("num_parameters",))] if has_cost else []),
        measured_column(metric, metric.text.capitalize()),
        Column("n", ("n", "num_planned")),
        Column("In the search", (f"search_{field_name(metric)}",)),
        measured_column(TEST_ERROR, "Test error"),
        difference,
        verdict,
        *(against if is_held_to_random else ()),
        GAP_COLUMN,
    )


def confirmed_row(rank: int, arm: ArmResults, confirmed: ConfirmationResults) -> tuple[Cell, ...]:
    """Return the row of an arm at its rank."""
    metric, baseline = confirmed.metric, confirmed.baseline
    values, digits = confirmed.values(arm), _digits(metric)
    is_baseline = baseline is not None and arm.arm.name == baseline.arm.name
    has_rank = bool(values) and rank <= len(confirmed.chosen)
    compared = confirmed.compared.get(arm.arm.name)
    drawn = confirmed.random
    is_drawn = drawn is not None and drawn.best is not None and drawn.best.arm.name == arm.arm.name
    name = arm.shown_name + (f" (best of {drawn.num_points})" if drawn and is_drawn else "")
    of_random = confirmed.against_random.get(arm.arm.name)
    against = (difference_of(of_random, len(arm.test_errors)), _verdict_cell(of_random))
    return (
        Cell(str(rank), (rank,)) if has_rank else Cell("", (None,)),
        Cell(f"{name} (baseline)" if is_baseline else name, (arm.arm.name, is_baseline)),
        _settings_cell(arm, confirmed),
        *([integer_cell(arm.arm.num_parameters)] if confirmed.results.search.cost else []),
        measured_cell(confirmed.mean(arm).interval, metric, digits),
        count_cell(len(values), len(arm.trials)),
        _search_cell(arm, confirmed),
        marked(measured_cell(confirmed.mean_test_error(arm).interval, TEST_ERROR), arm),
        difference_of(compared, len(arm.test_errors)),
        _verdict_cell(compared),
        *(against if drawn else ()),
        gap_cell(arm),
    )


def _settings_cell(arm: ArmResults, confirmed: ConfirmationResults) -> Cell:
    """Return what the search chose for an arm; nothing for the base."""
    drawn = confirmed.random.reference.draws if confirmed.random else ()
    by_arm = {draw.arm: draw.params for draw in drawn}
    by_arm |= {name: proposal.params for name, proposal in confirmed.proposals.items()}
    return point_cell(by_arm.get(arm.arm.name, {}), confirmed.results.search)


def _digits(metric: Metric) -> int:
    return 2 if metric.is_fraction else 5


def _verdict_cell(compared: Comparison | None) -> Cell:
    tests = (compared.p_value, compared.adjusted_p) if compared else (None, None)
    cell = verdict_of(compared)
    return replace(cell, values=(*cell.values, *tests))


def _search_cell(arm: ArmResults, confirmed: ConfirmationResults) -> Cell:
    """Return the value for which the search chose the arm."""
    proposal, drawn = confirmed.proposals.get(arm.arm.name), confirmed.random
    if drawn and drawn.best and drawn.best.arm.name == arm.arm.name:
        value = drawn.value
    else:
        # the base is no proposal
        value = proposal.value if proposal else confirmed.results.base_value
    if value is None:
        return Cell("", (None,))
    return value_cell(value, confirmed.metric, _digits(confirmed.metric))
