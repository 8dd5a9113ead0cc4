"""Settings as a tree of parts: a part has a kind, and its family says which kinds there are.

A *family* is an abstract `Part` (all routings, all losses, ...). Its members are frozen pydantic
models, distinguished by `kind`. A field that holds one is written
`routing: Annotated[Routing, OneOf(ROUTINGS)] = DynamicRouting()`: objects are taken as they are,
plain JSON values are looked up by their kind among the built-in members and those given in the
validation context (`{"parts": (MyRouting, ...)}`), so no global registry exists. A kind alone,
`routing="em"`, is that part with its defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar, Union, cast

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from capsmodel.metrics import Metric
from capsmodel.settings.profiles import Settings as Settings


class Part(Settings):
    """Settings of one exchangeable piece of a training.

    A member of a family is final: it declares `kind: Literal["its_name"] = "its_name"`, its
    settings with their ranges, and the public methods of its family.

    Attributes:
        family: One word for the family in messages, set by the abstract class: "routing".
        protocol_version: Raised whenever the same settings begin to give other results. It enters
            the trial key where it is not 1, so records of different behaviour never mix.
        epoch_metrics: Metrics that `measure` returns after each epoch, all of the validation split.
        not_in_key: Settings that no trial key depends on, as they change no result: where files
            lie, or what a class is called.
        needs_naming: Whether a search proposes it only where its space names it. Members that came
            later say so: a search that varies its family without naming kinds stays what it was.
    """

    family: ClassVar[str] = "part"
    protocol_version: ClassVar[int | str] = 1
    epoch_metrics: ClassVar[tuple[Metric, ...]] = ()
    not_in_key: ClassVar[frozenset[str]] = frozenset()
    needs_naming: ClassVar[bool] = False
    kind: Any  # each member narrows it to its Literal, which a `str` would forbid

    @property
    def inner_part(self) -> "Part | None":
        """A part that belongs to this one and is not a setting. The default is None."""
        return None

    @classmethod
    def described(cls) -> str:
        """Return family and kind."""
        return f"the {cls.family} '{kind_of(cls)}'"

    def measure(self, beliefs: Any, labels: Any) -> Mapping[str, Any]:
        """Return the epoch metrics that the part declares: name -> a number, or a tensor of one.

        Called after each epoch, with the validation images alone. It must draw no random numbers
        and change nothing; if it returns tensors, nothing waits for a GPU.

        Args:
            beliefs: Float[Tensor, "images classes"], the belief in each class of each image.
            labels: Int[Tensor, " images"], the true classes; those of a task of several as
                Bool[Tensor, "images classes"].
        """
        del beliefs, labels
        return {}


@dataclass(frozen=True)
class OneOf:
    """Annotation of a field that holds one member of a family.

    Attributes:
        members: The built-in classes. A user's own are added by the validation context.
    """

    members: tuple[type[Part], ...]

    def __get_pydantic_core_schema__(
        self, source: type[Part], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the union of the members, with a look at the context's parts before it."""

        def choose(
            value: object,
            among_members: core_schema.ValidatorFunctionWrapHandler,
            info: core_schema.ValidationInfo,
        ) -> Part:
            if isinstance(value, source):
                return value
            value = {"kind": value} if isinstance(value, str) else value
            kind = cast(Any, value).get("kind") if isinstance(value, Mapping) else None
            built_in = {kind_of(member) for member in self.members}
            for part in family_parts(source, info.context):
                if kind == kind_of(part) and kind not in built_in:
                    return part.model_validate(value, context=info.context)
            return among_members(value)

        return core_schema.with_info_wrap_validator_function(
            choose,
            handler.generate_schema(_union(self.members)),
            serialization=core_schema.plain_serializer_function_ser_schema(_as_json),
        )


def family_parts(family: type[Part], context: Mapping[str, Any] | None) -> tuple[type[Part], ...]:
    """Return the context's own parts that belong to a family."""
    return tuple(part for part in (context or {}).get("parts", ()) if issubclass(part, family))


def kind_of(part: type[Part]) -> str:
    """Return the kind that a member class declares."""
    return str(part.model_fields["kind"].default)


def family_class(part: type[Part]) -> type[Part]:
    """Return the abstract class that a member belongs to: the one that names the family."""
    return next(base for base in part.__mro__ if "family" in vars(base))


def built_in_members(family: type[Part]) -> list[type[Part]]:
    """Return capsmodel's own members of a family, also those below an intermediate class."""
    return [
        part
        for part in _subclasses(family)
        if is_built_in(part) and not part.model_fields["kind"].is_required()
    ]


def is_built_in(part: type[Part]) -> bool:
    """Return whether a part is capsmodel's own, not a user's."""
    return part.__module__.startswith("capsmodel.")


def _subclasses(part: type[Part]) -> list[type[Part]]:
    return [member for child in part.__subclasses__() for member in (child, *_subclasses(child))]


@cache
def _union(members: tuple[type[Part], ...]) -> Any:
    if len(members) == 1:  # pydantic tells members apart by their kind only where there are two
        return members[0]
    return Annotated[Union[members], Field(discriminator="kind")]  # noqa: UP007


def _as_json(part: Part) -> dict[str, Any]:
    return part.model_dump(mode="json")


def home_of(cls: type) -> str:
    """Return the package nearest to the top that has a class: `capsmodel.routing`."""
    steps = cls.__module__.split(".")
    homes = (".".join(steps[:end]) for end in range(1, len(steps) + 1))
    return next(home for home in homes if getattr(import_module(home), cls.__name__, None) is cls)


def later(default: Any) -> Any:
    """Return a field that is written only where it differs from its default.

    So settings, manifests, outboxes and final records of an earlier release are rewritten to the
    same bytes, and an earlier release can still read values that do not use the field.
    """
    return Field(default=default, exclude_if=lambda value: value == default)
