"""Tags and note of a sweep, of which a launch gives new ones or keeps the others."""

from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.records.manifest import Manifest


def with_labels(
    definition: SweepDefinition, changes: Changes, earlier: Manifest | None
) -> SweepDefinition:
    """Return the definition with the tags and the note of a launch, or else of the last one.

    Args:
        definition: The definition of the launch.
        changes: The changes of the launch.
        earlier: The manifest of the previous launch, None for a new sweep.
    """
    tags, note = (earlier.tags, earlier.note) if earlier else ((), "")
    return definition.with_declared(
        tags=tags if changes.tags is None else changes.tags,
        note=note if changes.note is None else changes.note,
    )
