"""The tree of settings with all kinds that their parts can have, and places in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from capsmodel.search_range import Choices, Floats, Ints, SearchRange, search_range
from capsmodel.settings.messages import settings_of, unknown
from capsmodel.settings.parts import OneOf, Part, Settings, is_built_in, kind_of

Step = tuple[str, str | None]
Place = tuple[Step, ...]
Values = SearchRange | tuple[str, ...]

_STEP = re.compile(r"([^.\[\]]+)(?:\[([^\]]+)\])?")  # a field, and its kind in brackets
_PATH = re.compile(rf"{_STEP.pattern}(?:\.{_STEP.pattern})*")


@dataclass(frozen=True)
class Setting:
    """A setting at one place of the tree.

    Attributes:
        place: The fields that lead to it, each with the kind of its part; the last one has none.
        values: Its range; for a choice of a part a tuple of kinds.
    """

    place: Place
    values: Values

    @property
    def path(self) -> str:
        """Its path without kinds."""
        return path_of(self.place)

    @property
    def name(self) -> str:
        """Its path with kinds: `loss[spread].scale`."""
        return ".".join(f"{field}[{kind}]" if kind else field for field, kind in self.place)


@dataclass(frozen=True)
class Root:
    """Settings from which a space starts.

    Attributes:
        place: Their place in the training config; kinds above them are unknown.
        settings_class: The class of the settings.
        custom_parts: Classes of the custom parts in them.
    """

    place: Place
    settings_class: type[Settings]
    custom_parts: tuple[type[Part], ...] = ()


def path_of(place: Place) -> str:
    """Return the path of a place, without kinds."""
    return ".".join(field for field, _ in place)


def prefixes(path: str) -> list[str]:
    """Return the paths of the parts above a path, and the path itself."""
    fields = path.split(".")
    return [".".join(fields[:end]) for end in range(1, len(fields) + 1)]


def is_at_or_below(path: str, part: str) -> bool:
    """Return whether a path is that of a part, or is below it."""
    return path == part or path.startswith(part + ".")


def matches(place: Place, name: str) -> bool:
    """Return whether a place is at or below a path, which may have kinds in it.

    Raises:
        ValueError: If it is not written as a path.
    """
    steps = _steps(name)
    return len(steps) <= len(place) and all(
        field == wanted and kind_wanted in {"", kind}
        for (field, kind), (wanted, kind_wanted) in zip(place, steps, strict=False)
    )


def is_place(place: Place, name: str) -> bool:
    """Return whether a place is that of a path, which may have kinds in it."""
    return matches(place, name) and len(place) == len(_steps(name))


def name_and_conditions(
    place: Place, choices: Mapping[Place, tuple[str, ...]]
) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """Return the name of a dimension, with the chosen kinds on its path, and these choices.

    Args:
        place: The place of a setting.
        choices: Place of a part -> the kinds to choose from; a single kind is no choice.

    Returns:
        The name and the conditions, None if a kind on the path cannot be chosen.
    """
    name, conditions = "", ()
    for end, (field, kind) in enumerate(place):
        name = f"{name}.{field}" if name else field
        kinds = choices.get((*place[:end], (field, None)), ())
        if end == len(place) - 1 or not kinds or kind is None:
            continue
        if kind not in kinds:
            return None
        if len(kinds) > 1:
            conditions = (*conditions, (name, kind))
            name += f"[{kind}]"
    return name, conditions


def path_without_kinds(name: str) -> str:
    """Return a path without the kinds on it.

    Raises:
        ValueError: If it is not written as a path.
    """
    return ".".join(field for field, _ in _steps(name))


def _steps(name: str) -> list[tuple[str, str]]:
    """Return the fields of a path, each with its kind, or "" without a kind."""
    if not _PATH.fullmatch(name):
        raise ValueError(
            f"'{name}' is not a path: give fields with one point between two, and a part's kind in "
            f"brackets after its field, such as 'model.routing[em].iterations'."
        )
    return _STEP.findall(name)


def root_of(settings: Settings | type[Settings], at: str) -> Root:
    """Return settings, or a class of settings, as a root at a path.

    Raises:
        ValueError: If the class is a family instead of a member.
    """
    settings_class = settings if isinstance(settings, type) else type(settings)
    custom_parts = () if isinstance(settings, type) else tuple(_custom_parts_in(settings))
    fields: list[Step] = [(field, None) for field in at.split(".")] if at else []
    if issubclass(settings_class, Part):
        if settings_class.model_fields["kind"].is_required():
            name = settings_class.__name__
            raise ValueError(f"{name} has no kind and so no settings: give a class that has one.")
        if fields:
            fields[-1] = (fields[-1][0], kind_of(settings_class))
    return Root(tuple(fields), settings_class, custom_parts)


def searchable_settings(root: Root) -> Iterator[Setting]:
    """Yield all settings below a root that declare a range, and all choices of a part.

    Members that need naming are no choice, but their settings are there for who names them.
    """
    for field in settings_of(root.settings_class):
        place = (*root.place, (field, None))
        if members := _members(root, field):
            yield Setting(
                place, tuple(kind_of(member) for member in members if not member.needs_naming)
            )
            for member in members:
                yield from searchable_settings(_root_of_member(root, field, member))
        elif values := search_range(root.settings_class, field):
            yield Setting(place, values)


def places_of(root: Root, path: str) -> list[tuple[Place, tuple[str, ...]]]:
    """Return the places of a path below a root, one for each way of choosing kinds.

    Returns:
        The places, each with the kinds to choose from; no kinds if the setting is a plain value.
    """
    above = path_of(root.place)
    if above and not path.startswith(above + "."):
        return []
    field, _, rest = path[len(above) + 1 if above else 0 :].partition(".")
    if field not in settings_of(root.settings_class):
        return []
    members = _members(root, field)
    if not rest:
        return [((*root.place, (field, None)), tuple(map(kind_of, members)))]
    return [
        place
        for member in members
        for place in places_of(_root_of_member(root, field, member), path)
    ]


def unknown_setting(path: str, roots: Sequence[Root]) -> ValueError:
    """Return the error of a path that does not exist, with those where it stops to exist."""
    near = dict.fromkeys(name for root in roots for name in nearby_paths(root, path))
    num_fields = max((name.count(".") + 1 for name in near), default=1)
    wrong = ".".join(path.split(".")[:num_fields])
    return ValueError(unknown("setting", path if wrong in near else wrong, near))


def listed_settings(values: Mapping[str, Values], root: Root) -> list[Setting]:
    """Return settings that are listed with their values, below the choices that are listed.

    The other parts on their paths have no kind: they are of the base's.

    Raises:
        ValueError: If a path does not exist, or values do not suit its setting.
    """
    settings: dict[Place, Setting] = {}
    numbers: dict[Place, int] = {}  # in the order in which they are listed
    listed = list(values)
    for name in sorted(values, key=lambda name: name.count(".")):
        path = path_without_kinds(name)
        places = [candidate for candidate in places_of(root, path) if matches(candidate[0], name)]
        if not places:
            raise unknown_setting(path, [root])
        choices = {place: setting.values for place, setting in settings.items()}
        reduced = [(_below_choices(place, choices), kinds) for place, kinds in places]
        chosen = {place: kinds for place, kinds in reduced if place}
        if not chosen:
            raise ValueError(f"'{name}' has no effect: the space chooses no kind that has it.")
        for place, kinds in chosen.items():
            settings[place] = Setting(place, checked_values(name, values[name], kinds))
            numbers[place] = listed.index(name)
    return [settings[place] for place in sorted(settings, key=lambda place: numbers[place])]


def _below_choices(place: Place, choices: Mapping[Place, Values]) -> Place:
    """Return a place with the kinds of choices on its path alone; () if they lack its kinds."""
    reduced: Place = ()
    for field, kind in place:
        kinds = choices.get((*reduced, (field, None)))
        if kind is None or not isinstance(kinds, tuple):
            reduced = (*reduced, (field, None))
        elif kind in kinds:
            reduced = (*reduced, (field, kind))
        else:
            return ()
    return reduced


def nearby_paths(root: Root, path: str) -> list[str]:
    """Return the valid siblings of the first unknown step of a path, for an error sentence."""
    above = path_of(root.place)
    prefix = above + "." if above else ""
    fields = settings_of(root.settings_class)
    field = path.removeprefix(prefix).partition(".")[0]
    if path.startswith(prefix) and field in fields and (members := _members(root, field)):
        return [
            name
            for member in members
            for name in nearby_paths(_root_of_member(root, field, member), path)
        ]
    return [prefix + field for field in fields]


def checked_values(path: str, values: Values, kinds: tuple[str, ...]) -> Values:
    """Return values as a range of a plain setting, or as kinds of a part.

    Unknown kinds may be custom parts; they are checked with the space.
    """
    if not kinds:
        if not isinstance(values, Ints | Floats | Choices):
            raise ValueError(
                f"'{path}' is a value and no part: give Ints, Floats or Choices, got {values!r}."
            )
        return values
    choices = values.values if isinstance(values, Choices) else values
    if not isinstance(choices, tuple) or not all(isinstance(kind, str) for kind in choices):
        raise ValueError(
            f"'{path}' is a part: give some of its kinds, such as {kinds[:2]}, got {values}."
        )
    if not choices or len(set(choices)) < len(choices):
        raise ValueError(
            f"The kinds of '{path}' must be all different, at least one, got {choices}."
        )
    return tuple(map(str, choices))


def with_kinds(settings: Sequence[Setting], roots: Sequence[Root]) -> list[Setting]:
    """Return settings with the kinds of roots added to the choices at their paths."""
    widened: list[Setting] = []
    for setting in settings:
        values = setting.values
        if isinstance(values, tuple):
            at = [root for root in roots if path_of(root.place) == setting.path]
            kinds = (kind for root in at if (kind := root.place[-1][1]) is not None)
            values = tuple(dict.fromkeys((*values, *kinds)))
        widened.append(replace(setting, values=values))
    return widened


def under_choices(
    settings: Sequence[Setting], roots: Sequence[Root], among: Sequence[Setting]
) -> list[Setting]:
    """Return settings with those of each root moved below the choices at the root's path."""
    hanging: list[Setting] = []
    for setting in settings:
        root = next(
            (root for root in roots if setting.place[: len(root.place)] == root.place), None
        )
        path = path_of(root.place) if root else ""
        choices = [s.place for s in among if isinstance(s.values, tuple) and s.path == path]
        hanging += [
            replace(setting, place=(*choice[:-1], *setting.place[len(choice) - 1 :]))
            for choice in choices
        ] or [setting]
    return hanging


def _root_of_member(root: Root, field: str, member: type[Part]) -> Root:
    place = (*root.place, (field, kind_of(member)))
    return replace(root, place=place, settings_class=member)


def _members(root: Root, field: str) -> tuple[type[Part], ...]:
    """Return the parts that a field chooses from, empty for a plain value."""
    info = root.settings_class.model_fields[field]
    one_of = next((extra for extra in info.metadata if isinstance(extra, OneOf)), None)
    if one_of is None:
        return ()
    assert isinstance(info.annotation, type)
    family = info.annotation
    custom_parts = (part for part in root.custom_parts if issubclass(part, family))
    return tuple(dict.fromkeys((*one_of.members, *custom_parts)))


def _custom_parts_in(settings: Settings) -> Iterator[type[Part]]:
    for field in settings_of(type(settings)):
        part = getattr(settings, field)
        if isinstance(part, Part):
            if not is_built_in(type(part)):
                yield type(part)
            yield from _custom_parts_in(part)
