"""Which cells to be trained go on from a shorter training that was kept."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

from capsmodel.config import TrainingConfig
from sweeps.execution.cells.kept_states import KeptStates
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.storage.locations import Storage


def with_shorter(
    cells: Iterable[SurveyedCell],
    definition: SweepDefinition,
    options: LaunchOptions,
    storage: Storage,
) -> tuple[SurveyedCell, ...]:
    """Return the cells; new ones with the epochs that they take over, or why they take over none.

    The machine that will train them is not known yet: on one of another kind they start anew.

    Args:
        cells: Those of the sweep.
        definition: Has their settings.
        options: Of the launch; one that trains all again takes nothing over.
        storage: Has the states that were kept.
    """
    if options.retrain or not storage.states.is_dir():
        return tuple(cells)
    states_of = _states_in(storage, definition, definition.manifest)

    def shorter(cell: SurveyedCell) -> SurveyedCell:
        state, reason = states_of(cell.cell).to_go_on_from()
        if state is None:
            return replace(cell, reason=reason)
        return replace(cell, state=CellState.SHORTER, epochs=state.num_epochs)

    return tuple(shorter(cell) if cell.state is CellState.NEW else cell for cell in cells)


def remove_states(definition: SweepDefinition, manifest: Manifest, storage: Storage) -> None:
    """Remove the kept states of a manifest's trainings, and those of other lengths."""
    if storage.states.is_dir():
        states_of = _states_in(storage, definition, manifest)
        for cell in manifest.cells:
            states_of(cell).remove()


def _states_in(
    storage: Storage, definition: SweepDefinition, manifest: Manifest
) -> Callable[[ManifestCell], KeptStates]:
    """Return what returns the states that were kept for a cell."""
    arms = {arm.name: arm for arm in manifest.arms}

    @cache
    def config_of(text: str) -> TrainingConfig:
        return TrainingConfig.model_validate(
            json.loads(text), context={"parts": definition.sweep.parts}
        )

    def states_of(cell: ManifestCell) -> KeptStates:
        settings = manifest.config_of(arms[cell.arm], cell.seed)
        fingerprint = definition.fingerprints.get(cell.arm, "")
        return KeptStates(storage.states, config_of(json.dumps(settings)), cell.seed, fingerprint)

    return states_of
