"""How large anything recorded may be, so that no record stalls or ends its reader.

Far beyond what any sweep holds. Writers are held to it as well: what could not be read again is
refused before it is written.
"""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints

MOST_ARMS = 100_000
MOST_CELLS = 1_000_000
_LARGEST = 2**63 - 1
_LONGEST_TEXT = 100_000
_DEEPEST = 32
_MOST_VALUES = 100_000
_TEN_THOUSAND_YEARS = 3e11  # in seconds

Whole = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]
Count = Annotated[int, Field(ge=0, le=_LARGEST)]
Seconds = Annotated[float, Field(ge=-_TEN_THOUSAND_YEARS, le=_TEN_THOUSAND_YEARS)]
Finite = Annotated[float, Field(ge=-1e300, le=1e300)]
Plain = Annotated[str, StringConstraints(max_length=2000)] | Whole | float | bool


def _bounded(value: Any) -> Any:
    """Refuse plain values that are nested deeper, longer or larger than any setting is.

    Raises:
        ValueError: Saying what is too large.
    """
    num_values = 0
    level = [value]
    for _ in range(_DEEPEST):
        num_values += len(level)
        if num_values > _MOST_VALUES:
            raise ValueError(f"it holds more than {_MOST_VALUES:,} values")
        inside: list[Any] = []
        for member in level:
            if isinstance(member, dict):
                inside += member
                inside += member.values()
            elif isinstance(member, list | tuple):
                inside += member
            else:
                _check_size(member)
        if not inside:
            return value
        level = inside
    raise ValueError(f"it is nested deeper than {_DEEPEST} levels")


def _check_size(value: Any) -> None:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise ValueError(f"it holds a text of more than {_LONGEST_TEXT:,} characters")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(f"it holds a whole number beyond {_LARGEST}")


Bounded = Annotated[Any, AfterValidator(_bounded)]
Json = Annotated[dict[str, Any], AfterValidator(_bounded)]
