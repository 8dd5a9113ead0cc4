"""A sweep as the text of its file: the question in words, the imports, the sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

from search_spaces.written.own_code import NO_CODE, OwnCode
from search_spaces.written.python_text import Call, Imported, imports_of, python_text

_LEAD = "SWEEP = "
_MOST_SEEDS_LISTED = 10


def sweep_text(question: str, sweep: Call, own: OwnCode = NO_CODE) -> str:
    """Return the text of a sweep's file.

    Args:
        question: Its docstring, of words alone: no backslash and no quote.
        sweep: The call that makes it.
        own: The user's own parts that the file is to have.
    """
    assert not set(question) & set("\\\"'")
    docstring = f'"""{question}\n"""' if "\n" in question else f'"""{question}"""'
    imports = "\n".join(own.with_imports(imports_of(sweep)))
    gap = "\n" * (1 + own.code.startswith(("class ", "def ", "@")))
    code = f"{gap}{own.code}\n\n" if own.code else ""
    return f"{docstring}\n\n{imports}\n{code}\n{_LEAD}{python_text(sweep, before=len(_LEAD))}\n"


def base_call(module: str, settings: Mapping[str, Any]) -> Call | Imported | None:
    """Return the base of a named sweep, changed by settings; None for a sweep of no module."""
    if not module:
        return None
    base = Imported(module, "SWEEP", alias=module.rpartition(".")[2].upper(), rest=".base")
    if not settings:
        return base
    change = Imported("capsmodel.overrides", "with_settings")
    return Call(change, arguments=(base, dict(settings)))


def seeds_call(seeds: Sequence[int]) -> Call | tuple[int, ...]:
    """Return seeds as they are, or as a range where they are many."""
    first, end = seeds[0], seeds[-1] + 1
    if len(seeds) > _MOST_SEEDS_LISTED and tuple(seeds) == tuple(range(first, end)):
        ends = (first, end) if first else (end,)
        return Call(Imported("", "tuple"), (Call(Imported("", "range"), ends),))
    return tuple(seeds)
