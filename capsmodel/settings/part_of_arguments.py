"""Parts whose settings are the arguments of a function or constructor of the user's."""

import inspect
import re
import types
from collections.abc import Callable, Collection, Iterator
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticSerializationError, to_jsonable_python

from capsmodel.settings.parts import OneOf, Part, built_in_members, family_class, kind_of

P = TypeVar("P", bound=Part)

_PLAIN = (bool, int, float, str, type(None))
_ALLOWED = "int, float, bool, str, Literal, a tuple of these, or a part of capsmodel"
_UNNAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)


def part_of_arguments(
    base: type[P],
    function: Callable[..., Any],
    *,
    kind: str | None,
    passed: Collection[str],
) -> type[P]:
    """Return a part whose settings are the arguments of a function, or of a class's constructor.

    It belongs to the module that makes it, whose code says how: `Net = model(LabNet)`.

    Args:
        base: The class of the part, whose own names no setting may have.
        function: The function or class, which gives the part its name and docstring.
        kind: The part's kind; by default the name in lower case with underscores.
        passed: Arguments that are no settings, as they are passed by the part.

    Raises:
        TypeError: In one sentence, if an argument cannot be a setting, or a built-in part has the
            kind.
    """
    name = function.__name__
    kind = kind or re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    family = base.family
    if kind in {kind_of(member) for member in built_in_members(family_class(base))}:
        raise TypeError(
            f"The {family} '{kind}' is one of capsmodel's: rename {name}, or write "
            f"@{family}(kind='my_{kind}')."
        )
    fields: dict[str, Any] = {
        argument.name: _field(name, argument, annotation, base)
        for argument, annotation in _arguments(function)
        if argument.name not in passed
    }
    fields["kind"] = (Literal[kind], kind)
    module, docstring = _calling_module(), function.__doc__
    return create_model(name, __base__=base, __module__=module, __doc__=docstring, **fields)


def _calling_module() -> str:
    """Return the name of the module that called into this package."""
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in {"capsmodel", "jaxtyping"}:
            return module
        frame = frame.f_back
    return __name__


def _arguments(function: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """Return the arguments with their annotations, None where there is none."""
    is_class = isinstance(function, type)
    called: Any = function.__init__ if is_class else function
    try:
        hints = get_type_hints(called, include_extras=True)
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise TypeError(
            f"An annotation of {function.__name__} cannot be read ({error}): import what it names "
            f"at the top of the file."
        ) from error
    arguments = [*inspect.signature(called).parameters.values()][1 if is_class else 0 :]
    return [(argument, hints.get(argument.name)) for argument in arguments]


def _field(
    owner: str, argument: inspect.Parameter, annotation: Any, base: type[Part]
) -> tuple[Any, Any]:
    """Return annotation and default of the setting that an argument becomes."""
    name = argument.name
    if argument.kind in _UNNAMED:
        raise TypeError(
            f"{owner} takes {str(argument).partition(':')[0]}, which cannot be settings: name each "
            f"argument."
        )
    if hasattr(base, name) or name.startswith("_") or name == "kind":
        raise TypeError(f"{owner} has an argument '{name}', a name that parts need: rename it.")
    if annotation is None:
        raise TypeError(
            f"The argument '{name}' of {owner} has no annotation: write {name}: "
            f"{_annotation_like(argument.default)}."
        )
    if refused := next(_refused_types(annotation), None):
        raise TypeError(
            f"The argument '{name}' of {owner} is annotated with {_name_of(refused)}: settings "
            f"are {_ALLOWED}.{_remedy(refused)}"
        )
    if argument.default is inspect.Parameter.empty:
        return annotation, ...
    _check_default(owner, name, annotation, argument.default)
    return annotation, argument.default


def _annotation_like(default: object) -> str:
    is_plain = isinstance(default, _PLAIN) and default is not None
    return type(default).__name__ if is_plain else "int"


def _refused_types(annotation: Any) -> Iterator[Any]:
    """Yield what an annotation names that is no type of a setting."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *extras = arguments
        if not any(isinstance(extra, OneOf) for extra in extras):
            yield from _refused_types(inner)
    elif origin in {Union, types.UnionType, tuple}:
        for each in arguments:
            if each is not Ellipsis:
                yield from _refused_types(each)
    elif origin is Literal or annotation in _PLAIN:
        return
    elif not _is_final_part(annotation):
        yield annotation


def _is_final_part(annotation: Any) -> bool:
    is_part = isinstance(annotation, type) and issubclass(annotation, Part)
    return is_part and not annotation.model_fields["kind"].is_required()


def _name_of(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _remedy(annotation: Any) -> str:
    if annotation is list or get_origin(annotation) is list:
        return " Write tuple[int, ...]."
    if isinstance(annotation, type) and issubclass(annotation, Part):
        family = annotation.__name__
        return f" Write Annotated[{family}, OneOf(...)] with the kinds that it may be."
    return ""


def _check_default(owner: str, name: str, annotation: Any, default: Any) -> None:
    start = (
        f"The argument '{name}' of {owner} has the default {repr(default).partition(chr(10))[0]}"
    )
    if _takes_path(annotation) and default is not None:
        raise TypeError(
            f"{start}, a file whose contents no key would show: leave the default out, or write "
            f"{name}: PretrainedWeights | None = None."
        )
    try:
        read = TypeAdapter[Any](annotation).validate_python(default)
        hash(default)
        to_jsonable_python(read)
    except (ValidationError, TypeError, PydanticSerializationError) as error:
        raise TypeError(
            f"{start}, which is no value of its annotation: settings are {_ALLOWED}."
        ) from error


def _takes_path(annotation: Any) -> bool:
    """Return whether an annotation names a part whose place, not its contents, is in no key."""
    if isinstance(annotation, type):
        return issubclass(annotation, Part) and "path" in annotation.not_in_key
    return any(map(_takes_path, get_args(annotation)))
