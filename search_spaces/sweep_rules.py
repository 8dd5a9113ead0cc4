"""What a sweep is held against as it is declared: its parts, tables, evaluations and splits."""

from collections.abc import Sequence

from capsmodel.config import TrainingConfig
from capsmodel.evaluation import Evaluation
from capsmodel.settings.measures import check_own, declared_metrics
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, built_in_members, family_class, kind_of
from search_spaces.declared_evaluations import refuse_evaluations
from search_spaces.plans.base import Arm, Definition, Parts, Plan
from search_spaces.plans.own_parts import refuse_undeclared_part
from search_spaces.shown_metrics import refuse_unknown_metrics
from search_spaces.tables import Table, own_kinds

SPLIT_SEED = "data.split_seed"
_FEWEST_SPLITS = 2
_OF_ONE_SPLIT = ("effects", "grid", "published")


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


def refuse_evaluations_of(evaluations: Sequence[Evaluation], parts: Parts) -> None:
    """Refuse evaluations that need not or cannot be made, or hold parts that are not declared.

    Raises:
        ValueError: In one sentence.
    """
    refuse_evaluations(evaluations)
    for evaluation in evaluations:
        refuse_undeclared_part(evaluation, parts)


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


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)
