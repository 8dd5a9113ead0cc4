"""A path from one configuration to another, one change at a time, in the order of effect."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from search_spaces.plans.base import Definition, Plan, Seed, each_seed_once
from search_spaces.plans.decisions import (
    DONE,
    WAIT,
    Cell,
    Decision,
    Event,
    Propose,
    Select,
    SlotFree,
)
from search_spaces.plans.known import Known
from search_spaces.plans.objective import losses_compare
from search_spaces.plans.selection import (
    CHOOSING_SEEDS,
    best_of,
    check_seeds_apart,
    has_ended,
    missing,
)
from search_spaces.trial_key import trial_key

_RULES = 1  # raised when a plan with the same fields would decide differently


class Path(Plan):
    """The path from the base to a target, one change at a time.

    At each step every remaining change is tried on top of those taken so far. The best is selected
    by the mean validation error over the choosing seeds. Then the base and each step are trained
    on the sweep's seeds, which selected nothing, and tables show only these trainings: each row
    has the changes of all rows above it and one more; the last row is the target. Finding the
    order of m changes takes about m (m + 1) / 2 x choosing seeds trainings, and the comparison
    (m + 1) x seeds.

    It shows which few changes bring most of the target's improvement. The order is greedy: changes
    that help only together come late, and of changes with the same effect the first takes all.

    Source: Fawcett and Hoos 2016, Analysing differences between algorithm configurations through
    ablation; irace's `ablation()`. Difference: the table is trained on seeds that had no part in
    finding the order.

    Attributes:
        changes: Name -> settings that change together, path -> value: `{"iterations":
            {"model.routing.iterations": 1}}`. All changes together make the target.
        baseline: Name of the base.
        choosing_seeds: Seeds on which changes are tried; none of the sweep's seeds.
    """

    kind: Literal["path"] = "path"
    changes: Annotated[Mapping[str, Mapping[str, Any]], Field(min_length=2, max_length=100)]
    baseline: str = "base"
    choosing_seeds: Annotated[tuple[Seed, ...], Field(min_length=1)] = CHOOSING_SEEDS

    @field_validator("choosing_seeds")
    @classmethod
    def _each_seed_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return each_seed_once(seeds)

    @model_validator(mode="after")
    def _changes_are_apart(self) -> Self:
        owner: dict[str, str] = {}
        for name, settings in self.changes.items():
            for path in settings:
                if owner.setdefault(path, name) != name:
                    raise ValueError(
                        f"'{owner[path]}' and '{name}' both change '{path}': the order would "
                        f"decide which counts. Leave one of them out."
                    )
        return self

    def decide(self, definition: Definition, journal: Known, event: Event) -> Sequence[Decision]:
        """Try the remaining changes and take the best until none is left; then train the path."""
        if not isinstance(event, SlotFree):
            return ()
        taken = self._taken(journal)
        if len(taken) < len(self.changes):
            return self._step(definition, journal, taken)
        arms = self._path(taken)
        cells = [Cell(arm, arms[arm], seed) for seed in definition.arm_seeds for arm in arms]
        missing_cells = self._plain(definition, journal, cells)
        return (Propose(missing_cells),) if missing_cells else (DONE,)

    def baseline_name(self, definition: Definition) -> str:
        """Return the name of the base."""
        return self.baseline

    def manifest_fields(self, definition: Definition) -> dict[str, Any]:
        """Return the seeds on which changes are tried, and the number of cells."""
        num = len(self.changes)
        tried = num * (num + 1) // 2 - 1  # the last is alone, and need not be tried
        num_cells = tried * len(self.choosing_seeds) + (num + 1) * len(definition.arm_seeds)
        plan = {
            "kind": self.kind,
            "definition": self._hash(definition),
            "choosing_seeds": self.choosing_seeds,
            "adds_up": True,
            "num_cells": num_cells,
        }
        return {"plan": plan}

    def check(self, definition: Definition) -> None:
        """Check that seeds do not both select and compare, and that changes can be made alone."""
        check_seeds_apart(definition.arm_seeds, self.choosing_seeds)
        changes = self.changes.values()
        target = {path: value for settings in changes for path, value in settings.items()}
        self.arm(definition, "target", target)
        for name, settings in self.changes.items():
            try:
                arm = self.arm(definition, name, settings)
            except ValueError as error:
                raise ValueError(
                    f"'{name}' cannot be changed alone: {error} What hangs together is one change: "
                    f"give it with the part that it belongs to."
                ) from error
            if arm.config == definition.base:
                raise ValueError(f"'{name}' changes nothing of the base: leave it out.")

    def check_more_seeds(self) -> None:
        """Raise the error: the order is found by then."""
        raise ValueError(
            "A path gets no more seeds once it was launched: list all of them in Sweep(seeds=...) "
            "under another name (--name NEW); what is trained is found again."
        )

    def _taken(self, known: Known) -> list[str]:
        """Return the changes on the path so far, in order."""
        steps = known.chosen.arms if known.chosen else ()
        return [step.partition(": ")[2] for step in steps]

    def _step(
        self, definition: Definition, known: Known, taken: Sequence[str]
    ) -> Sequence[Decision]:
        arms = dict(self._tries(taken))
        before = tuple(self._path(taken))[1:]
        if len(arms) == 1:
            return (Select((*before, *arms)),)
        cells = [Cell(arm, arms[arm], seed) for seed in self.choosing_seeds for arm in arms]
        if not taken:
            seeds = definition.arm_seeds
            cells = [*(Cell(self.baseline, {}, seed) for seed in seeds), *cells]
        if missing_cells := self._plain(definition, known, cells):
            return (Propose(missing_cells),)
        if not has_ended(known, [cell for cell in cells if cell.arm in arms]):
            return (WAIT,)
        paths = [path for name in self._remaining(taken) for path in self.changes[name]]
        best = best_of(known, [*arms], self.choosing_seeds, by_loss=losses_compare(paths))
        return (Select((*before, best)),)

    def _remaining(self, taken: Sequence[str]) -> list[str]:
        return [name for name in self.changes if name not in taken]

    def _tries(self, taken: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield an arm for each remaining change on top of those taken."""
        settings = self._settings(taken)
        for name in self._remaining(taken):
            yield f"step {len(taken) + 1}: {name}", {**settings, **self.changes[name]}

    def _path(self, taken: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the base and each step, with all its changes."""
        steps = {
            f"step {place}: {name}": self._settings(taken[:place])
            for place, name in enumerate(taken, start=1)
        }
        return {self.baseline: {}, **steps}

    def _settings(self, names: Sequence[str]) -> dict[str, Any]:
        return {path: value for name in names for path, value in self.changes[name].items()}

    def _plain(
        self, definition: Definition, known: Known, cells: Sequence[Cell]
    ) -> tuple[Cell, ...]:
        """Return the cells that were not proposed yet, with settings as plain values."""
        missing_cells = missing(known, cells)
        settings = {cell.arm: cell.settings for cell in missing_cells}
        plain = {arm: self.arm(definition, arm, settings[arm]).changes for arm in settings}
        return tuple(Cell(cell.arm, plain[cell.arm], cell.seed) for cell in missing_cells)

    def _hash(self, definition: Definition) -> str:
        arms = dict(self._tries(()))
        configs = {arm: self.arm(definition, arm, arms[arm]).config for arm in arms}
        keys = [
            [arm, trial_key(configs[arm], seed)] for arm in arms for seed in self.choosing_seeds
        ]
        decisive = [self.kind, _RULES, self.baseline, definition.arm_seeds, keys]
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:20]
