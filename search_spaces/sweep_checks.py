"""Checks of a sweep's declaration: its parts, tables, evaluations, splits and changed settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import Evaluation
from capsmodel.metrics import Metric, find_metric, metric_names
from capsmodel.overrides import paths_set, with_settings
from capsmodel.settings.measures import check_part_metrics, declared_metrics
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, built_in_members, family_class, kind_of
from capsmodel.tasks import Task
from search_spaces.evaluation_key import evaluation_key
from search_spaces.plans.base import (
    KIND,
    Arm,
    Definition,
    Parts,
    Plan,
    Varied,
    check_declared_part,
)
from search_spaces.plans.until_decided import UntilDecided
from search_spaces.tables import (
    MOST_ARMS_IN_PAIRS,
    AblationTable,
    Curve,
    Table,
    custom_table_classes,
)

SPLIT_SEED = "data.split_seed"

_FEWEST_SPLITS = 2

_OF_ONE_SPLIT = _OF_EQUAL_SEEDS = ("effects", "grid", "published")


@dataclass(frozen=True)
class _Changed:
    """A sweep over another base, as its plan sees it."""

    base: TrainingConfig
    parts: Parts
    arm_seeds: tuple[int, ...]
    until_decided: UntilDecided | None = None
    evaluations: tuple[Evaluation, ...] = ()


def check_is_part(part: object) -> None:
    """Check that what a sweep names as a part is one.

    Raises:
        ValueError: If it is not, for a network with the decorator that makes it one.
    """
    if isinstance(part, type) and issubclass(part, Part):
        return
    name = getattr(part, "__name__", repr(part))
    bases = {f"{base.__module__}.{base.__name__}" for base in getattr(part, "__mro__", ())}
    if "torch.nn.modules.module.Module" in bases:
        raise ValueError(
            f"{name} is a torch.nn.Module and no part yet: write the decorator @capsmodel.model "
            f"above its class."
        )
    raise ValueError(
        f"parts lists classes of your own parts, got {name}: a part is a subclass of Routing, "
        f"Loss, DataSet or another family, or a network below @capsmodel.model."
    )


def check_parts(parts: Parts) -> None:
    """Check that custom parts have new kinds.

    Raises:
        ValueError: For the first part that does not.
    """
    for index, part in enumerate(parts):
        siblings = built_in_members(family_class(part))
        if part.model_fields["kind"].is_required():
            raise ValueError(
                f"{part.__name__} has no kind: give it one, kind: Literal['mine'] = 'mine'."
            )
        if any(_is_same_kind(part, other) for other in parts[:index]):
            raise ValueError(f"Two parts are called '{kind_of(part)}': choose another kind.")
        if kind_of(part) in {kind_of(other) for other in siblings}:
            raise ValueError(
                f"The kind '{kind_of(part)}' of {part.__name__} is built in and cannot be "
                f"overridden: choose another kind."
            )
        check_part_metrics(part.epoch_metrics)


def check_tables(tables: Sequence[Table], plan: Plan, definition: Definition) -> None:
    """Check that a sweep has the arms and metrics of its tables.

    Raises:
        ValueError: For the first table that cannot be made.
    """
    names = [table.name for table in tables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"Two tables are called '{twice[0]}': give one another name.")
    custom_table_classes(tables)
    metrics = declared_metrics(definition.base, definition.parts)
    for table in tables:
        plan.check_table(table)
        arms = plan.arm_names(definition) if table.arms else ()
        for arm in table.arms:
            if arm not in arms:
                raise ValueError(unknown(f"arm in the table '{table.name}'", arm, arms))
        check_table_metrics(table, metrics)
        _check_all_pairs(table, plan, definition)


def _check_all_pairs(table: Table, plan: Plan, definition: Definition) -> None:
    if not (isinstance(table, AblationTable) and table.all_pairs):
        return
    if (num := len(plan.arm_names(definition))) > MOST_ARMS_IN_PAIRS:
        raise ValueError(
            f"The table '{table.name}' compares all pairs of at most {MOST_ARMS_IN_PAIRS} arms, "
            f"and the sweep has {num}: leave all_pairs out, or declare a sweep of fewer arms."
        )


def check_table_metrics(table: Table, metrics: Sequence[Metric]) -> None:
    """Check that the metrics of a table exist, and are fractions where it shows errors.

    Args:
        table: The declared table.
        metrics: The metrics that the sweep's parts declare.

    Raises:
        ValueError: For the first metric that does not fit, with those that do.
    """
    names = metric_names(metric.name for metric in metrics)
    for name in table.curves:
        metric = find_metric(name, metrics)
        known = [
            other
            for other in names
            if (candidate := find_metric(other, metrics)) and _is_curve(candidate)
        ]
        if metric is None or not _is_curve(metric):
            raise ValueError(unknown(f"epoch metric in the figure '{table.name}'", name, known))
    for name in table.errors:
        metric = find_metric(name, metrics)
        known = [
            other
            for other in names
            if (candidate := find_metric(other, metrics)) and candidate.is_fraction
        ]
        if metric is None or not metric.is_fraction:
            raise ValueError(unknown(f"error in the table '{table.name}'", name, known))


def check_evaluations(evaluations: Sequence[Evaluation], parts: Parts, task: Task) -> None:
    """Check that evaluations are needed, distinct and fit the task, and their parts are declared.

    Raises:
        ValueError: For the first evaluation that does not fit.
    """
    _check_distinct(evaluations)
    for evaluation in evaluations:
        check_declared_part(evaluation, parts)
        _check_primary(evaluation)
        if task.label_form not in evaluation.takes:
            raise ValueError(
                f"The evaluation '{evaluation.kind}' cannot judge the task '{task.kind}': leave it "
                f"out of Sweep(evaluations=...)."
            )


def check_curves(tables: Sequence[Table], evaluations: Sequence[Evaluation]) -> None:
    """Check that the sweep's evaluations have the curves that figures are to show.

    Figures show the curve by which an evaluation compares arms.

    Raises:
        ValueError: For the first figure without one, with the coordinates that there are.
    """
    for table in tables:
        if not isinstance(table, Curve):
            continue
        kinds = dict.fromkeys(evaluation.kind for evaluation in evaluations)
        if table.evaluation and table.evaluation not in kinds:
            category = f"evaluation in the figure '{table.name}'"
            raise ValueError(unknown(category, table.evaluation, [*kinds]))
        known = dict.fromkeys(
            metric.at.name
            for evaluation in evaluations
            if table.evaluation in ("", evaluation.kind)
            for metric in evaluation.metrics
            if metric.at and metric.curve == evaluation.primary
        )
        if table.x not in known:
            raise ValueError(unknown(f"coordinate in the figure '{table.name}'", table.x, [*known]))


def _check_primary(evaluation: Evaluation) -> None:
    """Check that arms can be compared by the figure that an evaluation names."""
    known = {metric.name: metric for metric in evaluation.metrics}
    curves = {metric.curve: metric for metric in evaluation.metrics if metric.curve}
    if not (name := evaluation.primary):
        return
    if name not in {**known, **curves}:
        sentence = unknown("primary figure", name, [*curves, *known])
        raise ValueError(f"The evaluation '{evaluation.kind}': {sentence}")


def _check_distinct(evaluations: Sequence[Evaluation]) -> None:
    """Check that evaluations are not part of every training, and that none is declared twice."""
    for evaluation in evaluations:
        if evaluation.is_measured_in_training:
            raise ValueError(
                f"Every trial measures '{evaluation.kind}' at its end, so its record holds it "
                f"already: leave it out of Sweep(evaluations=...)."
            )
    keys = [evaluation_key(evaluation) for evaluation in evaluations]
    for kind in _twice(zip(keys, evaluations, strict=True)):
        raise ValueError(
            f"The evaluation '{kind}' is declared twice with the same settings: leave one out."
        )


def check_splits(split_seeds: Sequence[int], num_seeds: int) -> None:
    """Check that splits can be assigned to seeds.

    Raises:
        ValueError: If there is only one, one is listed twice, or one would get no seed.
    """
    listed = ", ".join(map(str, split_seeds))
    if len(split_seeds) < _FEWEST_SPLITS:
        raise ValueError(
            f"split_seeds lists one split, {listed}: give at least {_FEWEST_SPLITS}, better 5 or "
            f"more, or leave it out and set {SPLIT_SEED} in the base."
        )
    if len(set(split_seeds)) < len(split_seeds):
        raise ValueError(f"A split is listed twice in split_seeds: {listed}.")
    if num_seeds < len(split_seeds):
        raise ValueError(
            f"{len(split_seeds)} splits want at least as many seeds, as each has seeds of its own, "
            f"and {num_seeds} are given: give more seeds, such as range({len(split_seeds)}), or "
            f"fewer split_seeds."
        )


def check_plan_with_splits(definition: Definition, plan: Plan, tables: Sequence[Table]) -> None:
    """Check that plan, tables and base of a sweep allow several splits.

    Raises:
        ValueError: If the plan selects by validation images, a table assumes one split, or the base
            sets a split.
    """
    if definition.until_decided:
        raise ValueError(
            "split_seeds deals a fixed number of seeds to splits, and UntilDecided stops as it "
            "decides: give one of them."
        )
    if plan.is_search or not plan.is_complete_at_start(definition):
        raise ValueError(
            f"The plan '{plan.kind}' chooses as it runs, by the validation images of one split: "
            f"leave split_seeds out, and put what it finds into a design over splits."
        )
    for table in tables or plan.default_tables():
        if table.kind in _OF_ONE_SPLIT:
            raise ValueError(
                f"A table of the kind '{table.kind}' reckons with one split: leave split_seeds "
                f"out, or declare tables=[AblationTable()]."
            )
    data = definition.base.data
    if not type(data).is_split_by_seed:
        raise ValueError(
            f"The validation images of '{data.kind}' are given with the data, so that there is no "
            f"other split of it: leave split_seeds out."
        )
    if data.split_seed != type(data).model_fields["split_seed"].default:
        raise ValueError(
            f"The base sets {SPLIT_SEED} to {data.split_seed} and the sweep lists split_seeds: "
            f"give one of them."
        )


def check_looks(definition: Definition, plan: Plan, tables: Sequence[Table]) -> None:
    """Check that plan and tables of a sweep allow a plan of looks.

    Raises:
        ValueError: If the plan selects, or is the user's own, or a table assumes equal seeds.
    """
    is_of_user = not type(plan).__module__.startswith("search_spaces.")
    if plan.has_own_seeds or type(plan).decide is not Plan.decide or is_of_user:
        raise ValueError(
            f"UntilDecided is for the built-in designs, whose arms are known from the start, and "
            f"the plan '{plan.kind}' is none: list its seeds, and compare what it finds in a "
            f"design with seeds=UntilDecided(...)."
        )
    for table in tables or plan.default_tables():
        if isinstance(table, AblationTable) and table.all_pairs:
            raise ValueError(
                f"All pairs need every arm on every seed, and UntilDecided gives decided arms no "
                f"more of them: leave all_pairs out of the table '{table.name}', or list the seeds."
            )
        if table.kind in _OF_EQUAL_SEEDS:
            raise ValueError(
                f"A table of the kind '{table.kind}' needs every arm on every seed, and "
                f"UntilDecided gives decided arms no more of them: list the seeds, or declare "
                f"tables=[AblationTable()]."
            )


def check_judged_evaluation(kind: str, evaluations: Sequence[Evaluation]) -> None:
    """Check that a sweep has the evaluation that its looks judge.

    Args:
        kind: Of the evaluation; "" for the test error.
        evaluations: Of the sweep.

    Raises:
        ValueError: If there is none or several of that kind, or it has no primary figure, or is
            made once all trainings have ended.
    """
    if not kind:
        return
    named = [evaluation.kind for evaluation in evaluations if evaluation.primary]
    if kind not in named:
        raise ValueError(
            f"primary_of must name an evaluation of the sweep that has a primary figure, got "
            f"'{kind}': it has {', '.join(named) or 'none'}."
        )
    if named.count(kind) > 1:
        raise ValueError(
            f"The sweep has {named.count(kind)} evaluations of the kind '{kind}', and primary_of "
            f"names one: leave the others out, or judge the test error."
        )
    if any(evaluation.kind == kind and evaluation.other_trials for evaluation in evaluations):
        raise ValueError(
            f"The evaluation '{kind}' is made once all trainings have ended, and a look needs it "
            f"between them: judge the test error, or another evaluation."
        )


def check_margins(in_looks: float | None, of_sweep: float | None) -> None:
    """Check that the margin of equivalence is declared once.

    Raises:
        ValueError: If it is declared twice.
    """
    if in_looks is not None and of_sweep is not None:
        raise ValueError(
            f"margin_points is given twice, {in_looks:g} in UntilDecided and {of_sweep:g} in the "
            f"sweep: leave one out."
        )


def check_arms_with_splits(base: TrainingConfig, arms: Sequence[Arm]) -> None:
    """Check that arms leave the split to the sweep.

    Raises:
        ValueError: For the first arm that sets a split, or whose data have only one.
    """
    for arm in arms:
        data = arm.config.data
        if data.split_seed != base.data.split_seed or SPLIT_SEED in arm.changes:
            raise ValueError(
                f"The arm '{arm.name}' sets {SPLIT_SEED} itself and the sweep lists split_seeds: "
                f"leave it out of the arm, as all arms are compared on the same splits."
            )
        if not type(data).is_split_by_seed:
            raise ValueError(
                f"The validation images of '{data.kind}', of the arm '{arm.name}', are given with "
                f"the data, so that there is no other split of it: leave split_seeds out."
            )


def changed_base(definition: Definition, plan: Plan, settings: Mapping[str, Any]) -> TrainingConfig:
    """Return the base of a sweep with settings changed for all arms.

    Args:
        definition: Definition of the sweep.
        plan: Plan of the sweep.
        settings: Path -> value.

    Raises:
        ValueError: If a path does not exist, or the plan varies it, directly or by a profile, so
            that the new value would have no effect.
    """
    varied = plan.varied(definition, with_profiles=False)
    _check_not_varied(settings, list(varied), plan.initial_arms(definition))
    base = with_settings(definition.base, settings, definition.parts)
    changed = _Changed(base, definition.parts, definition.arm_seeds)
    _check_profiles_not_varied(settings, base, list(plan.varied(changed)))
    return base


def _check_not_varied(
    paths: Iterable[str], varied: Sequence[Varied], arms: Mapping[str, Mapping[str, Any]]
) -> None:
    """Check that a plan does not vary the paths that are set for all arms.

    Args:
        paths: The paths that are set for all arms.
        varied: What the plan varies.
        arms: The initial arms, name -> changes.

    Raises:
        ValueError: If an arm or the space changes one of them, or no arm reads it.
    """
    for path in paths:
        for variation in varied:
            if variation.hides(path):
                raise ValueError(f"'{path}' is varied by {variation.who}: {variation.advice}.")
        if arms and all(
            any(path.startswith(f"{changed}.") for changed in changes) for changes in arms.values()
        ):
            raise ValueError(
                f"'{path}' has no effect: every arm of the sweep chooses that part itself."
            )


def _check_profiles_not_varied(
    settings: Mapping[str, Any], base: TrainingConfig, varied: Sequence[Varied]
) -> None:
    """Check that a plan does not vary what a profile sets for all arms, or the other way round.

    Args:
        settings: What is set for all arms, path -> value.
        base: The base with these settings.
        varied: What the plan varies over that base.

    Raises:
        ValueError: If the space or an arm changes what is set, directly or by a profile.
    """
    for changed_path, paths in paths_set(base, settings).items():
        for path in paths:
            set_by = changed_path if changed_path.endswith(KIND) else path
            for variation in varied:
                if variation.hides(set_by):
                    sets = "" if path == changed_path else f" sets '{path}', which"
                    raise ValueError(
                        f"'{changed_path}'{sets} is varied by {variation.who}: {variation.advice}."
                    )


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)


def _is_curve(metric: Metric) -> bool:
    return metric.moment == "epoch"


def _twice(evaluations: Iterable[tuple[str, Evaluation]]) -> list[str]:
    seen: set[str] = set()
    kinds: list[str] = []
    for key, evaluation in evaluations:
        kinds += [str(evaluation.kind)] if key in seen else []
        seen.add(key)
    return kinds
