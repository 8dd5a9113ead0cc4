"""What sets one configuration apart from another, as changes that can be made one by one."""

from collections.abc import Iterator, Mapping
from typing import Any

from capsmodel.settings.messages import settings_of
from capsmodel.settings.parts import Part, Settings, is_built_in
from capsmodel.spelling import short_names

Change = Mapping[str, Any]


"""Path -> value of what moves together: a kind of a part, and its settings."""


def changes_between(before: Settings, after: Settings, above: str = "") -> Iterator[Change]:
    """Yield what turns settings into others: a setting each, or a part with all that it needs.

    A part of another kind is one change, together with those of its settings that are not their
    defaults, as these are there only with it. All changes made to `before` give `after`.

    Args:
        before: Of the same class as `after`.
        after: What they are turned into.
        above: What leads to them: "model.".
    """
    for name in settings_of(type(after)):
        old, new = getattr(before, name, None), getattr(after, name)
        path = above + name
        if old == new and type(old) is type(new):
            continue
        if isinstance(old, Settings) and type(old) is type(new):
            yield from changes_between(old, new, f"{path}.")
        elif isinstance(new, Part):
            yield {path: new.kind} | flat(changes_between(_of_defaults(new), new, f"{path}."))
        else:
            yield {path: new}


def flat(changes: Iterator[Change]) -> dict[str, Any]:
    """Return changes as one."""
    return {path: value for change in changes for path, value in change.items()}


def named(changes: Iterator[Change]) -> dict[str, Change]:
    """Return changes by names for a table: `iterations=4`, `routing=uniform`."""
    by_path = {next(iter(change)): change for change in changes}
    short = short_names(tuple(by_path))
    return {f"{short[path]}={_shown(change[path])}": change for path, change in by_path.items()}


def own_parts_in(*trees: Settings) -> tuple[type[Part], ...]:
    """Return the classes of a user's own parts that settings hold, each once."""
    held = (getattr(tree, name) for tree in trees for name in type(tree).model_fields)
    found: dict[type[Part], None] = {}
    for part in held:
        if isinstance(part, Part):
            own = () if is_built_in(type(part)) else (type(part),)
            found |= dict.fromkeys((*own, *own_parts_in(part)))
    return tuple(found)


def _of_defaults(part: Part) -> Settings:
    """Return a part of the same kind with its defaults, without those settings that have none."""
    return type(part).model_construct()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value)
