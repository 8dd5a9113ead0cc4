"""A manifest that grows line by line: what a plan proposes, stops and chooses while it runs.

The lines are an append-only log beside the manifest that a launch began with. Both together are
the manifest at any time; it is put together only when somebody wants it whole.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell, Stopped
from sweeps.records.manifest_plan import Confirmation, Ended, Proposal


class Choice(BaseModel):
    """Arms that a plan has chosen, the best first, and what they are held against."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arms: tuple[str, ...]
    reference: str | None = None
    random: str | None = None


class ManifestLine(BaseModel):
    """One step of a manifest's growth. Taking a line again changes nothing.

    Attributes:
        arms: New ones, with their cells.
        cells: New ones.
        proposal: In a search, the proposal of the new arm.
        drawn: If the new arm is a random point that a search is compared with, that point.
        trial_key: Whose trial was stopped.
        stopped: Where.
        choice: Arms that were chosen; in a search the cells are those that confirm them.
        is_unchosen: Whether what a search has chosen is taken back, with its cells.
        is_over: Whether no more cells follow.
        ended: Why a search proposes no more.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    arms: tuple[ManifestArm, ...] = ()
    cells: tuple[ManifestCell, ...] = ()
    proposal: Proposal | None = None
    drawn: Proposal | None = None
    trial_key: str | None = None
    stopped: Stopped | None = None
    choice: Choice | None = None
    is_unchosen: bool = False
    is_over: bool = False
    ended: Ended | None = None

    def text(self) -> str:
        """Return it as it stands in the log, without a line break."""
        return self.model_dump_json(exclude_defaults=True)


class GrowingManifest:
    """A manifest that takes lines. Each costs the same, however long it is already.

    Attributes:
        arms: By name, in order.
        cells: In order.
        keys: Trial key by place (arm, seed).
        ended: Why a search proposes no more, None where it may.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._start = manifest
        self._seeds = set(manifest.seeds)
        self._proposals = list(manifest.search.proposals) if manifest.search else []
        self._confirmation: Confirmation | None = (
            manifest.search.confirmation if manifest.search else None
        )
        self.ended: Ended | None = manifest.search.ended if manifest.search else None
        self._drawn = {one.arm for one in manifest.drawn}
        self._plan = manifest.plan
        self.arms: dict[str, ManifestArm] = {arm.name: arm for arm in manifest.arms}
        self.cells: list[ManifestCell] = []
        self.keys: dict[tuple[str, int], str] = {}
        self._by_key: dict[str, list[int]] = {}
        self._add(manifest.cells)

    @property
    def num_proposals(self) -> int:
        """How many a search has made."""
        return len(self._proposals)

    @property
    def choice(self) -> Choice | None:
        """What is chosen, None where nothing is yet."""
        if self._plan and self._plan.chosen is not None:
            return Choice(arms=self._plan.chosen)
        again = self._confirmation
        if again is None or again.arms is None:
            return None
        best = again.random.best if again.random else None
        return Choice(arms=again.arms, reference=again.reference, random=best)

    @property
    def num_drawn(self) -> int:
        """How many random points a search is held against so far."""
        return len(self._drawn)

    @property
    def num_expected(self) -> int:
        """How many cells there will be in the end, at most, as far as it is known."""
        search = self._start.search
        again = self._confirmation
        if search is None:
            is_growing = self._plan is not None and not self._plan.is_over
            most = self._plan.num_cells if self._plan and is_growing else 0
            return max(len(self.cells), most)
        num_asked = len(self._proposals) if self.ended else search.num_trials
        if len(self._proposals) >= num_asked and (again is None or again.arms is not None):
            return len(self.cells)
        num_points, num_seeds = num_asked + bool(search.base), len(self._seeds)
        confirmed = again.num_cells(num_points, num_seeds) if again else 0
        return max(len(self.cells), num_points * num_seeds + confirmed)

    def take(self, line: ManifestLine) -> None:
        """Take one more line."""
        if line.is_unchosen:
            self._unchoose()
        if line.choice:
            self._choose(line.choice)
        for arm in line.arms:
            self.arms.setdefault(arm.name, arm)
        self._add(line.cells)
        self._number(line)
        if line.ended:
            self.ended = line.ended
        if line.trial_key and line.stopped:
            self._stop(line.trial_key, line.stopped)
        if self._plan and line.is_over:
            self._plan = self._plan.model_copy(update={"is_over": True})

    def cells_of(self, trial_key: str) -> list[ManifestCell]:
        """Return the cells that a trial fills."""
        return [self.cells[index] for index in self._by_key.get(trial_key, ())]

    def manifest(self) -> Manifest:
        """Return it whole; costs as much as it is long."""
        # whenever they were drawn, random points stand behind all proposals, what chose them last
        fields: dict[str, Any] = {
            "arms": tuple(sorted(self.arms.values(), key=lambda arm: arm.name in self._drawn)),
            "cells": tuple(sorted(self.cells, key=self._part)),
            "plan": self._plan,
        }
        if self._start.search:
            search = {
                "proposals": tuple(self._proposals),
                "confirmation": self._confirmation,
                "ended": self.ended,
            }
            fields["search"] = self._start.search.model_copy(update=search)
        return self._start.model_copy(update=fields)

    def _part(self, cell: ManifestCell) -> int:
        """Return the part of a search that a cell belongs to: proposals, random, confirmation."""
        if self._start.search is None:
            return 0
        return 2 if cell.seed not in self._seeds else int(cell.arm in self._drawn)

    def _number(self, line: ManifestLine) -> None:
        """Take a proposal, or a random point that a search is held against, in its place."""
        if line.proposal and line.proposal.number == len(self._proposals):
            self._proposals.append(line.proposal)
        random, drawn = self._confirmation and self._confirmation.random, line.drawn
        if self._confirmation and random and drawn and drawn.number == len(random.draws):
            self._drawn.add(drawn.arm)
            random = random.model_copy(update={"draws": (*random.draws, drawn)})
            self._confirmation = self._confirmation.model_copy(update={"random": random})

    def _add(self, cells: Iterable[ManifestCell]) -> None:
        for cell in cells:
            place = (cell.arm, cell.seed)
            if place not in self.keys:
                self.keys[place] = cell.trial_key
                self._by_key.setdefault(cell.trial_key, []).append(len(self.cells))
                self.cells.append(cell)

    def _stop(self, trial_key: str, stopped: Stopped) -> None:
        for index in self._by_key.get(trial_key, ()):
            if self.cells[index].arm not in self._drawn:  # these are trained to their full length
                self.cells[index] = self.cells[index].model_copy(update={"stopped": stopped})

    def _choose(self, choice: Choice) -> None:
        if self._plan:
            self._plan = self._plan.model_copy(update={"chosen": choice.arms})
        if self._confirmation:
            self._drop_confirming()
            self._confirm(choice.arms, choice.reference, choice.random)

    def _unchoose(self) -> None:
        """Take back what a search has chosen to confirm, with its cells."""
        if self._confirmation:
            self._confirm(None, None, None)
            self._drop_confirming()

    def _confirm(
        self, arms: tuple[str, ...] | None, reference: str | None, random: str | None
    ) -> None:
        assert self._confirmation
        drawn = self._confirmation.random
        if drawn:
            drawn = drawn.model_copy(update={"best": random})
        chosen = {"arms": arms, "reference": reference, "random": drawn}
        self._confirmation = self._confirmation.model_copy(update=chosen)

    def _drop_confirming(self) -> None:
        kept = [cell for cell in self.cells if cell.seed in self._seeds]
        if len(kept) < len(self.cells):
            self.cells, self.keys, self._by_key = [], {}, {}
            self._add(kept)
