"""A sweep: a named set of trials with one purpose."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.parts import Part, Settings, family_class, is_built_in, kind_of
from search_spaces.design import Arm, ListedArms

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Sweep(Settings):
    """What is launched.

    Attributes:
        name: Of its records, tables and report folder.
        description: Its purpose, in a sentence or two.
        base: The training config that the arms change.
        plan: Which arms there are, and which of them is the baseline.
        seeds: Every arm is trained once with each.
        parts: Classes of a user's own parts that the arms use.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: Name
    description: Annotated[str, StringConstraints(max_length=2000)] = ""
    base: TrainingConfig
    plan: ListedArms
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    parts: tuple[type[Part], ...] = ()

    @field_validator("seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError(f"A seed is listed twice: {', '.join(map(str, seeds))}.")
        return seeds

    @field_validator("parts")
    @classmethod
    def _kinds_are_new(cls, parts: tuple[type[Part], ...]) -> tuple[type[Part], ...]:
        for index, part in enumerate(parts):
            siblings = family_class(part).__subclasses__()
            if part.model_fields["kind"].is_required():
                raise ValueError(
                    f"{part.__name__} has no kind: give it one, kind: Literal['mine'] = 'mine'."
                )
            if any(_is_same_kind(part, other) for other in parts[:index]):
                raise ValueError(f"Two parts are called '{kind_of(part)}': choose another kind.")
            if kind_of(part) in {kind_of(other) for other in siblings if is_built_in(other)}:
                raise ValueError(
                    f"The kind '{kind_of(part)}' of {part.__name__} is built in and cannot be "
                    f"overridden: choose another kind."
                )
        return parts

    def arms(self) -> tuple[Arm, ...]:
        """Return the arms, in the order of the tables.

        Raises:
            ValueError: In one sentence, if an arm cannot be.
        """
        arms = self.plan.build(self.base, self.parts)
        for arm in arms:
            _refuse_undeclared_parts(arm.config, self.parts)
        return arms

    def changed(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        seeds: tuple[int, ...] | None = None,
    ) -> Self:
        """Return the sweep with its base, name or seeds changed.

        Args:
            settings: Path -> value, applied to the base before the arms are built.
            name: The new name.
            seeds: The new list of seeds.

        Raises:
            ValueError: If a path leads nowhere, or an arm changes it itself, so that the new value
                would not be seen there.
        """
        for path in settings or {}:
            _refuse_path_of_an_arm(path, self.plan)
        base = with_settings(self.base, settings or {}, self.parts)
        fields = {field: getattr(self, field) for field in type(self).model_fields}
        changes = {
            "base": base,
            "name": self.name if name is None else name,
            "seeds": seeds or self.seeds,
        }
        return type(self).model_validate({**fields, **changes})


def _is_same_kind(part: type[Part], other: type[Part]) -> bool:
    return kind_of(part) == kind_of(other) and family_class(part) is family_class(other)


def _refuse_path_of_an_arm(path: str, plan: ListedArms) -> None:
    for arm, changes in plan.arms.items():
        for own in changes:
            if own == path or _is_below(own, path):
                raise ValueError(
                    f"'{path}' is varied by the sweep itself (arm '{arm}' changes '{own}'): "
                    f"set something that no arm changes, or write the arm in a sweep of your own."
                )
    if all(any(_is_below(path, own) for own in changes) for changes in plan.arms.values()):
        raise ValueError(
            f"'{path}' has no effect: every arm of the sweep chooses that part itself."
        )


def _is_below(path: str, part: str) -> bool:
    return path.startswith(part + ".")


def _refuse_undeclared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if not isinstance(value, Part):
            continue
        if not is_built_in(type(value)) and type(value) not in parts:
            raise ValueError(
                f"{type(value).__name__} is a part of your own: declare it, "
                f"Sweep(parts=[{type(value).__name__}], ...)."
            )
        _refuse_undeclared_parts(value, parts)
