"""What may vary: the ranges that settings declare, narrowed, widened and put together.

    Space.of(TrainingConfig).only("model.routing", "optimiser.learning_rate")

A choice of a part is a dimension whose values are kinds, and the settings of each kind are there
only where it is chosen. Nothing here knows who searches.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from capsmodel.config import TrainingConfig
from capsmodel.search_range import Choices, Plain
from capsmodel.settings.messages import unknown
from capsmodel.settings.parts import Part, Settings
from search_spaces.space.dimensions import Dimension as Dimension
from search_spaces.space.dimensions import extreme_points, grid_points, num_points, point_from
from search_spaces.space.limits import Limit as Limit
from search_spaces.space.proposal import applied, kind_at
from search_spaces.space.settings_tree import (
    Place,
    Root,
    Setting,
    Values,
    hung,
    is_named,
    named,
    names_near,
    path_without_kinds,
    places,
    prefixes,
    root_of,
    searched,
    suitable,
    with_kinds,
)


@dataclass(frozen=True)
class Space:
    """Settings with the values that a search may give them.

    Attributes:
        settings: All that may vary; a choice that is narrowed to one kind is still among them.
        roots: Where they come from.
    """

    settings: tuple[Setting, ...] = ()
    roots: tuple[Root, ...] = ()

    @classmethod
    def of(cls, settings: Settings | type[Settings], at: str = "") -> "Space":
        """Return the space of all settings that have a range, and of all choices of a part.

        Args:
            settings: A class, or an object: a user's own parts in it are chosen from too.
            at: The path where they are in the training config: `Space.of(CapsNet, at="model")`.

        Raises:
            ValueError: If the class has no kind.
        """
        root = root_of(settings, at)
        return cls(tuple(searched(root)), (root,))

    def only(self, *paths: str) -> "Space":
        """Return the space of some settings, and of the choices that bring them along.

        Where several models may be chosen, the routing of one brings along the choice of the model:
        narrow that to one kind, or begin with `Space.of(CapsNet, at="model")`.

        Args:
            paths: Of settings, or of parts with all that is below them. A name with the kinds on
                its path stands for the setting of these kinds alone: `loss[spread].schedule`.

        Raises:
            ValueError: If nothing at or below a path varies.
        """
        self._refuse_unknown(paths)
        kept = [setting for setting in self.settings if _is_any(setting.place, paths)]
        above = {
            (*setting.place[:end], (setting.place[end][0], None))
            for setting in kept
            for end in range(len(setting.place))
        }
        return replace(self, settings=tuple(s for s in self.settings if s.place in above))

    def without(self, *paths: str) -> "Space":
        """Return the space without some settings.

        Args:
            paths: As `only` takes them.

        Raises:
            ValueError: If nothing at or below a path varies.
        """
        self._refuse_unknown(paths)
        kept = tuple(setting for setting in self.settings if not _is_any(setting.place, paths))
        return replace(self, settings=kept)

    def varied(self, values: Mapping[str, Values]) -> "Space":
        """Return the space with other values for some settings, which may be new to it.

        Args:
            values: Path, as `only` takes it -> range, or the kinds of a part:
                `{"model.routing": ("dynamic",)}`. A single kind is no choice: its settings are
                always there, and the base must have it. A setting that several kinds have gets
                the values in each.

        Raises:
            ValueError: If a path leads nowhere, or values do not suit what is there.
        """
        space = self
        for path in sorted(values, key=lambda path: path.count(".")):
            changed = {setting.place: setting for setting in self._placed(path, values[path])}
            old = tuple(changed.pop(setting.place, setting) for setting in space.settings)
            settings = (*old, *changed.values())
            space = replace(space, settings=tuple(hung(settings, space.roots, settings)))
        for path, given in values.items():
            is_fixed = isinstance(given, tuple) and len(given) == 1
            if not is_fixed and not space._shows(path):
                raise ValueError(
                    f"'{path}' has no effect: the space does not choose a kind that has it."
                )
        return space

    def __add__(self, other: "Space") -> "Space":
        """Return the space of both; a part that one of them is of joins the other's choice.

        Raises:
            ValueError: If both vary a setting.
        """
        mine = with_kinds(self.settings, other.roots)
        theirs = with_kinds(other.settings, self.roots)
        settings = (*hung(mine, self.roots, theirs), *hung(theirs, other.roots, mine))
        seen: set[Place] = set()
        for setting in settings:
            if setting.place in seen:
                raise ValueError(f"Both spaces vary '{setting.path}': leave it out of one of them.")
            seen.add(setting.place)
        return Space(settings, self.roots + other.roots)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """All that varies, each choice before what it brings along."""
        drawn = [own for own in map(self._dimension, self.settings) if own is not None]
        first = {dimension.name: dimension for dimension in reversed(drawn)}
        ordered: dict[str, Dimension] = {}
        for dimension in drawn:
            for name in (*(name for name, _ in dimension.conditions), dimension.name):
                ordered.setdefault(name, first[name])
        return tuple(ordered.values())

    @property
    def is_conditional(self) -> bool:
        """Whether some settings are there only where a kind is chosen."""
        return any(dimension.conditions for dimension in self.dimensions)

    @property
    def num_points(self) -> int | None:
        """How many different points there are, None where they are endless."""
        if any(dimension.num_values is None for dimension in self.dimensions):
            return None
        return num_points(self.dimensions)

    def choose(self, pick: Callable[[Dimension], Plain]) -> dict[str, Plain]:
        """Return a point, name -> value, of the values picked for the dimensions that are there."""
        return point_from(self.dimensions, pick)

    def changes(self, params: Mapping[str, Plain]) -> dict[str, Plain]:
        """Return what a point changes, path -> value.

        Raises:
            ValueError: If a name is none of the space, or not all that are there have a value.
        """
        known = {dimension.name: dimension for dimension in self.dimensions}
        for name in params:
            if name not in known:
                raise ValueError(unknown("dimension", name, known))
        there = [dimension.name for dimension in self.dimensions if dimension.is_there(params)]
        if wrong := sorted(set(there) ^ set(params)):
            lacking = "lacks" if wrong[0] in there else "has no place for"
            raise ValueError(f"The point {lacking} '{wrong[0]}': it needs {', '.join(there)}.")
        return {known[name].path: params[name] for name in there}

    def at(self, unit: Sequence[float]) -> dict[str, Plain]:
        """Return the point, name -> value, at a point of the unit cube.

        Args:
            unit: One coordinate in [0, 1] for each dimension, also for those that are not there.

        Raises:
            ValueError: If the coordinates are not as many, or lie outside.
        """
        if len(unit) != len(self.dimensions) or not all(0 <= number <= 1 for number in unit):
            raise ValueError(
                f"A point of this space has {len(self.dimensions)} coordinates from 0 to 1, "
                f"got {list(unit)}."
            )
        coordinates = dict(zip(self.dimensions, unit, strict=True))
        return self.choose(lambda dimension: dimension.at(coordinates[dimension]))

    def grid(self) -> Iterator[dict[str, Plain]]:
        """Return all points one by one, the last dimension changing fastest.

        Raises:
            ValueError: If they are endless.
        """
        return grid_points(self.dimensions)

    def config(
        self, base: TrainingConfig, params: Mapping[str, Plain], parts: Sequence[type[Part]] = ()
    ) -> TrainingConfig:
        """Return a point's config: a part of the kind that the base has keeps its settings.

        Raises:
            ValueError: If a setting is not there or a value is not allowed.
        """
        return applied(base, self.changes(params), parts)

    def check(self, base: TrainingConfig, parts: Sequence[type[Part]] = ()) -> None:
        """Refuse a space that may propose what cannot be.

        Args:
            base: The config that points change.
            parts: A user's own parts that a kind may name.

        Raises:
            ValueError: If nothing varies, a path leads nowhere in some point, an end of a range
                or a choice is not valid, or the base has not the kind that the space is for.
        """
        if not self.dimensions:
            raise ValueError(
                "The space is empty: let something vary, "
                "Space.of(TrainingConfig).only('optimiser.learning_rate')."
            )
        for params in extreme_points(self.dimensions):
            changes = self.changes(params)
            kinds = {s.path for s in self.settings if isinstance(s.values, tuple)}
            chosen = {path: value for path, value in changes.items() if path in kinds}
            try:
                self._refuse_other_kinds(applied(base, chosen, parts), params)
                applied(base, changes, parts)
            except ValueError as error:
                raise ValueError(f"The space proposes what cannot be: {error}") from error

    def _refuse_other_kinds(self, config: TrainingConfig, params: Mapping[str, Plain]) -> None:
        for setting in self.settings:
            match setting.values, named(setting.place, self._choices):
                case (str(wanted),), (_, conditions):
                    kind = kind_at(config, setting.path)
                    is_there = all(params.get(name) == value for name, value in conditions)
                    if is_there and kind != wanted:
                        raise ValueError(
                            f"It is for '{setting.path}' of the kind '{wanted}', but the base has "
                            f"'{kind}': change one of them."
                        )
                case _:
                    continue

    def _dimension(self, setting: Setting) -> Dimension | None:
        named_place = named(setting.place, self._choices)
        values = setting.values
        if named_place is None or (isinstance(values, tuple) and len(values) == 1):
            return None
        values = Choices(*values) if isinstance(values, tuple) else values
        return Dimension(named_place[0], setting.path, values, named_place[1])

    @cached_property
    def _choices(self) -> dict[Place, tuple[str, ...]]:
        return {s.place: s.values for s in self.settings if isinstance(s.values, tuple)}

    def _placed(self, path: str, values: Values) -> Iterator[Setting]:
        """Yield a setting at each place that a path leads to."""
        bare = path_without_kinds(path)
        kinds_by_place = {
            place: kinds
            for root in self.roots
            for place, kinds in places(root, bare)
            if is_named(place, path)
        }
        if not kinds_by_place:
            near = [name for root in self.roots for name in names_near(root, bare)]
            raise ValueError(unknown("setting", path, dict.fromkeys(near)))
        for place, kinds in kinds_by_place.items():
            yield Setting(place, suitable(path, values, kinds))

    def _shows(self, path: str) -> bool:
        return any(is_named(s.place, path) and self._dimension(s) for s in self.settings)

    def _refuse_unknown(self, parts: Sequence[str]) -> None:
        for part in parts:
            if not any(is_named(setting.place, part) for setting in self.settings):
                known = [path for dimension in self.dimensions for path in prefixes(dimension.path)]
                known += [dimension.name for dimension in self.dimensions]
                raise ValueError(unknown("setting of the space", part, dict.fromkeys(known)))


def _is_any(place: Place, parts: Sequence[str]) -> bool:
    return any(is_named(place, part) for part in parts)
