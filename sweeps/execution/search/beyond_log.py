"""Decisions of a search that its log has lost, but not the folders of its trials."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from search_spaces.plans.decisions import LogCut
from search_spaces.plans.search import Search
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.definition import LostDecisions, SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.search.warm_points import Point, point_of_settings
from sweeps.execution.sweep_log import EarlierLog
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.sweep_log import decisions_under
from sweeps.records.trial_record import TRIAL_KEY

_NAME = re.compile(r"proposal (\d{1,6})")


def with_lost_decisions(
    definition: SweepDefinition, earlier: EarlierLog, cells: Path
) -> SweepDefinition:
    """Return a search with the decisions that its log has lost, and the decision that notes it.

    A trial says in its folder which plan has started it, as which proposal, and whether it was
    stopped. So no proposal is made a second time under its number, and no trial is trained again or
    further: a scheduler judges by what has arrived, so asked again it could decide otherwise.

    Args:
        definition: A definition with all decisions in force.
        earlier: What earlier launches have left.
        cells: The folder of the cells' folders.
    """
    plan = definition.sweep.plan
    if not isinstance(plan, Search) or not definition.manifest.is_growing:
        return definition
    specs = list(trials_beyond_log(definition, earlier, cells))
    if not specs:
        return definition
    points: dict[int, Point] = {}
    stops: dict[str, int] = {}
    for spec in specs:
        if epoch := CellFolder(cells, spec.trial_key).stopped_by(spec.plan):
            stops[spec.trial_key] = epoch
        name = _NAME.fullmatch(spec.arm)
        if name and (point := point_of_settings(definition, spec.config)):
            points.setdefault(int(name[1]), point)
    growing = GrowingDefinition(definition)
    cut = growing.resolved(LogCut(growing.manifest.num_proposals))
    is_known = cut.subject in {entry.subject for entry in definition.decisions}
    if not earlier.is_empty and not is_known:  # a log that is gone altogether begins anew
        growing.take(cut)
    return replace(growing.snapshot(), lost=LostDecisions(points, stops))


def trials_beyond_log(
    definition: SweepDefinition, earlier: EarlierLog, cells: Path
) -> Iterator[TrialSpec]:
    """Yield the specs of trials that the plan has started and no log names."""
    plan = definition.decided_by
    if plan is None or not cells.is_dir():
        return
    named = {cell.trial_key for cell in definition.manifest.cells}
    for entries in (earlier.here, earlier.stored):
        decisions = decisions_under(plan, entries, with_void=True)
        named.update(cell.trial_key for entry in decisions for cell in entry.cells)
    for folder in sorted(cells.iterdir()):
        if TRIAL_KEY.fullmatch(folder.name) and folder.name not in named:
            spec = CellFolder(cells, folder.name).spec_under(plan)
            if spec and spec.sweep == definition.manifest.sweep:
                yield spec
