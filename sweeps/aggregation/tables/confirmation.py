"""The confirmation table: the best arms of a search on seeds that had no part in choosing them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from capsmodel.metrics import TEST_ERROR, Objective
from sweeps.aggregation.rendering.measured import (
    measured_cell,
    measured_difference_cell,
    value_cell,
)
from sweeps.aggregation.rendering.table import (
    PLUS_MINUS,
    Cell,
    Column,
    Table,
    count_cell,
    no_difference_cell,
)
from sweeps.aggregation.results.arms import ArmResults, arm_results, cell_state
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import ProposalResult, SearchResults, search_results
from sweeps.aggregation.results.statistics import mean_interval
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.tables.departures import with_departures
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import marked, target_notes
from sweeps.aggregation.tables.uncounted_cells import GAP_COLUMN, gap_cell, gap_notes, reason_notes
from sweeps.records.manifest import Confirmation, Manifest, Plain
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import TrialRecord


@dataclass(frozen=True)
class _Objective:
    """What a search chooses by, as readers see it."""

    by: Objective

    @property
    def is_fraction(self) -> bool:
        return self.by.metric.is_fraction

    @property
    def words(self) -> str:
        return self.by.metric.text

    @property
    def digits(self) -> int:
        return 2 if self.is_fraction else 5

    @property
    def best(self) -> str:
        return "highest" if self.by.metric.direction == "larger" else "lowest"

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the last-epoch values of an arm by seed, as the records hold them."""
        return arm.chosen_by(self.by)

    def columns(self) -> tuple[Column, ...]:
        name = self.by.metric.name + "_percent" * self.is_fraction
        title = self.words.capitalize() + (" (%)" if self.is_fraction else "")
        points = "difference_points" if self.is_fraction else "difference"
        ends = ("", "_low", "_high")
        return (
            Column("Rank", ("rank",)),
            Column("Arm", ("arm", "is_reference"), align="left"),
            Column("Settings", ("settings",), align="left"),
            Column(title, tuple(name + end for end in ends)),
            Column("n", ("n", "num_planned")),
            Column(
                "To the reference" + (" (points)" if self.is_fraction else ""),
                (*(points + end for end in ends), "difference_n"),
            ),
            Column("In the search", (f"search_{name}",)),
            Column("Test error (%)", tuple(f"test_error_percent{end}" for end in ends)),
            GAP_COLUMN,
        )


@dataclass(frozen=True)
class _Confirmed:
    """What the table is made from: the chosen arms and the reference, with the fresh seeds."""

    results: SearchResults
    again: Confirmation | None
    chosen: tuple[ArmResults, ...]
    reference: ArmResults | None

    @property
    def objective(self) -> _Objective:
        return _Objective(self.results.objective)

    @cached_property
    def proposals(self) -> dict[str, ProposalResult]:
        """Name of an arm -> what came of its proposal."""
        return {one.proposal.arm: one for one in self.results.proposals}

    def ranked(self) -> list[ArmResults]:
        """Return the chosen arms, the best mean first, those without a result last."""
        means = {a.arm.name: mean_interval(self.objective.values(a).values()) for a in self.chosen}

        def place(arm: ArmResults) -> tuple[bool, float]:
            mean = means[arm.arm.name].mean
            return mean is None, round(self.objective.by.cost(mean or 0.0), 12)

        return sorted(self.chosen, key=place)

    def rows(self) -> list[ArmResults]:
        """Return the ranked arms and, if it is none of them, the reference."""
        ranked = self.ranked()
        names = {arm.arm.name for arm in ranked}
        reference = self.reference
        is_apart = reference is not None and reference.arm.name not in names
        return [*ranked, reference] if reference and is_apart else ranked


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
    results = search_results(manifest, records)
    again = results.search.confirmation
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    reference = arms.get(again.reference) if again and again.reference else None
    confirmed = _Confirmed(
        results=results,
        again=again,
        chosen=confirmed_arms(manifest, records),
        reference=with_seeds(reference, again.seeds) if again and reference else None,
    )
    rows = confirmed.rows()
    table = Table(
        name=name,
        title=f"Confirmation of {manifest.sweep}: the best arms on fresh seeds",
        description=one_line(manifest.description),
        columns=confirmed.objective.columns(),
        rows=tuple(_row(rank, arm, confirmed) for rank, arm in enumerate(rows, start=1)),
        notes=(
            *filter(None, [_progress(confirmed)]),
            *_notes(confirmed, manifest),
            *gap_notes(rows),
            *target_notes(rows),
            *health_notes(rows),
            *reason_notes(rows),
        ),
    )
    return with_departures(manifest, table)


def _row(rank: int, arm: ArmResults, confirmed: _Confirmed) -> tuple[Cell, ...]:
    objective, reference = confirmed.objective, confirmed.reference
    values = objective.values(arm)
    is_reference = reference is not None and arm.arm.name == reference.arm.name
    has_rank = bool(values) and rank <= len(confirmed.chosen)
    if reference is None or is_reference:
        difference = no_difference_cell()
    else:
        difference = measured_difference_cell(
            values, objective.values(reference), objective.by.metric, objective.digits
        )
    name = one_line(arm.arm.name)
    return (
        Cell(str(rank), (rank,)) if has_rank else Cell("", (None,)),
        Cell(f"{name} (reference)" if is_reference else name, (arm.arm.name, is_reference)),
        _settings_cell(arm, confirmed),
        measured_cell(values.values(), objective.by.metric, objective.digits),
        count_cell(len(values), len(arm.trials)),
        difference,
        _search_cell(arm, confirmed),
        marked(measured_cell(arm.test_errors.values(), TEST_ERROR), arm),
        gap_cell(arm),
    )


def _search_cell(arm: ArmResults, confirmed: _Confirmed) -> Cell:
    """Return the value for which the search chose the arm."""
    objective = confirmed.objective
    found = confirmed.proposals[arm.arm.name].value
    if found is None:
        return Cell("", (None,))
    return value_cell(found, objective.by.metric, objective.digits)


def _settings_cell(arm: ArmResults, confirmed: _Confirmed) -> Cell:
    """Return what the search chose for an arm: short names to read, whole ones in JSON."""
    params = confirmed.proposals[arm.arm.name].params
    dimensions = confirmed.results.search.dimensions
    names = short_names([one.path for one in dimensions])
    paths = {one.name: one.path for one in dimensions}
    text = ", ".join(
        f"{names.get(paths.get(name, name), name)} {value_text(value)}"
        for name, value in params.items()
    )
    return Cell(one_line(text), (_as_json(params),))


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of paths that tell them apart: `model.pose_size` -> `pose_size`."""
    distinct = dict.fromkeys(paths)
    names: dict[str, str] = {}
    for path in distinct:
        steps = path.split(".")
        ends = (".".join(steps[-length:]) for length in range(1, len(steps) + 1))
        others = [f".{other}" for other in distinct if other != path]
        names[path] = next(
            (end for end in ends if not any(o.endswith(f".{end}") for o in others)), path
        )
    return names


def _as_json(params: Mapping[str, Plain]) -> str:
    return json.dumps(dict(params), sort_keys=True)


def _progress(confirmed: _Confirmed) -> str:
    """Return how far the search and its confirmation are, "" where both are over."""
    results = confirmed.results
    over = len(results.proposals) - results.count("unfinished")
    total = results.search.num_trials
    if confirmed.again is None:
        return "This search confirms nothing: its best arm is only the luckiest until it is."
    if not confirmed.chosen:
        if over < total:
            return f"The search has not ended: {over} of {total} proposals are over."
        if not results.counted:
            return f"None of the {total} proposals ran to full length: there is nothing to confirm."
        return f"All {total} proposals are over. The best are not yet run again."
    trials = [trial for arm in confirmed.rows() for trial in arm.trials.values()]
    left = sum(cell_state(trial) in {"missing", "unfinished"} for trial in trials)
    if left:
        return f"The confirmation has not ended: {len(trials) - left} of {len(trials)} trials are."
    return ""


def _notes(confirmed: _Confirmed, manifest: Manifest) -> Iterator[str]:
    again, objective = confirmed.again, confirmed.objective
    if again is None or not confirmed.chosen:
        return
    percent = ", in percent" if objective.is_fraction else ""
    yield (
        f"Ranked are the {len(confirmed.chosen)} arms that had the {objective.best} mean "
        f"{objective.words} in the search, by that of n new trials on {_seeds(again.seeds)}, "
        f"which had no part in choosing them{percent}; {PLUS_MINUS} half the width of its 95 % t "
        "interval (n - 1 degrees of freedom). All figures are those of the last epoch."
    )
    if confirmed.reference is None:
        yield "There is no reference: none of the first random proposals ran to full length."
    else:
        points = ", in percentage points" if objective.is_fraction else ""
        yield (
            f"To the reference: arm minus {one_line(confirmed.reference.arm.name)}{points}, paired "
            "by seed over the seeds that both have, with its 95 % t interval. The reference was "
            "the median of the first random proposals that ran to full length: what a middling "
            "choice at random gives. Bold: the interval leaves out 0. The intervals are not "
            "corrected for the number of arms."
        )
    yield (
        f"In the search: the mean on {_seeds(manifest.seeds)} that the arm was chosen by. As the "
        f"best of {len(confirmed.results.proposals)} proposals it is optimistic."
    )
    yield "Test error: of the same new trials. The test split had no part in any choice."


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(str(seed) for seed in seeds)}"
