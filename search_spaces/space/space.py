"""A space: settings with the values to try, listed or taken from the ranges that they declare.

    Space({"model.routing.iterations": Ints(1, 5), "optimiser.learning_rate": Floats(1e-4, 1e-2)})
    Space.of(TrainingConfig).only("model.routing", "optimiser.learning_rate")

A choice of a part is a dimension whose values are kinds. The settings of a kind are active only
in points that choose it. A space is independent of the sampler that searches it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from capsmodel.config import TrainingConfig
from capsmodel.search_range import Choices, Plain
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, Settings
from search_spaces.space.dimensions import Dimension as Dimension
from search_spaces.space.dimensions import extreme_points, grid_points, num_points, point_from
from search_spaces.space.forbidden import Combination, Forbidden, check_forbidden, combinations
from search_spaces.space.limits import Limit as Limit
from search_spaces.space.proposal import kind_at, with_changes
from search_spaces.space.settings_tree import (
    Place,
    Root,
    Setting,
    Values,
    checked_values,
    is_place,
    listed_settings,
    matches,
    name_and_conditions,
    path_without_kinds,
    places_of,
    prefixes,
    root_of,
    searchable_settings,
    under_choices,
    unknown_setting,
    with_kinds,
)

_ANY_BRANCH: Mapping[str, Plain] = MappingProxyType({})


@dataclass(frozen=True, init=False)
class Space:
    """Settings with the values that a search may give them.

    Attributes:
        settings: All settings that may vary, with choices that are narrowed to one kind.
        roots: The roots that the settings belong to; none if the settings were listed.
        forbid: Combinations of values that no point has.
    """

    settings: tuple[Setting, ...]
    roots: tuple[Root, ...]
    forbid: tuple[Combination, ...]

    def __init__(
        self,
        values: Mapping[str, Values] | None = None,
        *,
        parts: Sequence[type[Part]] = (),
        settings: tuple[Setting, ...] = (),
        roots: tuple[Root, ...] = (),
        forbid: Sequence[Mapping[str, Plain] | Combination] = (),
    ) -> None:
        """List settings with their values.

        A part that is not among them is of the base's kind. A setting of some kinds alone is active
        where one of them is chosen: `{"loss": ("margin", "spread"), "loss.schedule": ("linear",)}`.

        Args:
            values: Path -> range, or kinds of a part. A path with kinds in it means the setting of
                these kinds alone: `loss[spread].schedule`.
            parts: Classes of custom parts whose settings are listed.
            settings: Settings with their places in the tree instead.
            roots: Where these begin.
            forbid: Combinations of values that are never proposed: `[{"model.routing": "em",
                "loss": "margin"}]`. Paths as in `only`.

        Raises:
            ValueError: If a path does not exist, or values do not suit its setting.
        """
        if values:
            settings = tuple(listed_settings(values, Root((), TrainingConfig, tuple(parts))))
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "roots", roots)
        object.__setattr__(self, "forbid", combinations(forbid))

    @classmethod
    def of(cls, settings: Settings | type[Settings], at: str = "") -> "Space":
        """Return the space of all settings that declare a range, and of all choices of a part.

        Args:
            settings: A class, or an object, whose custom parts are then among the choices.
            at: Path of the settings in the training config: `Space.of(CapsNet, at="model")`.

        Raises:
            ValueError: If the class has no kind.
        """
        root = root_of(settings, at)
        return cls(settings=tuple(searchable_settings(root)), roots=(root,))

    def only(self, *paths: str) -> "Space":
        """Return the space of some settings, and of the choices that they depend on.

        If several models may be chosen, the routing of one depends on the choice of the model:
        narrow that to one kind, or start with `Space.of(CapsNet, at="model")`.

        Args:
            paths: Paths of settings. That of a part means the choice of its kind alone. A path with
                kinds in it means the setting of these kinds alone: `loss[spread].schedule`.

        Raises:
            ValueError: If the space has no such setting, or only one kind of such a part.
        """
        self._check_paths(paths)
        selected = [
            setting
            for setting in self.settings
            if any(is_place(setting.place, path) for path in paths)
        ]
        for path in paths:
            self._check_varies(
                path, [setting for setting in selected if is_place(setting.place, path)]
            )
        above = {
            (*setting.place[:end], (setting.place[end][0], None))
            for setting in selected
            for end in range(len(setting.place))
        }
        return replace(self, settings=tuple(s for s in self.settings if s.place in above))

    def without(self, *paths: str) -> "Space":
        """Return the space without some settings.

        Args:
            paths: Paths as in `only`; that of a part means its choice and everything below it.

        Raises:
            ValueError: If nothing at or below a path varies.
        """
        self._check_paths(paths)
        remaining = tuple(setting for setting in self.settings if not _is_any(setting.place, paths))
        return replace(self, settings=remaining)

    def varied(self, values: Mapping[str, Values]) -> "Space":
        """Return the space with other values for some settings; these may be new to it.

        Args:
            values: Path as in `only` -> range, or kinds of a part:
                `{"model.routing": ("dynamic",)}`. A single kind is no choice: its settings are
                always active, and the base must have it. If several kinds have a setting, it gets
                the values in all of them.

        Raises:
            ValueError: If a path does not exist, or values do not suit its setting.
        """
        if not self.roots:
            listed = {setting.name: setting.values for setting in self.settings}
            return Space(listed | dict(values), forbid=self.forbid)
        space = self
        for path in sorted(values, key=lambda path: path.count(".")):
            changed = {setting.place: setting for setting in self._placed(path, values[path])}
            old = tuple(changed.pop(setting.place, setting) for setting in space.settings)
            settings = (*old, *changed.values())
            space = replace(space, settings=tuple(under_choices(settings, space.roots, settings)))
        for path, range_of_path in values.items():
            is_fixed = isinstance(range_of_path, tuple) and len(range_of_path) == 1
            if not is_fixed and not space._shows(path):
                raise ValueError(
                    f"'{path}' has no effect: the space does not choose a kind that has it."
                )
        return space

    def forbidding(self, *combinations: Mapping[str, Plain]) -> "Space":
        """Return the space without the points that have all values of a combination.

        Whether there are such points is checked with the sweep, so that the space may change.

        Args:
            combinations: Path as in `only` -> value: `{"model.routing": "em", "loss": "margin"}`.

        Raises:
            ValueError: If one of them is empty.
        """
        return replace(self, forbid=(*self.forbid, *combinations))

    def __add__(self, other: "Space") -> "Space":
        """Return the space of both; the part of one is added to a choice of it in the other.

        Raises:
            ValueError: If both vary the same setting.
        """
        mine = with_kinds(self.settings, other.roots)
        theirs = with_kinds(other.settings, self.roots)
        settings = (
            *under_choices(mine, self.roots, theirs),
            *under_choices(theirs, other.roots, mine),
        )
        seen: set[Place] = set()
        for setting in settings:
            if setting.place in seen:
                raise ValueError(f"Both spaces vary '{setting.path}': leave it out of one of them.")
            seen.add(setting.place)
        forbid = (*self.forbid, *other.forbid)
        return Space(settings=settings, roots=self.roots + other.roots, forbid=forbid)

    def in_order(self, names: Sequence[str], choices: Mapping[str, Sequence[Plain]]) -> "Space":
        """Return the space with its settings and choices reordered. Unknown names are ignored.

        Args:
            names: Names of dimensions, in order; other settings come last.
            choices: Name of a dimension -> its values in order; others stay as they are.
        """
        places = {name: place for place, name in enumerate(names)}
        named = [(self._dimension(setting), setting) for setting in self.settings]
        ordered = [
            (places.get(dimension.name, len(places)), _reordered(setting, dimension, choices))
            if dimension
            else (len(places), setting)
            for dimension, setting in named
        ]
        settings = (setting for _, setting in sorted(ordered, key=lambda pair: pair[0]))
        return replace(self, settings=tuple(settings))

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """All dimensions, each choice before the dimensions that depend on it."""
        listed = [
            dimension for dimension in map(self._dimension, self.settings) if dimension is not None
        ]
        first = {dimension.name: dimension for dimension in reversed(listed)}
        ordered: dict[str, Dimension] = {}
        for dimension in listed:
            for name in (*(name for name, _ in dimension.conditions), dimension.name):
                ordered.setdefault(name, first[name])
        return tuple(ordered.values())

    @cached_property
    def part_choices(self) -> tuple[Dimension, ...]:
        """The dimensions that choose the kind of a part."""
        of_parts = [setting for setting in self.settings if isinstance(setting.values, tuple)]
        names = {dimension.name for dimension in map(self._dimension, of_parts) if dimension}
        return tuple(dimension for dimension in self.dimensions if dimension.name in names)

    @property
    def is_conditional(self) -> bool:
        """Whether some dimensions are active only if a kind is chosen."""
        return any(dimension.conditions for dimension in self.dimensions)

    @cached_property
    def num_points(self) -> int | None:
        """Number of different points, None if it is infinite."""
        if any(dimension.num_values is None for dimension in self.dimensions):
            return None
        if not self.forbid:
            return num_points(self.dimensions)
        allowed = (each for each in grid_points(self.constrained) if not self.forbids(each))
        return sum(num_points(self.dimensions, fixed=each) for each in allowed)

    def forbids(self, params: Mapping[str, Plain]) -> bool:
        """Return whether a point, or a part of one, has all values of a forbidden combination."""
        return any(forbidden.is_in(params) for forbidden in self._forbidden)

    @cached_property
    def constrained(self) -> tuple[Dimension, ...]:
        """The dimensions that decide whether a point is forbidden, a choice before what needs it.

        Those without an end of values are left out: a space that forbids one is refused.
        """
        named = {each.name: each for of in self._forbidden for at in of.dimensions for each in at}
        names = {name for each in named.values() for name, _ in each.conditions} | named.keys()
        return tuple(each for each in self.dimensions if each.name in names and each.num_values)

    @cached_property
    def _forbidden(self) -> tuple[Forbidden, ...]:
        return tuple(
            Forbidden(combination, tuple(self._dimensions_at(name) for name, _ in combination))
            for combination in self.forbid
        )

    def _dimensions_at(self, name: str) -> tuple[Dimension, ...]:
        settings = (setting for setting in self.settings if is_place(setting.place, name))
        return tuple(filter(None, map(self._dimension, settings)))

    def choose(self, pick: Callable[[Dimension], Plain]) -> dict[str, Plain]:
        """Return a point, name -> value, with the values picked for the active dimensions."""
        return point_from(self.dimensions, pick)

    def changes(self, params: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return the changes of a point to the base, path -> value.

        Raises:
            ValueError: If a name is not in the space, or an active dimension has no value.
        """
        known = {dimension.name: dimension for dimension in self.dimensions}
        for name in params:
            if name not in known:
                raise ValueError(unknown("dimension", name, known))
        active = [dimension.name for dimension in self.dimensions if dimension.is_active(params)]
        if wrong := sorted(set(active) ^ set(params)):
            lacking = "lacks" if wrong[0] in active else "has no place for"
            raise ValueError(f"The point {lacking} '{wrong[0]}': it needs {', '.join(active)}.")
        return {known[name].path: params[name] for name in active}

    def at(
        self, unit: Sequence[float], branch: Mapping[str, Plain] = _ANY_BRANCH
    ) -> dict[str, Plain]:
        """Return the point, name -> value, at a point of the unit cube.

        Args:
            unit: One coordinate in [0, 1] for each dimension, active or not. The point may be
                forbidden.
            branch: Name of a dimension -> a value that is chosen whatever its coordinate is.

        Raises:
            ValueError: If the number of coordinates differs, or one is outside [0, 1].
        """
        if len(unit) != len(self.dimensions) or not all(0 <= number <= 1 for number in unit):
            raise ValueError(
                f"A point of this space has {len(self.dimensions)} coordinates from 0 to 1, "
                f"got {list(unit)}."
            )
        coordinates = dict(zip(self.dimensions, unit, strict=True))
        return self.choose(
            lambda dimension: (
                branch[dimension.name]
                if dimension.name in branch
                else dimension.at(coordinates[dimension])
            )
        )

    def grid(self) -> Iterator[dict[str, Plain]]:
        """Yield all points, the last dimension changing fastest.

        Raises:
            ValueError: If their number is infinite.
        """
        points = grid_points(self.dimensions)
        return (point for point in points if not self.forbids(point)) if self.forbid else points

    def config(
        self, base: TrainingConfig, params: Mapping[str, Plain], parts: Sequence[type[Part]] = ()
    ) -> TrainingConfig:
        """Return the config of a point; a part of the base's kind keeps its settings.

        Raises:
            ValueError: If a setting does not exist or a value is not allowed.
        """
        return with_changes(base, self.changes(params), parts)

    def check(self, base: TrainingConfig, parts: Sequence[type[Part]] = ()) -> None:
        """Check that points of the space are valid configs.

        Args:
            base: The config that points change.
            parts: Custom parts that a kind may refer to.

        Raises:
            ValueError: If nothing varies, a path does not exist in some point, an end of a range or
                a choice is not valid, what is forbidden leaves out nothing or everything, or the
                base does not have the kind that the space is for.
        """
        if not self.dimensions:
            raise ValueError(
                "The space is empty: let something vary, "
                "Space({'optimiser.learning_rate': Floats(1e-4, 1e-2, log=True)})."
            )
        check_forbidden(self._forbidden, self.constrained, self._known_paths())
        for params in extreme_points(self.dimensions, self.forbids):
            changes = self.changes(params)
            kinds = {s.path for s in self.settings if isinstance(s.values, tuple)}
            chosen = {path: value for path, value in changes.items() if path in kinds}
            try:
                self._check_kinds(with_changes(base, chosen, parts), params)
                with_changes(base, changes, parts)
            except ValueError as error:
                raise ValueError(f"The space proposes what cannot be: {error}") from error

    def _check_kinds(self, config: TrainingConfig, params: Mapping[str, Plain]) -> None:
        for setting in self.settings:
            match setting.values, name_and_conditions(setting.place, self._choices):
                case (str(wanted),), (_, conditions):
                    kind = kind_at(config, setting.path)
                    is_active = all(params.get(name) == value for name, value in conditions)
                    if is_active and kind != wanted:
                        raise ValueError(
                            f"It is for '{setting.path}' of the kind '{wanted}', but the base has "
                            f"'{kind}': change one of them."
                        )
                case _:
                    continue

    def _dimension(self, setting: Setting) -> Dimension | None:
        named_place = name_and_conditions(setting.place, self._choices)
        values = setting.values
        if named_place is None or (isinstance(values, tuple) and len(values) == 1):
            return None
        values = Choices(*values) if isinstance(values, tuple) else values
        return Dimension(named_place[0], setting.path, values, named_place[1])

    @cached_property
    def _choices(self) -> dict[Place, tuple[str, ...]]:
        return {s.place: s.values for s in self.settings if isinstance(s.values, tuple)}

    def _placed(self, path: str, values: Values) -> Iterator[Setting]:
        """Yield a setting at each place that a path matches."""
        bare = path_without_kinds(path)
        kinds_by_place = {
            place: kinds
            for root in self.roots
            for place, kinds in places_of(root, bare)
            if matches(place, path)
        }
        if not kinds_by_place:
            raise unknown_setting(bare, self.roots)
        for place, kinds in kinds_by_place.items():
            yield Setting(place, checked_values(path, values, kinds))

    def _shows(self, path: str) -> bool:
        return any(matches(s.place, path) and self._dimension(s) for s in self.settings)

    def _check_varies(self, path: str, settings: Sequence[Setting]) -> None:
        if not settings:
            below = [setting.path for setting in self.settings if matches(setting.place, path)]
            raise ValueError(
                f"'{path}' does not vary itself, only settings below it: give those, such as "
                f"'{below[0]}'."
            )
        values = settings[0].values
        if isinstance(values, tuple) and len(values) == 1:
            raise ValueError(
                f"'{path}' is always '{values[0]}' in this space: give settings below it."
            )

    def _check_paths(self, parts: Sequence[str]) -> None:
        for part in parts:
            if not any(matches(setting.place, part) for setting in self.settings):
                raise ValueError(unknown("setting of the space", part, self._known_paths()))

    def _known_paths(self) -> list[str]:
        """Return the paths that an error sentence may name."""
        known = [path for dimension in self.dimensions for path in prefixes(dimension.path)]
        return list(dict.fromkeys([*known, *(dimension.name for dimension in self.dimensions)]))


def _is_any(place: Place, parts: Sequence[str]) -> bool:
    return any(matches(place, part) for part in parts)


def _reordered(
    setting: Setting, dimension: Dimension, choices: Mapping[str, Sequence[Plain]]
) -> Setting:
    """Return a setting with its choices in another order, if that has exactly these."""
    declared, order = setting.values, choices.get(dimension.name, ())
    values = declared.values if isinstance(declared, Choices) else declared
    is_same = isinstance(values, tuple) and sorted(map(repr, values)) == sorted(map(repr, order))
    if not is_same:
        return setting
    ordered = Choices(*order) if isinstance(declared, Choices) else tuple(map(str, order))
    return replace(setting, values=ordered)
