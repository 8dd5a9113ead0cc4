"""The path that is asked for, of a search and its records."""

from capsmodel.config import TrainingConfig
from search_spaces.codegen.changes import own_parts_in
from search_spaces.codegen.path_sweep import Ablation
from search_spaces.codegen.sweep_text import own_code
from search_spaces.trial_key import trial_key
from sweeps.execution.launch.writing.ablate_options import AblateOptions
from sweeps.execution.launch.writing.searched import Searched, searched
from sweeps.execution.launch.writing.winner import winner
from sweeps.records.manifest import ManifestArm
from sweeps.tracking.store import RecordStore


def asked_path(search: str, told: AblateOptions, store: RecordStore) -> Ablation:
    """Return the path that is asked for.

    Args:
        search: Its name, or the path of its file.
        told: What else was.
        store: Of its records.

    Raises:
        BadInput: If there is no such search or arm, or its records are of another definition.
        ValueError: If its parts cannot be written.
        StoreUnreachable: If the tracking store does not answer.
    """
    found = searched(search, store)
    records = store.records(found.manifest.cell_keys().values())
    arm, role = winner(found.manifest, records, told.arm)
    base, target = found.base(), found.config(arm)
    found.refuse_other_proposal(arm, base)
    _refuse_other_keys(found, arm, target)
    again = found.manifest.search and found.manifest.search.confirmation
    return Ablation(
        search=found.name,
        arm=arm.name,
        role=role,
        base=base,
        target=target,
        module=found.module,
        declared=found.declared.base if found.declared else None,
        taken=found.manifest.seeds,
        again=again.seeds if again and again.arms else (),
        seeds=told.seeds,
        name=told.name,
        own=own_code(found.source, own_parts_in(base, target)),
    )


def _refuse_other_keys(found: Searched, arm: ManifestArm, config: TrainingConfig) -> None:
    """Refuse an arm that would be another training today.

    Raises:
        BadInput: In one sentence.
    """
    cells = [cell for cell in found.manifest.cells if cell.arm == arm.name]
    if any(trial_key(config, cell.seed) != cell.trial_key for cell in cells):
        found.refuse("the code of a part has changed since")
