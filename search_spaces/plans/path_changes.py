"""The differences between two configurations, as changes that can be made one by one."""

from collections.abc import Iterator, Mapping
from typing import Any

from capsmodel.settings.messages import settings_of
from capsmodel.settings.parts import Part, Settings
from capsmodel.spelling import short_names

Change = Mapping[str, Any]
"""Path -> value of settings that change together: the kind of a part, and its settings."""


def changes_between(before: Settings, after: Settings, above: str = "") -> Iterator[Change]:
    """Yield the changes that turn settings into others: one setting each, or a whole part.

    A part of another kind is one change, together with its settings that differ from their
    defaults, since these exist only with it. Applying all changes to `before` gives `after`.

    Args:
        before: Settings of the same class as `after`.
        after: The settings to reach.
        above: The path that leads to them: "model.".
    """
    for name in settings_of(type(after)):
        old, new = getattr(before, name, None), getattr(after, name)
        path = above + name
        if old == new and type(old) is type(new):
            continue
        if isinstance(old, Settings) and type(old) is type(new):
            yield from changes_between(old, new, f"{path}.")
        elif isinstance(new, Part):
            # a setting without a default is absent from the part that it is compared with
            yield {path: new.kind} | settings_between(type(new).model_construct(), new, f"{path}.")
        else:
            yield {path: new}


def settings_between(before: Settings, after: Settings, above: str = "") -> dict[str, Any]:
    """Return the changes that turn settings into others, as one."""
    changes = changes_between(before, after, above)
    return {path: value for change in changes for path, value in change.items()}


def named_changes(before: Settings, after: Settings) -> dict[str, Change]:
    """Return the changes by the names that tables show: `iterations=4`, `routing=uniform`."""
    by_path = {next(iter(change)): change for change in changes_between(before, after)}
    short = short_names(tuple(by_path))
    return {f"{short[path]}={_shown(change[path])}": change for path, change in by_path.items()}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.3g}" if isinstance(value, float) else str(value)
