"""A look at what is there before a launch: folders, records, and what is left to do."""

import logging

from sweeps.execution.driver.disk_survey import with_disk
from sweeps.execution.driver.evaluation_survey import survey_evaluations
from sweeps.execution.driver.folder_states import folder_states
from sweeps.execution.driver.launch_guards import usable_places
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.engine.capacity import ONE_AT_A_TIME, Capacity
from sweeps.execution.launch.known_sweep import known_sweep
from sweeps.execution.plan.definition import Definition, Launchable
from sweeps.execution.plan.planner import (
    dropped_cells,
    estimate_seconds,
    seconds_per_epoch,
    surveyed,
)
from sweeps.tracking.opening import open_store

_LOG = logging.getLogger(__name__)


def survey_of(
    which: Launchable, options: LaunchOptions, capacity: Capacity = ONE_AT_A_TIME
) -> Survey:
    """Look at what is there and say what a launch would do. Writes nothing.

    Raises:
        BadInput: If the sweep, a change or the folder cannot be.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, tracking_uri = usable_places(options.storage, options.tracking_uri)
    _LOG.info("cells lie in %s", storage.cells)
    store = open_store(tracking_uri, storage.root)
    is_there = store.is_there()
    definition, known, current, adopted = known_sweep(which, options, store, storage)
    keys = [cell.trial_key for cell in definition.manifest.cells]
    folders = {} if options.fresh else folder_states(storage, keys)
    records = {} if options.fresh or not is_there else store.records(keys)
    cells = surveyed(definition.manifest.cells, folders, records, definition.waiting)
    lost: frozenset[str] = frozenset()
    if dropped := dropped_cells(current, known.manifest):
        gone = [cell.trial_key for cell in dropped]
        standing = surveyed(dropped, folder_states(storage, gone), store.records(gone))
        lost = frozenset(cell.cell.trial_key for cell in standing if cell.is_filled)
    speed = seconds_per_epoch(definition.manifest, folders, records)
    num_to_come, share_to_come = _to_come(definition)
    survey = Survey(
        definition=definition,
        current=current,
        known=known,
        lost=lost,
        cells=cells,
        capacity=capacity,
        estimate_seconds=estimate_seconds(
            cells, definition.epochs, speed, capacity.num_concurrent, num_to_come * share_to_come
        ),
        storage=storage,
        tracking_uri=tracking_uri,
        evaluations=survey_evaluations(definition.manifest, storage, folders, records, store),
        adopted=adopted,
        share_to_come=share_to_come,
    )
    return with_disk(survey, folders)


def _to_come(definition: Definition) -> tuple[int, float]:
    """Return how many cells are to come, and which share of a full training one takes."""
    manifest, sweep = definition.manifest, definition.sweep
    num_to_come, search = manifest.num_expected - len(manifest.cells), manifest.search
    if search is None or search.ended or not num_to_come:
        return num_to_come, 1.0
    num_proposed = (search.num_trials - len(search.proposals)) * len(manifest.seeds)
    share = sweep.plan.share_to_come(sweep.base.stopping.num_epochs)
    return num_to_come, 1 - (1 - share) * num_proposed / num_to_come
