"""The path from the base of a search to one of its arms, and the text of its file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from textwrap import fill
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces.codegen.changes import Change, changes_between, merged, named_changes
from search_spaces.codegen.python_text import Call, Imported, settings_call
from search_spaces.codegen.sweep_text import NO_CODE, CustomCode, base_call, seeds_call, sweep_text
from search_spaces.plans.path import Path
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key

_HERE = "search_spaces"
_LONGEST_NAME, _WIDTH = 64, 88
_NUM_SEEDS, _NUM_CHOOSING = 5, 2


@dataclass(frozen=True)
class PathSweep:
    """A path from the base of a search to one of its arms, before it is a sweep.

    Attributes:
        search: Name of the search.
        arm: The arm of the search that is the target.
        role: What the arm is in the search, as the end of a sentence.
        base: The base that the search was launched with.
        target: The arm's configuration.
        module: The module of the named sweep; "" if no other file can import it.
        declared_base: The base that the module declares, which a launch may have changed.
        search_seeds: Seeds of the search, by which the arm was selected.
        confirmation_seeds: Seeds of the search's confirmation; empty if there was none.
        seeds: Seeds on which the path is compared; None for the confirmation's, or fresh ones.
        name: Name of the sweep; None derives it from the search's.
        custom_code: The user's parts in base and target.
    """

    search: str
    arm: str
    role: str
    base: TrainingConfig
    target: TrainingConfig
    module: str = ""
    declared_base: TrainingConfig | None = None
    search_seeds: tuple[int, ...] = ()
    confirmation_seeds: tuple[int, ...] = ()
    seeds: tuple[int, ...] | None = None
    name: str | None = None
    custom_code: CustomCode = field(default=NO_CODE)

    @cached_property
    def changes(self) -> Mapping[str, Change]:
        """The changes from base to target, by name.

        Raises:
            ValueError: If there are fewer than two, so that there is no order to find.
        """
        changes = named_changes(changes_between(self.base, self.target))
        if not changes:
            raise ValueError(f"'{self.arm}' of '{self.search}' changes nothing of the base.")
        if len(changes) == 1:
            raise ValueError(
                f"'{self.arm}' of '{self.search}' changes one thing of the base "
                f"({', '.join(changes)}), so that there is no order to find: a sweep of two "
                f"listed arms compares them."
            )
        return changes

    @property
    def compared_seeds(self) -> tuple[int, ...]:
        """The seeds on which base and steps are compared.

        Raises:
            ValueError: If one of the given seeds is a seed of the search.
        """
        fresh = self.confirmation_seeds or _fresh(_NUM_SEEDS, self.search_seeds)
        if self.seeds is None:
            return fresh
        if both := sorted({*self.seeds} & {*self.search_seeds}):
            raise ValueError(
                f"The seed {both[0]} has found '{self.arm}', which flatters it there: compare on "
                f"others, such as --seeds {','.join(map(str, fresh))}."
            )
        return self.seeds

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep.

        Raises:
            ValueError: If the sweep is not valid.
        """
        return Sweep(
            name=f"{self.search[: _LONGEST_NAME - 5]}_path" if self.name is None else self.name,
            description=f"From the base of {self.search} to {self.arm}, a change at a time.",
            base=self.base,
            plan=Path(changes=self.changes, choosing_seeds=self._choosing_seeds),
            seeds=self.compared_seeds,
            parts=tuple(self.custom_code.parts),
        )

    def keys(self, sweep: Sweep) -> list[str]:
        """Return the trial keys of base and target on each seed, in a sweep of this path."""
        whole = {path: value for change in self.changes.values() for path, value in change.items()}
        target = with_settings(sweep.base, whole, sweep.parts)
        return [trial_key(config, seed) for config in (sweep.base, target) for seed in sweep.seeds]

    def text(self) -> str:
        """Return the text of a file that defines an equal sweep.

        Raises:
            ValueError: If the sweep is not valid.
        """
        plan = {"changes": self.changes, "choosing_seeds": self._choosing_seeds}
        fields: dict[str, Any] = {
            "name": self.sweep.name,
            "description": self.sweep.description,
            "base": self._base_text(),
            "plan": Call(Imported(_HERE, "Path"), named=plan),
            "seeds": seeds_call(self.sweep.seeds),
        }
        if self.custom_code.parts:
            fields["parts"] = tuple(self.custom_code.parts.values())
        return sweep_text(
            self._question, Call(Imported(_HERE, "Sweep"), named=fields), self.custom_code
        )

    @property
    def _choosing_seeds(self) -> tuple[int, ...]:
        return _fresh(_NUM_CHOOSING, (*self.compared_seeds, *self.search_seeds))

    @property
    def _question(self) -> str:
        arm = re.sub(r"[\"'\\]", "", self.arm)
        words = (
            f"{arm[0].upper()}{arm[1:]} is {self.role}. At each step every change that is left is "
            f"tried on validation and the best is taken; base and steps are then compared by test "
            f"errors, on seeds that chose nothing."
        )
        asked = f"Which of its {len(self.changes)} changes make {arm} of {self.search} what it is?"
        return f"{asked}\n\n{fill(words, _WIDTH)}"

    def _base_text(self) -> Call | Imported:
        changed = (
            {}
            if self.declared_base is None
            else merged(changes_between(self.declared_base, self.base))
        )
        return base_call(self.module, changed) or settings_call(self.base, self.custom_code.parts)


def _fresh(num: int, search_seeds: Sequence[int]) -> tuple[int, ...]:
    """Return unused seeds, starting at the first hundred that has enough of them."""
    blocks = (tuple(range(start, start + num)) for start in count(101, 100))
    return next(block for block in blocks if not {*block} & {*search_seeds})
