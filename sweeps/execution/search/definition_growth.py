"""How the definition of a search grows: by proposals, by verdicts, by what is confirmed.

Each function returns a new definition, whose manifest is whole at any time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from search_spaces.plans.listed import Arm
from sweeps.execution.plan.arms import manifest_arm, manifest_cells
from sweeps.execution.plan.definition import Definition
from sweeps.records.errors import BadInput
from sweeps.records.manifest import (
    ManifestArm,
    ManifestCell,
    ManifestSearch,
    Plain,
    Proposal,
    Stopped,
)


def with_proposal(
    definition: Definition,
    params: Mapping[str, Plain],
    stopped: Mapping[str, Stopped] | None = None,
) -> Definition:
    """Return the definition with one proposal more, the next by number.

    Args:
        definition: Of a search.
        params: Dimension name -> value.
        stopped: Where trials were stopped, by trial key, if any were.

    Raises:
        BadInput: If the space allows what the settings refuse.
    """
    number = len(definition.manifest.arms)
    name = f"proposal {number}"
    try:
        arm = _arm_of(definition, name, params)
    except ValueError as error:
        raise BadInput(f"The space holds points that are no settings: {error}") from error
    cells = tuple(
        cell.model_copy(update={"stopped": (stopped or {}).get(cell.trial_key)})
        for cell in manifest_cells(
            {name: arm}, [(name, seed) for seed in definition.manifest.seeds]
        )
    )
    search = _search(definition)
    proposal = Proposal(number=number, arm=name, params=dict(params))
    return replace(
        _changed(
            definition,
            arms=(*definition.manifest.arms, _arm(arm)),
            cells=(*definition.manifest.cells, *cells),
            search=search.model_copy(update={"proposals": (*search.proposals, proposal)}),
        ),
        epochs={**definition.epochs, name: arm.config.stopping.num_epochs},
        fingerprints={**definition.fingerprints, name: arm.config.data.fingerprint},
    )


def with_stopped(definition: Definition, trial_key: str, stopped: Stopped) -> Definition:
    """Return the definition with a trial stopped by the scheduler."""
    cells = tuple(
        cell.model_copy(update={"stopped": stopped}) if cell.trial_key == trial_key else cell
        for cell in definition.manifest.cells
    )
    return _changed(definition, cells=cells)


def with_confirmation(
    definition: Definition, arms: Sequence[str], reference: str | None
) -> Definition:
    """Return the definition with the arms that are run again on fresh seeds."""
    search = _search(definition)
    assert search.confirmation is not None
    chosen = search.confirmation.model_copy(update={"arms": tuple(arms), "reference": reference})
    names = [*arms, *([reference] if reference and reference not in arms else [])]
    params = {one.arm: one.params for one in search.proposals}
    again = {name: _arm_of(definition, name, params[name]) for name in names}
    places = [(name, seed) for name in names for seed in chosen.seeds]
    return _changed(
        definition,
        cells=(*search_cells(definition), *manifest_cells(again, places)),
        search=search.model_copy(update={"confirmation": chosen}),
    )


def without_confirmation(definition: Definition) -> Definition:
    """Return the definition with nothing chosen to be run again."""
    search = _search(definition)
    if search.confirmation is None or search.confirmation.arms is None:
        return definition
    nothing = search.confirmation.model_copy(update={"arms": None, "reference": None})
    return _changed(
        definition,
        cells=search_cells(definition),
        search=search.model_copy(update={"confirmation": nothing}),
    )


def search_cells(definition: Definition) -> tuple[ManifestCell, ...]:
    """Return the cells of the proposals, without those of the confirmation."""
    seeds = set(definition.manifest.seeds)
    return tuple(cell for cell in definition.manifest.cells if cell.seed in seeds)


def is_growing(definition: Definition) -> bool:
    """Return whether a search has proposals to make, or arms to confirm; a design never has."""
    search = definition.manifest.search
    if search is None:
        return False
    is_unconfirmed = search.confirmation is not None and search.confirmation.arms is None
    return len(search.proposals) < search.num_trials or is_unconfirmed


def num_expected(definition: Definition) -> int:
    """Return how many cells there will be in the end, at most."""
    search = definition.manifest.search
    if search is None or not is_growing(definition):
        return len(definition.manifest.cells)
    again = search.confirmation
    confirmed = (again.best + 1) * len(again.seeds) if again else 0
    return search.num_trials * len(definition.manifest.seeds) + confirmed


def _arm_of(definition: Definition, name: str, settings: Mapping[str, Any]) -> Arm:
    return definition.sweep.plan.arm(definition.sweep, name, settings)


def _search(definition: Definition) -> ManifestSearch:
    assert definition.manifest.search is not None
    return definition.manifest.search


def _changed(definition: Definition, **fields: Any) -> Definition:
    return replace(definition, manifest=definition.manifest.model_copy(update=fields))


def _arm(arm: Arm) -> ManifestArm:
    """Return a proposed arm; a model that cannot be built fails as a trial, with the reason."""
    try:
        return manifest_arm(arm)
    except ValueError:
        config = arm.config.model_dump(mode="json")
        return ManifestArm(name=arm.name, config=config, changes=arm.changes, num_parameters=0)
