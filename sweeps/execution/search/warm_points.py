"""The warm start of a search: the best points of another sweep that its space holds."""

from collections import defaultdict
from collections.abc import Mapping

from capsmodel.config import TrainingConfig, why_unbuildable
from search_spaces.plans.decisions import WarmStart
from search_spaces.plans.search import Search
from search_spaces.space.proposal import kind_at, point_of
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.plan.growing_definition import GrowingDefinition
from sweeps.execution.search.unseen import identity
from sweeps.records.bounds import Json
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import Plain
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.store import RecordStore

Point = dict[str, Plain]
MOST_POINTS = 2
"""How many points of another sweep are proposed.

With two a search is no worse than a cold one where the sweeps have nothing in common, at 20, 30 and
40 proposals; with three it is a little worse in places, with ten clearly so at 20.
"""


def warm_started(definition: SweepDefinition, other: str, store: RecordStore) -> SweepDefinition:
    """Return a search whose first proposals are the best points of another sweep.

    A search that has started keeps its warm start: a launch that repeats it changes nothing.

    Args:
        definition: The definition with all proposals of earlier launches.
        other: The name of the other sweep.
        store: The store of its records.

    Raises:
        BadInput: If it is not such a search, has started without it, or no point fits.
    """
    _check_warm_start(definition, other)
    search = definition.manifest.search
    if search is None or search.warm_start:
        return definition
    manifest = store.manifest(other)
    records = store.records(cell.trial_key for cell in manifest.proposed_cells())
    points = fitting_points(definition, manifest, records)
    if not points:
        raise BadInput(
            f"No finished trial of '{other}' is a point of the space of "
            f"'{definition.manifest.sweep}' with its {search.objective}: leave out --warm-start, "
            f"or name a sweep that has varied the same settings over the same values."
        )
    best = tuple(points[: min(MOST_POINTS, search.num_trials)])
    growing = GrowingDefinition(definition)
    growing.take(growing.resolved(WarmStart(other, best, len(points))))
    return growing.snapshot()


def fitting_points(
    definition: SweepDefinition, manifest: Manifest, records: Mapping[str, TrialRecord]
) -> list[Point]:
    """Return the points of a search's space that another sweep has trained, the best first.

    The base's point is left out, as it is trained anyway, and so are points that were stopped early
    or did not finish with each seed.

    Args:
        definition: The definition of the search.
        manifest: The manifest of the other sweep.
        records: Trial key -> record of its trials.
    """
    plan = definition.sweep.plan
    assert isinstance(plan, Search)
    costs = _costs(definition, manifest, records)
    points: dict[tuple[tuple[str, str], ...], Point] = {}
    ranked = sorted(
        (arm for arm in manifest.arms if arm.name in costs), key=lambda arm: costs[arm.name]
    )
    for arm in ranked:
        if point := point_of_settings(definition, arm.config):
            points.setdefault(identity(point), point)
    if base := point_of(plan.space.dimensions, definition.sweep.base):
        points.pop(identity(base), None)
    return list(points.values())


def _check_warm_start(definition: SweepDefinition, other: str) -> None:
    """Check that a sweep can start warm.

    Raises:
        BadInput: In one sentence, if not.
    """
    name, search = definition.manifest.sweep, definition.manifest.search
    if search is None:
        raise BadInput(
            f"The sweep '{name}' declares all its arms, so that it cannot start warm: only a "
            f"search has --warm-start."
        )
    if other == name:
        raise BadInput(
            f"'{name}' cannot start warm from itself: give the new search another "
            f"name (--name NEW), or name another sweep."
        )
    if search.sampler == "grid":
        raise BadInput(
            "The sampler grid proposes points by their places alone: leave out --warm-start, or "
            "choose another sampler."
        )
    begun = search.warm_start.sweep if search.warm_start else ""
    if begun != other and (begun or search.proposals):
        how = f"with the points of '{begun}'" if begun else "without a warm start"
        raise BadInput(
            f"The search '{name}' has begun {how} and continues so: leave out --warm-start, or "
            f"start it again under another name (--name NEW; existing trainings are reused)."
        )


def _costs(
    definition: SweepDefinition, manifest: Manifest, records: Mapping[str, TrialRecord]
) -> dict[str, float]:
    """Return arm -> cost (small is good), for arms that finished with each seed."""
    objective = definition.manifest.objective
    costs: defaultdict[str, list[float]] = defaultdict(list)
    unfinished: set[str] = set()
    for cell in manifest.proposed_cells():
        record = None if cell.stopped else records.get(cell.trial_key)
        is_finished = record is not None and record.outcome is Outcome.FINISHED
        value = objective.value(record.metrics) if record and is_finished else None
        if value is None:
            unfinished.add(cell.arm)
        else:
            costs[cell.arm].append(objective.cost(value))
    return {
        arm: sum(values) / len(values) for arm, values in costs.items() if arm not in unfinished
    }


def point_of_settings(definition: SweepDefinition, settings: Json) -> Point | None:
    """Return the point of a search's space that gives a config, None if there is none.

    Args:
        definition: The definition of the search.
        settings: A training config as stored, also one of another sweep or release.
    """
    plan = definition.sweep.plan
    assert isinstance(plan, Search)
    try:
        config = TrainingConfig.model_validate(settings, context={"parts": definition.sweep.parts})
        point = point_of(plan.space.dimensions, config)
        proposed = plan.arm(definition.sweep, "point", point).config if point else None
    except ValueError:  # settings that this release or this sweep does not know
        return None
    fits = proposed and _has_same_kinds(plan, proposed, config) and _is_within(plan, proposed)
    return point if fits and point and not plan.space.forbids(point) else None


def _is_within(plan: Search, config: TrainingConfig) -> bool:
    return not why_unbuildable(config) and all(
        limit.is_met_by(config) for limit in plan.limits_before_training
    )


def _has_same_kinds(plan: Search, proposed: TrainingConfig, config: TrainingConfig) -> bool:
    """Return whether all varied settings belong to the same parts in both."""
    paths = (dimension.path.split(".") for dimension in plan.space.dimensions)
    parts = {".".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}
    return all(kind_at(proposed, part) == kind_at(config, part) for part in parts)
