"""The plans of this package."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from search_spaces.plans.base import Plan
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.designs.fractional import FractionalFactorial
from search_spaces.plans.designs.leave_one_out import LeaveOneOut
from search_spaces.plans.designs.one_factor import OneFactor
from search_spaces.plans.designs.plackett_burman import PlackettBurman
from search_spaces.plans.listed import ListedArms
from search_spaces.plans.path import Path
from search_spaces.plans.search import Search
from search_spaces.plans.tuned_arms import TunedArms

_Designs = OneFactor | LeaveOneOut | FullFactorial | FractionalFactorial | PlackettBurman
_Members = ListedArms | _Designs | TunedArms | Path | Search
_BuiltIn = Annotated[_Members, Field(discriminator="kind")]


def built_in_plan(values: object) -> Plan:
    """Return the plan that plain values are of, found by its kind.

    Raises:
        ValidationError: If there is no such kind, or the plan cannot be so.
    """
    return TypeAdapter[_Members](_BuiltIn).validate_python(values)
