"""Settings, and profiles: values of several of them that are written as one name.

A profile is shorthand. It is expanded when settings are read, so that no settings, no JSON and no
key holds its name: `CapsNet.of_profile("official")` equals the same settings written one by one.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import to_jsonable_python

from capsmodel.settings.constructed import Constructed
from capsmodel.spelling import unknown

Context = Mapping[str, Any] | None
KIND = "kind"
Path = tuple[str, ...]
PROFILE = "profile"


class Settings(Constructed):
    """Frozen settings that refuse names they do not know and numbers that are not finite.

    Attributes:
        profiles: Name of a profile -> the values it sets, path below these settings -> value. A
            path that ends in `kind` changes a part's kind, one in `profile` applies a profile of
            the part. What another profile sets and one does not gets its default from it, so that
            choosing one undoes the other: `{"paper": {}, "official": {"routing.bias": True}}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def of_profile(cls, profile: str, **settings: Any) -> Self:
        """Return the settings of a profile, with others besides those that it sets.

        Raises:
            ValueError: If there is no such profile, or a setting contradicts it.
        """
        return cls(**{**settings, PROFILE: profile})

    @classmethod
    def described(cls) -> str:
        """Return how messages refer to these settings."""
        return cls.__name__

    @model_validator(mode="before")
    @classmethod
    def _expand_profile(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, Mapping) or PROFILE not in data or PROFILE in cls.model_fields:
            return data
        others = {name: value for name, value in data.items() if name != PROFILE}
        profile = Profile.of(cls, data[PROFILE])
        read = {**fields_of(profile.applied(cls(), info.context, partly=True)), **others}
        try:
            settings = cls.model_validate(read, context=info.context)
        except ValidationError:
            return read  # refused once more, each error at its place
        return fields_of(profile.combined(settings, given_paths(others, settings), info.context))


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True)
class Profile:
    """A profile of some settings.

    Attributes:
        title: Its name in sentences.
        values: Path below the settings -> value.
        resets: Paths whose value is only the default that another profile changes.
    """

    title: str
    values: Mapping[Path, Any]
    resets: frozenset[Path]

    @classmethod
    def of(cls, owner: type[Settings], name: object) -> "Profile":
        """Return a profile by name.

        Raises:
            ValueError: If the settings have no profile of that name.
        """
        if not owner.profiles:
            raise ValueError(
                f"There are no profiles of {owner.described()}, got '{name}': leave the "
                f"profile out, or choose a part that has it."
            )
        if str(name) not in owner.profiles:
            raise ValueError(unknown(f"profile of {owner.described()}", str(name), owner.profiles))
        title = f"The profile '{name}' of {owner.described()}"
        profile_values = _by_path(owner.profiles[str(name)])
        defaults = _defaults(owner)
        return cls(
            title, {**defaults, **profile_values}, frozenset(defaults) - frozenset(profile_values)
        )

    def applied(self, settings: S, context: Context, *, partly: bool = False) -> S:
        """Return settings with the profile's values.

        Args:
            settings: Settings to start from.
            context: Context of the validation, with a user's own parts.
            partly: Leave out a value that a part has no place for, as another kind may yet come.

        Raises:
            ValueError: If there is no place for a value, or it does not go with the others.
        """
        try:
            return self._with_values(settings, self.values, context=context, partly=partly)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
            raise ValueError(f"{self.title} does not fit: {first.removesuffix('.')}.") from error

    def combined(self, settings: S, paths: Iterator[Path], context: Context) -> S:
        """Return settings with the profile's values; the given settings must agree with them.

        Args:
            settings: The settings as they are given besides the profile.
            paths: The given values.
            context: Context of the validation.

        Raises:
            ValueError: If one of the paths holds another value than the profile sets.
        """
        result = self.applied(settings, context)
        for path in paths:
            ours, theirs = _plain_at(result, path), _plain_at(settings, path)
            if ours != theirs:
                raise ValueError(
                    f"{self.title} sets {'.'.join(path)} to {_word(ours)}, got {_word(theirs)}: "
                    f"leave one of them out."
                )
        return result

    def _with_values(
        self,
        settings: S,
        values: Mapping[Path, Any],
        above: Path = (),
        *,
        context: Context,
        partly: bool,
    ) -> S:
        direct = {path[0]: value for path, value in values.items() if len(path) == 1}
        direct.pop(KIND, None)
        if PROFILE in direct:
            inner = Profile.of(type(settings), direct.pop(PROFILE))
            if not above:  # what is asked for is the outer one
                inner = replace(inner, title=self.title)
            settings = inner.applied(settings, context, partly=partly)
        changed: dict[str, Any] = {}
        for name, below in _by_field(values).items():
            if name not in type(settings).model_fields:
                if not partly:
                    self._check_not_required(settings, (*above, name))
                continue
            part = direct.get(name, getattr(settings, name))
            if (KIND,) in below:
                part = of_kind(type(settings), name, part, below[(KIND,)], context=context)
            if any(below):
                assert isinstance(part, Settings), f"{name} is a value, no part"
                default = type(settings).model_fields[name].default
                fitting = self._fitting(part, below, default, partly=partly)
                part = self._with_values(
                    part, fitting, (*above, name), context=context, partly=partly
                )
            changed[name] = part
        return type(settings).model_validate({**fields_of(settings), **changed}, context=context)

    def _fitting(
        self, part: Settings, values: Mapping[Path, Any], default: object, *, partly: bool
    ) -> Mapping[Path, Any]:
        """Return the values for a part, without a profile that only the default kind has."""
        name = values.get((PROFILE,))
        if name in part.profiles or not (
            isinstance(default, Settings) and name in default.profiles
        ):
            return values
        if not partly:
            raise ValueError(
                f"{self.title} needs {default.described()}, got '{getattr(part, KIND, None)}': "
                f"leave one of them out."
            )
        return {path: value for path, value in values.items() if path != (PROFILE,)}

    def _check_not_required(self, settings: Settings, path: Path) -> None:
        if any(
            path == value_path[: len(path)]
            for value_path in self.values
            if value_path not in self.resets
        ):
            raise ValueError(
                f"{self.title} sets {'.'.join(path)}, which {type(settings).described()} has "
                f"not: change one of them."
            )


def given_paths(
    changes: Mapping[str, Any], settings: BaseModel, above: Path = ()
) -> Iterator[Path]:
    """Yield the paths of all given values: plain values, objects and profiles.

    Args:
        changes: Name of a setting -> value, as it was given.
        settings: The validated settings.
        above: Path of both.
    """
    for name, value in changes.items():
        read = getattr(settings, name, None)
        if name == PROFILE and isinstance(settings, Settings):
            yield from profile_paths(settings, value, above)
        elif isinstance(value, BaseModel) and isinstance(read, BaseModel):
            values_set = {field: getattr(value, field) for field in (KIND, *value.model_fields_set)}
            yield from given_paths(values_set, read, (*above, name))
        elif isinstance(value, Mapping) and isinstance(read, BaseModel):
            yield from given_paths(value, read, (*above, name))
        else:
            yield (*above, name)


def profile_paths(settings: Settings, name: object, above: Path = ()) -> Iterator[Path]:
    """Yield the paths that a profile sets in settings, those of profiles in it included.

    Raises:
        ValueError: If the settings have no profile of that name.
    """
    for path, value in Profile.of(type(settings), name).values.items():
        owner = value_at(settings, path[:-1])
        if path[-1] == PROFILE and isinstance(owner, Settings):
            yield from profile_paths(owner, value, (*above, *path[:-1]))
        else:
            yield (*above, *path)


def value_at(settings: BaseModel, path: Sequence[str]) -> Any:
    """Return the value or part at a path, or None if the path does not exist."""
    value: Any = settings
    for name in path:
        value = getattr(value, name, None)
    return value


def _by_path(values: Mapping[str, Any]) -> dict[Path, Any]:
    return {tuple(path.split(".")): value for path, value in values.items()}


def _defaults(owner: type[Settings]) -> dict[Path, Any]:
    """Return the defaults of all settings that any profile of a class sets by value or kind."""
    defaults: dict[Path, Any] = {}
    for profile in owner.profiles.values():
        for name, *below in _by_path(profile):
            default = owner.model_fields[name].default if name in owner.model_fields else None
            for step in below:
                default = getattr(default, step, None)
            if default is not None:
                defaults[(name, *below)] = default
    return defaults


def _by_field(values: Mapping[Path, Any]) -> dict[str, dict[Path, Any]]:
    by_field: dict[str, dict[Path, Any]] = {}
    for (name, *rest), value in values.items():
        if rest or name not in {KIND, PROFILE}:
            by_field.setdefault(name, {})[tuple(rest)] = value
    return by_field


def _plain_at(settings: BaseModel, path: Path) -> Any:
    """Return the value at a path; that of a part is its kind, as no more of it was given."""
    value = value_at(settings, path)
    return getattr(value, KIND, None) if isinstance(value, BaseModel) else value


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_jsonable_python(value))


def fields_of(settings: BaseModel) -> dict[str, Any]:
    """Return the values of settings by their names, parts as objects."""
    return {name: getattr(settings, name) for name in type(settings).model_fields}


def of_kind(owner: type[BaseModel], name: str, part: Any, kind: str, *, context: Context) -> Any:
    """Return a part with another kind, and those of its settings that both kinds have.

    A value that is the old kind's default, or not valid in the new kind, is replaced by the new
    kind's default; so are all of them if they contradict each other there.

    Args:
        owner: The class of the settings that hold the part.
        name: The field that it is in.
        part: The part as it is.
        kind: The new one.
        context: Context of the validation.

    Raises:
        ValidationError: If there is no such kind.
    """
    if part.kind == kind:
        return part
    field = owner.model_fields[name]
    annotation: Any = field.annotation
    for extra in field.metadata:
        annotation = Annotated[annotation, extra]
    family = TypeAdapter[Any](annotation)
    fields = type(part).model_fields
    carried = {name: v for name, v in fields_of(part).items() if v != fields[name].default}
    while True:
        try:
            return family.validate_python({**carried, KIND: kind}, context=context)
        except ValidationError as error:
            refused = _refused(error, carried)
            if not refused:
                raise
            carried = {field: value for field, value in carried.items() if field not in refused}


def _refused(error: ValidationError, carried: Mapping[str, Any]) -> set[str]:
    """Return the settings that a kind rejects; all of them if they conflict with each other."""
    names = set(carried) - {KIND}
    refused = {str(step) for detail in error.errors() for step in detail["loc"]} & names
    is_of_all = any(detail["type"] == "value_error" for detail in error.errors())
    return names if is_of_all and not refused else refused
