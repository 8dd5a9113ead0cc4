"""Preregistration: seeds, margin and rule that a sweep fixes before its results are known."""

from search_spaces.sweep import Sweep
from sweeps.execution.plan.changes import Changes
from sweeps.execution.plan.definition import SweepDefinition, manifest_cells
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import points_text

_NO_LOOKS = "a list of seeds"


def added_before(sweep: Sweep, changes: Changes, earlier: Manifest | None) -> tuple[int, ...]:
    """Return the seeds that options of earlier launches have added to those that a sweep declares.

    They belong to the sweep from then on: a launch without options for seeds resumes with them.
    What else an option has changed is not repeated.

    Args:
        sweep: The sweep as its file declares it now.
        changes: The changes of the launch.
        earlier: The manifest of the previous launch, None for a new sweep.
    """
    if earlier is None or earlier.search or earlier.plan:
        return ()
    if changes.seeds is not None or changes.add_seeds is not None:
        return ()
    declared, launched = earlier.departures.get("seeds", ((), ()))
    if not {*declared} < {*launched}:
        return ()
    return tuple(seed for seed in launched if seed not in {*declared, *sweep.arm_seeds})


def with_planned_seeds(definition: SweepDefinition, earlier: Manifest | None) -> SweepDefinition:
    """Return the definition with the seeds that were planned before a launch added others.

    Whoever adds seeds may have seen the table of the first ones, so verdicts then need more
    evidence. Searches and growing plans have no planned seeds: no launch adds to them.

    Args:
        definition: The definition of the launch.
        earlier: The manifest of the previous launch, None for a new sweep.

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
    return definition.with_declared(planned_seeds=planned)


def with_first_rule(definition: SweepDefinition, earlier: Manifest | None) -> SweepDefinition:
    """Return the definition with the rule of verdicts that the first launch was under.

    Args:
        definition: The definition of the launch.
        earlier: The manifest of the previous launch, None for a new sweep.
    """
    if earlier is None:
        return definition
    return definition.with_declared(verdict_rule=earlier.verdict_rule)


def check_margin(current: Manifest, new: Manifest) -> None:
    """Check that the margin of equivalence is the one declared before the results.

    Raises:
        BadInput: If the margins of the two manifests differ.
    """
    if current.margin_points == new.margin_points:
        return
    before, after = (_margin_text(manifest.margin_points) for manifest in (current, new))
    raise BadInput(
        f"The sweep '{new.sweep}' was launched with {before} and is given {after}: what counts as "
        f"equivalent is declared before the results. Put the margin back, give it another name "
        f"(--name NEW; what is trained is found again), or replace the definition (--replace)."
    )


def check_looks_kept(current: Manifest, new: Manifest) -> None:
    """Check that a plan of looks is the one declared before the first of them.

    Raises:
        BadInput: If verdicts were taken under other looks, or without any.
    """
    before, after = (_looks_text(manifest) for manifest in (current, new))
    is_begun = _NO_LOOKS in (before, after) or bool(current.plan and current.plan.looked)
    if before == after or not is_begun:
        return
    raise BadInput(
        f"The sweep '{new.sweep}' was launched with {before} and is given {after}: when verdicts "
        f"are taken, and on what, is declared before the first of them. Put the seeds back, or "
        f"give it another name (--name NEW; what is trained is found again)."
    )


def keeps_looks(definition: SweepDefinition, earlier: Manifest | None) -> bool:
    """Return whether looks that were taken are of the arms of today.

    Where an arm was taken out or changed, by --replace, all looks start over.

    Args:
        definition: The definition of the launch.
        earlier: The manifest of the previous launch, None for a new sweep.
    """
    if earlier is None or not definition.sweep.until_decided:
        return True
    arms = {arm.name: arm for arm in definition.sweep.initial_arms()}
    cells = [cell for cell in earlier.cells if cell.arm in arms]
    today = manifest_cells(arms, [(cell.arm, cell.seed) for cell in cells])
    keys = [cell.trial_key for cell in cells]
    return len(cells) == len(earlier.cells) and [cell.trial_key for cell in today] == keys


def _looks_text(manifest: Manifest) -> str:
    if not manifest.plan or not manifest.plan.seeds_at_looks:
        return _NO_LOOKS
    judged_by = manifest.plan.judged_by
    names = {each.evaluation_key: each.kind for each in manifest.evaluations}
    of_evaluation = f" on '{names.get(judged_by, judged_by)}'" if judged_by else ""
    return f"looks at {', '.join(map(str, manifest.plan.seeds_at_looks))} seeds{of_evaluation}"


def _margin_text(margin: float | None) -> str:
    return "no margin" if margin is None else f"a margin of {points_text(margin)}"
