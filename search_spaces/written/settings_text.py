"""Settings as the call that makes them, with what is not their default."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from capsmodel.settings.home import home_of
from capsmodel.settings.parts import Part, Settings, is_built_in
from search_spaces.written.python_text import Call, Imported

Own = Mapping[type[Part], Imported]
_NO_OWN: Own = MappingProxyType({})


def settings_call(settings: Settings, own: Own = _NO_OWN) -> Call:
    """Return the call that gives settings: `CapsNet(conv_channels=64, ...)`.

    Args:
        settings: To be written.
        own: A user's own parts that the file has -> how it names them.

    Raises:
        ValueError: If one of them is another part of a user's own, which no file can import.
    """
    cls = type(settings)
    if isinstance(settings, Part) and not is_built_in(type(settings)) and type(settings) not in own:
        raise ValueError(
            f"The base has a part of the user's own ({cls.__name__}), which another file cannot "
            f"import: write the design into the file that defines it."
        )
    fields = {name: field for name, field in cls.model_fields.items() if name != "kind"}
    changed = {
        name: _written(getattr(settings, name), own)
        for name, field in fields.items()
        if getattr(settings, name) != field.default
    }
    named = next((name for part, name in own.items() if part is cls), None)
    return Call(named or Imported(home_of(cls), cls.__name__), named=changed)


def _written(value: Any, own: Own) -> Any:
    return settings_call(value, own) if isinstance(value, Settings) else value
