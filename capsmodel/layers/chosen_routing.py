"""A routing by its name, or as it is given."""

from capsmodel.routing import ROUTINGS, Routing
from capsmodel.settings.parts import kind_of
from capsmodel.spelling import unknown


def chosen_routing(routing: Routing | str) -> Routing:
    """Return a routing as it is, or that of a name with its defaults: "dynamic", "em", ...

    Raises:
        ValueError: If there is none of that name.
        TypeError: If it is neither.
    """
    if isinstance(routing, Routing):
        return routing
    if not isinstance(routing, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"routing must be a name or settings, such as 'dynamic' or DynamicRouting(), got "
            f"{routing!r}."
        )
    members = {kind_of(member): member for member in ROUTINGS}
    if routing not in members:
        raise ValueError(unknown("routing", routing, members))
    member = members[routing]()
    assert isinstance(member, Routing)
    return member
