"""What a sweep is held against as it is declared: its parts, tables and evaluations."""

from collections.abc import Sequence

from capsmodel.evaluation import Evaluation
from capsmodel.settings.measures import check_own, declared_metrics
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, built_in_members, family_class, kind_of
from search_spaces.declared_evaluations import refuse_evaluations
from search_spaces.plans.base import Definition, Parts, Plan
from search_spaces.plans.own_parts import refuse_undeclared_part
from search_spaces.shown_metrics import refuse_unknown_metrics
from search_spaces.tables import Table, own_kinds


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
        arms = plan.arms_at_start(definition) if table.arms else ()
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


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)
