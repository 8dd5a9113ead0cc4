"""Tables and figures of a user's own kinds, made by their own classes."""

from pydantic import ValidationError

from search_spaces.tables import DeclaredTable, OwnTable
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.rendering.contents import Section
from sweeps.records.errors import BadInput


def make_own(kind: type[OwnTable], declared: DeclaredTable, results: Results) -> Section:
    """Return what the class of a user's own kind makes.

    Raises:
        BadInput: If the class does not take what the manifest holds, or makes no section.
    """
    try:
        table = kind.model_validate(declared.model_dump())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise BadInput(
            f"The table '{declared.name}' was declared otherwise than {kind.__name__} is now "
            f"({place}: {first['msg']}): give the file that the sweep was launched from."
        ) from error
    section = table.make(results)
    if not isinstance(section, Section):
        raise BadInput(
            f"{kind.__name__}.make gave {type(section).__name__} for the table '{declared.name}': "
            f"it must give a sweeps.Section."
        )
    return section


def left_out(declared: DeclaredTable, sweep: str) -> str:
    """Return that a table is not made here, and how to get it."""
    return (
        f"The table '{declared.name}' is left out, as its kind '{declared.kind}' is one of the "
        f"sweep's own file: give that, capsweep report FILE.py"
        f" (from Python sweeps.report('{sweep}', tables=[ITS CLASS]))."
    )
