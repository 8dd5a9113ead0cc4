"""The built-in plans."""

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


def plan_from_values(values: object) -> Plan:
    """Return the built-in plan that plain values describe, by their kind.

    Raises:
        ValidationError: If the kind does not exist, or the plan is not valid.
    """
    return TypeAdapter[_Members](_BuiltIn).validate_python(values)
