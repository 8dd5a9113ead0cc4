"""A user's own parts are declared by the sweep that uses them."""

from capsmodel.settings.parts import Part, Settings, is_built_in


def refuse_undeclared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    """Refuse settings that hold a user's own part that no sweep declares.

    Raises:
        ValueError: Naming the first.
    """
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, Part):
            refuse_undeclared_part(value, parts)


def refuse_undeclared_part(part: Part, parts: tuple[type[Part], ...]) -> None:
    """Refuse a user's own part that no sweep declares, or one that holds such a part.

    Raises:
        ValueError: Naming the first.
    """
    if not is_built_in(type(part)) and type(part) not in parts:
        raise ValueError(
            f"{type(part).__name__} is a part of your own: declare it, "
            f"Sweep(parts=[{type(part).__name__}], ...)."
        )
    refuse_undeclared_parts(part, parts)
