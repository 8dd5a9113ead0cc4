"""The answer of a search in words: what matters, the best point, and what to ask next."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from capsmodel.metrics import percent
from sweeps.aggregation.rendering.measured import value_cell
from sweeps.aggregation.sensitivity.importance import Importance
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity, SettingSensitivity
from sweeps.aggregation.tables.columns import point_cell
from sweeps.records.manifest import Manifest
from sweeps.records.manifest_plan import ManifestDimension, Plain
from sweeps.records.plain_text import listed, one_line
from sweeps.records.suggested_command import Advice, SuggestedCommand

_MOST_NAMED = 6
_LEAST_SHOWN = 1  # percent
NUM_CHOOSING_SEEDS, NUM_COMPARED_SEEDS = 2, 5  # that `ablate` takes
_FEWEST_CHANGES = 2


def search_lead(sensitivity: Sensitivity) -> str:
    """Return which settings matter and which point is the best, "" before anything counts."""
    if not sensitivity.sample.values:
        return ""
    return " ".join((*_verdicts(sensitivity), *_best(sensitivity)))


def _verdicts(sensitivity: Sensitivity) -> Iterator[str]:
    if sensitivity.sample.is_chosen:
        yield "No verdict on what matters: the sampler chose the proposals by their results."
        return
    weighed = [setting for setting in sensitivity.settings if setting.importance]
    matter = settings_that_matter(sensitivity)
    others = [setting for setting in weighed if setting not in matter]
    missing = [setting for setting in sensitivity.settings if setting not in weighed]
    if matter:
        shares = listed([setting_with_share(setting) for setting in matter], _MOST_NAMED)
        yield f"What matters, as shares of the differences between trials: {shares}."
    elif weighed:
        yield "No setting is shown to matter."
    if others:
        yield f"Not told from 0: {_names(others)}."
    if missing:
        yield f"Without a verdict: {_names(missing)}."


def share_text(importance: Importance) -> str:
    """Return a share in whole percent; by chance it may be below 0."""
    share = percent(importance.share)
    return f"{share:.0f}" if share >= _LEAST_SHOWN else f"under {_LEAST_SHOWN}"


def settings_that_matter(sensitivity: Sensitivity) -> list[SettingSensitivity]:
    """Return the settings that are shown to matter, in the table's order."""
    return [s for s in sensitivity.settings if s.importance and sensitivity.matters(s.importance)]


def setting_with_share(setting: SettingSensitivity) -> str:
    """Return a setting with its share of the differences: `loss 14 %`."""
    assert setting.importance is not None
    return f"{one_line(setting.dimension.name)} {share_text(setting.importance)} %"


def _names(settings: Sequence[SettingSensitivity]) -> str:
    return listed([one_line(setting.dimension.name) for setting in settings], _MOST_NAMED)


def _best(sensitivity: Sensitivity) -> Iterator[str]:
    results = sensitivity.results
    best, metric = sensitivity.best, results.objective.metric
    if best is None or results.search.cost:
        return
    value = value_cell(results.value(best.number), metric, 2 if metric.is_fraction else 4).text
    unit = " %" * metric.is_fraction
    settings = point_cell(best.params, results.search).text
    yield (
        f"Best of {len(results.proposals)} in the search: {one_line(best.proposal.arm)}, "
        f"{metric.text} {value}{unit} ({settings})."
    )
    if results.search.confirmation is None:
        yield "No fresh seeds have confirmed it."


def next_question(sensitivity: Sensitivity, manifest: Manifest) -> Iterator[Advice]:
    """Yield what a search leaves open, with the command that asks it and what that costs."""
    results = sensitivity.results
    base = next((arm for arm in manifest.arms if arm.name == results.search.base), None)
    best = sensitivity.best
    if base is None or best is None or not _has_ended(sensitivity):
        return
    num = _num_changes(results.search.dimensions, best.params, base.config)
    if num < _FEWEST_CHANGES:
        return
    confirmation = results.search.confirmation
    seeds = len(confirmation.seeds) if confirmation else NUM_COMPARED_SEEDS
    trainings = (num * (num + 1) // 2 - 1) * NUM_CHOOSING_SEEDS + (num + 1) * seeds
    yield Advice(
        f"Next: which of its {num} changes make the winner what it is? `",
        SuggestedCommand("ablate", manifest.sweep),
        f"` writes that sweep, of at most {trainings} trainings.",
    )


def _has_ended(sensitivity: Sensitivity) -> bool:
    results = sensitivity.results
    over = len(results.proposals) - results.count("unfinished")
    return over >= results.search.num_asked


def _num_changes(
    dimensions: Sequence[ManifestDimension],
    params: Mapping[str, Plain],
    base: Mapping[str, Any],
) -> int:
    """Return how many settings of a point differ from the base's.

    The settings of a part that the base does not have change with its kind.
    """
    by_name = {dimension.name: dimension for dimension in dimensions}
    changed = 0
    for name, value in params.items():
        conditions = by_name[name].conditions
        is_of_base = all(_value(base, by_name[other].path) == k for other, k in conditions.items())
        changed += is_of_base and _value(base, by_name[name].path) != value
    return changed


def _value(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for field in path.split("."):
        value = value.get(field) if isinstance(value, Mapping) else None
    return value.get("kind") if isinstance(value, Mapping) else value
