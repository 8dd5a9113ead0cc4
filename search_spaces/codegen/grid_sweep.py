"""A design of factors over the base of another sweep, and the text of its file."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from capsmodel.spelling import short_names
from search_spaces.codegen.python_text import Call, Imported, settings_call
from search_spaces.codegen.sweep_text import base_call, seeds_call, sweep_text
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.designs.factors import FactorDesign
from search_spaces.plans.designs.fractional import FractionalFactorial
from search_spaces.plans.designs.one_factor import OneFactor
from search_spaces.plans.designs.plackett_burman import PlackettBurman
from search_spaces.sweep import Sweep


@dataclass(frozen=True)
class GridDesign:
    """A kind of design with its texts, which have fields `{varied}` and `{combinations}`.

    Attributes:
        plan: The class of its plan.
        title: The description of the sweep.
        question: The first line of the file.
        meaning: What the design can show, and what it cannot.
    """

    plan: type[FactorDesign]
    title: str
    question: str
    meaning: str


DESIGNS: Mapping[str, GridDesign] = MappingProxyType(
    {
        "full": GridDesign(
            FullFactorial,
            "{varied} in all combinations",
            "How do results depend on {varied}? All {combinations} combinations.",
            "It tells what each does on average over the others, and whether one depends on "
            "another.",
        ),
        "one_factor": GridDesign(
            OneFactor,
            "{varied}, one change at a time",
            "What does each change of {varied} do, one at a time?",
            "It tells what each change does to this base, not whether two of them help together.",
        ),
        "fractional": GridDesign(
            FractionalFactorial,
            "{varied} in a fraction of all combinations",
            "Which of {varied} matter? A fraction of all {combinations} combinations.",
            "It finds some effects only as a sum with others: capsweep plan names them.",
        ),
        "plackett_burman": GridDesign(
            PlackettBurman,
            "{varied} in a screen",
            "Which of {varied} matter at all? A screen in few arms.",
            "An interaction can pass for a main effect: what it finds is to be confirmed by a "
            "design\nof the few settings that are left.",
        ),
    }
)
_HERE = "search_spaces"
_LONGEST_NAME = 64
_MOST_NAMED = 3


@dataclass(frozen=True)
class GridSweep:
    """A grid over the base of another sweep, before it is a sweep.

    Attributes:
        origin: The sweep whose base is varied.
        module: The module of the named sweep; "" for a sweep of a file, which cannot be imported.
        factors: Path -> levels as plain values.
        design: A key of `DESIGNS`.
        resolution: Resolution of a fraction; None takes the smallest with clear main effects.
        skip_unbuildable: Whether combinations whose network cannot be built are left out.
        settings: Changes to the base, path -> plain value.
        name: Name of the sweep; None derives it from the origin and the factors.
    """

    origin: Sweep
    module: str
    factors: Mapping[str, tuple[Any, ...]]
    design: str = "full"
    resolution: int | None = None
    skip_unbuildable: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    name: str | None = None

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep.

        Raises:
            ValueError: If the sweep is not valid.
        """
        return Sweep(
            name=self._default_name() if self.name is None else self.name,
            description=self._description,
            base=self._base,
            plan=self._plan,
            seeds=self.seeds,
        )

    def text(self) -> str:
        """Return the text of a file that defines an equal sweep.

        Raises:
            ValueError: If the sweep is not valid.
        """
        kind = type(self.sweep.plan).__name__
        named = {
            "name": self.sweep.name,
            "description": self.sweep.description,
            "base": base_call(self.module, self.settings) or settings_call(self._base),
            "plan": Call(Imported(_HERE, kind), named=self._plan_fields()),
            "seeds": seeds_call(self.seeds),
        }
        design = DESIGNS[self.design]
        base = f"The base is that of {self.origin.name}{', changed' if self.settings else ''}."
        question = f"{self._filled(design.question)}\n\n{base}\n{design.meaning}"
        return sweep_text(question, Call(Imported(_HERE, "Sweep"), named=named))

    @property
    def _description(self) -> str:
        title = self._filled(DESIGNS[self.design].title)
        return f"{title[0].upper()}{title[1:]}."

    @cached_property
    def _base(self) -> TrainingConfig:
        return with_settings(self.origin.base, self.settings)

    @cached_property
    def _plan(self) -> FactorDesign:
        return DESIGNS[self.design].plan(**self._plan_fields())

    def _plan_fields(self) -> dict[str, Any]:
        """Return the fields of the plan as the file writes them."""
        if self.skip_unbuildable and self.design != "full":
            raise ValueError(
                f"Only the design 'full' can skip combinations, got '{self.design}': leave "
                f"skip_unbuildable out, and levels whose networks cannot be built."
            )
        if self.design != "fractional":
            if self.resolution is not None:
                raise ValueError(
                    f"Only the design 'fractional' has a resolution, got {self.resolution} for "
                    f"'{self.design}': leave it out."
                )
            skip = {"skip_unbuildable": True} if self.skip_unbuildable else {}
            return {"factors": dict(self.factors), **skip}
        asked = FractionalFactorial(factors=self.factors, resolution=self.resolution)
        return {"factors": dict(self.factors), "resolution": asked.fraction.resolution}

    def _default_name(self) -> str:
        names = "_".join((self.origin.name, *short_names(tuple(self.factors)).values()))
        plain = re.sub(r"[^a-z0-9_]+", "_", names.lower()).strip("_")
        if len(plain) <= _LONGEST_NAME:
            return plain
        return f"{self.origin.name[: _LONGEST_NAME - len(self.design) - 1]}_{self.design}"

    def _filled(self, words: str) -> str:
        combinations = math.prod(map(len, self.factors.values()))
        return words.format(varied=self._varied, combinations=f"{combinations:,}")

    @property
    def _varied(self) -> str:
        """The names of the factors, or their number if there are many."""
        names = tuple(short_names(tuple(self.factors)).values())
        if len(names) == 1:
            return names[0]
        if len(names) > _MOST_NAMED or len("".join(names)) > _LONGEST_NAME // 2:
            return f"{len(names)} settings"
        return f"{', '.join(names[:-1])} and {names[-1]}"
