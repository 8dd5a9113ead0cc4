"""What a sweep settles before anybody can look at its results: its seeds and its margin."""

from dataclasses import replace

from sweeps.execution.plan.definition import Definition
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest


def with_planned_seeds(definition: Definition, earlier: Manifest | None) -> Definition:
    """Return the definition with the seeds that stood before a launch added others.

    Whoever adds seeds may have seen the table of those before, so that verdicts need more evidence
    then. Of searches and growing plans, whose seeds no launch adds to, nothing is noted.

    Args:
        definition: Of the launch.
        earlier: The manifest of the launch before, None for a new sweep.

    Raises:
        BadInput: If seeds were added to a sweep over splits.
    """
    new = definition.manifest
    if earlier is None or new.search or new.plan:
        return definition
    planned = earlier.planned_seeds or earlier.seeds
    if not {*planned} < {*new.seeds}:
        return definition
    if new.splits:
        raise BadInput(
            f"The sweep '{new.sweep}' runs over splits, and no seeds are added to these after "
            f"looking, as its verdicts rest on the number of splits: launch fresh seeds under "
            f"another name (--name NEW --seeds 100-109), or give it the seeds that it had."
        )
    return replace(definition, manifest=new.model_copy(update={"planned_seeds": planned}))


def check_margin(current: Manifest, new: Manifest) -> None:
    """Refuse a margin of equivalence that was not there before the results.

    Raises:
        BadInput: If both manifests declare other margins.
    """
    if current.margin_points == new.margin_points:
        return
    old, given = (_words(manifest.margin_points) for manifest in (current, new))
    raise BadInput(
        f"The sweep '{new.sweep}' was launched with {old} and is given {given}: what counts as "
        f"equivalent is declared before the results. Put the margin back, give it another name "
        f"(--name NEW; what is trained is found again), or replace the definition (--replace)."
    )


def _words(margin: float | None) -> str:
    return "no margin" if margin is None else f"a margin of {margin:g} points"
