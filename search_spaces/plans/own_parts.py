"""A user's own parts are declared by the sweep that uses them."""

from capsmodel.settings.parts import Part, Settings, is_built_in


def refuse_undeclared_parts(settings: Settings, parts: tuple[type[Part], ...]) -> None:
    """Refuse settings that hold a user's own part that no sweep declares.

    Raises:
        ValueError: Naming the first.
    """
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if not isinstance(value, Part):
            continue
        if not is_built_in(type(value)) and type(value) not in parts:
            raise ValueError(
                f"{type(value).__name__} is a part of your own: declare it, "
                f"Sweep(parts=[{type(value).__name__}], ...)."
            )
        refuse_undeclared_parts(value, parts)
