"""What the confirmation table says in words: what was chosen, how far it is, how to read it."""

import json
from collections.abc import Iterator, Sequence

from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell
from sweeps.aggregation.results.arms import ArmResults, cell_state
from sweeps.aggregation.results.confirmed import Confirmed
from sweeps.aggregation.sensitivity.setting_axis import value_text
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def settings_cell(arm: ArmResults, confirmed: Confirmed) -> Cell:
    """Return what the search chose for an arm: short names to read, whole ones in JSON."""
    params = confirmed.proposals[arm.arm.name].params
    dimensions = confirmed.results.search.dimensions
    names = short_names([dimension.path for dimension in dimensions])
    paths = {dimension.name: dimension.path for dimension in dimensions}
    text = ", ".join(
        f"{names.get(paths.get(name, name), name)} {value_text(value)}"
        for name, value in params.items()
    )
    return Cell(one_line(text), (json.dumps(dict(params), sort_keys=True),))


def confirmation_notes(confirmed: Confirmed, manifest: Manifest) -> Iterator[str]:
    """Say how far search and confirmation are, how to read the table, and what trials lack."""
    yield from filter(None, [_progress(confirmed)])
    yield from _notes(confirmed, manifest)
    rows = confirmed.rows()
    yield from gap_notes(rows)
    yield from target_notes(rows)
    yield from health_notes(rows)
    yield from reason_notes(rows)


def _progress(confirmed: Confirmed) -> str:
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


def _notes(confirmed: Confirmed, manifest: Manifest) -> Iterator[str]:
    again, metric = confirmed.again, confirmed.metric
    if again is None or not confirmed.chosen:
        return
    best = "highest" if metric.direction == "larger" else "lowest"
    percent = ", in percent" if metric.is_fraction else ""
    yield (
        f"Ranked are the {len(confirmed.chosen)} arms that had the {best} mean "
        f"{metric.text} in the search, by that of n new trials on {_seeds(again.seeds)}, "
        f"which had no part in choosing them{percent}; {PLUS_MINUS} half the width of its 95 % t "
        "interval (n - 1 degrees of freedom). All figures are those of the last epoch."
    )
    if confirmed.reference is None:
        yield "There is no reference: none of the first random proposals ran to full length."
    else:
        points = ", in percentage points" if metric.is_fraction else ""
        yield (
            f"To the reference: arm minus {one_line(confirmed.reference.arm.name)}{points}, paired "
            "by seed over the seeds that both have, with its 95 % t interval. The reference was "
            "the median of the first random proposals that ran to full length: what a middling "
            "choice at random gives. The intervals are over seeds alone: nothing is bold."
        )
    yield (
        f"In the search: the mean on {_seeds(manifest.seeds)} that the arm was chosen by. As the "
        f"best of {len(confirmed.results.proposals)} proposals it is optimistic."
    )
    yield "Test error: of the same new trials. The test split had no part in any choice."


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(str(seed) for seed in seeds)}"
