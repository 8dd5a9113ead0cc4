"""Checks of a sweep as it is declared: its parts, tables, evaluations, splits and settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import Evaluation
from capsmodel.metrics import Metric, find_metric, metric_names
from capsmodel.overrides import paths_set, with_settings
from capsmodel.settings.measures import check_own, declared_metrics
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, built_in_members, family_class, kind_of
from search_spaces.evaluation_key import evaluation_key
from search_spaces.plans.base import (
    KIND,
    Arm,
    Definition,
    Parts,
    Plan,
    Varied,
    refuse_undeclared_part,
)
from search_spaces.tables import Table, own_kinds

SPLIT_SEED = "data.split_seed"

_FEWEST_SPLITS = 2

_OF_ONE_SPLIT = ("effects", "grid", "published")


@dataclass(frozen=True)
class _Changed:
    """A sweep over another base, as its plan sees it."""

    base: TrainingConfig
    parts: Parts
    arm_seeds: tuple[int, ...]


def refuse_parts(parts: Parts) -> None:
    """Refuse a user's own parts whose kinds do not tell them from all others.

    Raises:
        ValueError: Naming the first.
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
        check_own(part.epoch_metrics)


def refuse_tables(tables: Sequence[Table], plan: Plan, definition: Definition) -> None:
    """Refuse tables that a sweep cannot make: of arms or metrics that it does not have.

    Raises:
        ValueError: In one sentence.
    """
    names = [table.name for table in tables]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"Two tables are called '{twice[0]}': give one another name.")
    own_kinds(tables)
    metrics = declared_metrics(definition.base, definition.parts)
    for table in tables:
        plan.refuse_table(table)
        arms = plan.told_arms(definition) if table.arms else ()
        for arm in table.arms:
            if arm not in arms:
                raise ValueError(unknown(f"arm in the table '{table.name}'", arm, arms))
        refuse_unknown_metrics(table, metrics)


def refuse_unknown_metrics(table: Table, own: Iterable[Metric]) -> None:
    """Refuse a table of metrics that no epoch has, or that are no fraction where they must be.

    Args:
        table: As a sweep declares it.
        own: The metrics that the sweep's parts declare.

    Raises:
        ValueError: Naming the first, and those that it could be.
    """
    metrics = tuple(own)
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


def refuse_evaluations_of(evaluations: Sequence[Evaluation], parts: Parts) -> None:
    """Refuse evaluations that need not or cannot be made, or hold parts that are not declared.

    Raises:
        ValueError: In one sentence.
    """
    refuse_evaluations(evaluations)
    for evaluation in evaluations:
        refuse_undeclared_part(evaluation, parts)


def refuse_evaluations(evaluations: Sequence[Evaluation]) -> None:
    """Refuse evaluations that every trial has already, or that are declared twice.

    Raises:
        ValueError: In one sentence.
    """
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


def refuse_splits(split_seeds: Sequence[int], num_seeds: int) -> None:
    """Refuse splits that cannot be dealt.

    Raises:
        ValueError: If there is one alone, one is listed twice, or one would get no seed.
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


def refuse_plan_over_splits(definition: Definition, plan: Plan, tables: Sequence[Table]) -> None:
    """Refuse splits where what is asked rests on one alone.

    Raises:
        ValueError: If the plan chooses by validation images, a table knows of one split, or the
            base has a split of its own.
    """
    if plan.is_search or not plan.is_whole_at_start(definition):
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


def refuse_arms_with_splits(base: TrainingConfig, arms: Sequence[Arm]) -> None:
    """Refuse arms that choose a split themselves where the sweep deals them.

    Raises:
        ValueError: Naming the first, or the first whose data have one split alone.
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
    """Return the base of a sweep with settings changed for all of its arms.

    Args:
        definition: Of the sweep.
        plan: Of the sweep.
        settings: Path -> value.

    Raises:
        ValueError: If a path leads nowhere, or the plan varies what it sets, alone or by a
            profile, so that the value would not be seen there.
    """
    varied = plan.varied(definition, with_profiles=False)
    _refuse_varied(settings, list(varied), plan.arms_at_start(definition))
    base = with_settings(definition.base, settings, definition.parts)
    changed = _Changed(base, definition.parts, definition.arm_seeds)
    _refuse_varied_profiles(settings, base, list(plan.varied(changed)))
    return base


def _refuse_varied(
    paths: Iterable[str], varied: Sequence[Varied], arms: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse paths at which a plan has values of its own, which would hide those set for all.

    Args:
        paths: Set for all arms.
        varied: What the plan varies.
        arms: Those that it starts with, name -> changes.

    Raises:
        ValueError: If an arm or the space changes one of them, or no arm would read it.
    """
    for path in paths:
        for own in varied:
            if own.hides(path):
                raise ValueError(f"'{path}' is varied by {own.who}: {own.advice}.")
        if arms and all(
            any(path.startswith(f"{changed}.") for changed in changes) for changes in arms.values()
        ):
            raise ValueError(
                f"'{path}' has no effect: every arm of the sweep chooses that part itself."
            )


def _refuse_varied_profiles(
    settings: Mapping[str, Any], base: TrainingConfig, varied: Sequence[Varied]
) -> None:
    """Refuse what a profile sets for all arms and a plan varies, or the other way round.

    Args:
        settings: What is set for all, path -> value.
        base: With these settings.
        varied: What the plan varies over that base.

    Raises:
        ValueError: If an arm, alone or by a profile, or the space changes what is set.
    """
    for given, paths in paths_set(base, settings).items():
        for path in paths:
            set_by = given if given.endswith(KIND) else path
            for own in varied:
                if own.hides(set_by):
                    sets = "" if path == given else f" sets '{path}', which"
                    raise ValueError(f"'{given}'{sets} is varied by {own.who}: {own.advice}.")


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
