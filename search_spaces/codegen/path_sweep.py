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
from search_spaces.codegen.changes import Change, changes_between, flat, named
from search_spaces.codegen.python_text import Call, Imported, settings_call
from search_spaces.codegen.sweep_text import NO_CODE, OwnCode, base_call, seeds_call, sweep_text
from search_spaces.plans.path import Path
from search_spaces.sweep import Sweep
from search_spaces.trial_key import trial_key

_HERE = "search_spaces"


_LONGEST_NAME, _WIDTH = 64, 88


_NUM_SEEDS, _NUM_CHOOSING = 5, 2


@dataclass(frozen=True)
class Ablation:
    """What a path is asked for.

    Attributes:
        search: Its name.
        arm: Of the search: the target.
        role: What the arm is in the search, as the end of a sentence.
        base: As the search was launched with.
        target: The arm's configuration.
        module: Where the named sweep lies; "" where no other file may import it.
        declared: Its base as it stands there, which a launch may have changed.
        taken: Seeds by which the arm was found.
        again: Those on which the search trained its best anew; empty where it did not.
        seeds: Those on which the path is compared; None for those of `again`, else fresh ones.
        name: None for one made of the search's.
        own: The user's own parts that base and target have.
    """

    search: str
    arm: str
    role: str
    base: TrainingConfig
    target: TrainingConfig
    module: str = ""
    declared: TrainingConfig | None = None
    taken: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    seeds: tuple[int, ...] | None = None
    name: str | None = None
    own: OwnCode = field(default=NO_CODE)

    @cached_property
    def changes(self) -> Mapping[str, Change]:
        """What the target changes of the base, by name.

        Raises:
            ValueError: If they are fewer than two, so that there is no order to find.
        """
        changes = named(changes_between(self.base, self.target))
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
        """On which base and steps are compared.

        Raises:
            ValueError: If one of those given has found the arm.
        """
        fresh = self.again or _fresh(_NUM_SEEDS, self.taken)
        if self.seeds is None:
            return fresh
        if found := sorted({*self.seeds} & {*self.taken}):
            raise ValueError(
                f"The seed {found[0]} has found '{self.arm}', which flatters it there: compare on "
                f"others, such as --seeds {','.join(map(str, fresh))}."
            )
        return self.seeds

    @cached_property
    def sweep(self) -> Sweep:
        """The sweep.

        Raises:
            ValueError: In one sentence, if it cannot be.
        """
        return Sweep(
            name=f"{self.search[: _LONGEST_NAME - 5]}_path" if self.name is None else self.name,
            description=f"From the base of {self.search} to {self.arm}, a change at a time.",
            base=self.base,
            plan=Path(changes=self.changes, choosing_seeds=self._choosing_seeds),
            seeds=self.compared_seeds,
            parts=tuple(self.own.parts),
        )

    def keys(self, sweep: Sweep) -> list[str]:
        """Return the trial keys of base and target on each seed, in a sweep of this path."""
        whole = {path: value for change in self.changes.values() for path, value in change.items()}
        target = with_settings(sweep.base, whole, sweep.parts)
        return [trial_key(config, seed) for config in (sweep.base, target) for seed in sweep.seeds]

    def text(self) -> str:
        """Return the text of its file, which gives an equal sweep.

        Raises:
            ValueError: In one sentence, if it cannot be.
        """
        plan = {"changes": self.changes, "choosing_seeds": self._choosing_seeds}
        fields: dict[str, Any] = {
            "name": self.sweep.name,
            "description": self.sweep.description,
            "base": self._base_text(),
            "plan": Call(Imported(_HERE, "Path"), named=plan),
            "seeds": seeds_call(self.sweep.seeds),
        }
        if self.own.parts:
            fields["parts"] = tuple(self.own.parts.values())
        return sweep_text(self._question, Call(Imported(_HERE, "Sweep"), named=fields), self.own)

    @property
    def _choosing_seeds(self) -> tuple[int, ...]:
        return _fresh(_NUM_CHOOSING, (*self.compared_seeds, *self.taken))

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
        changed = {} if self.declared is None else flat(changes_between(self.declared, self.base))
        return base_call(self.module, changed) or settings_call(self.base, self.own.parts)


def _fresh(num: int, taken: Sequence[int]) -> tuple[int, ...]:
    """Return seeds that are none of those taken, from the first hundred that is free."""
    blocks = (tuple(range(start, start + num)) for start in count(101, 100))
    return next(block for block in blocks if not {*block} & {*taken})
