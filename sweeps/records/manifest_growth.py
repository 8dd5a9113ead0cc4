"""A manifest that grows line by line: what a plan proposes, stops and chooses while it runs.

The lines are an append-only log beside the manifest that a launch began with. Both together are
the manifest at any time; it is put together only when somebody wants it whole.
"""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell, Stopped
from sweeps.records.manifest_plan import Confirmation, Proposal


class Choice(BaseModel):
    """Arms that a plan has chosen, the best first, and what they are held against."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    arms: tuple[str, ...]
    reference: str | None = None


class ManifestLine(BaseModel):
    """One step of a manifest's growth. Taking a line again changes nothing.

    Attributes:
        arms: New ones, with their cells.
        cells: New ones.
        proposal: Of a search, of the new arm.
        trial_key: Whose trial was stopped.
        stopped: Where.
        choice: Arms that were chosen; in a search the cells are those that confirm them.
        is_unchosen: Whether what a search has chosen is taken back, with its cells.
        is_over: Whether no more cells follow.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    arms: tuple[ManifestArm, ...] = ()
    cells: tuple[ManifestCell, ...] = ()
    proposal: Proposal | None = None
    trial_key: str | None = None
    stopped: Stopped | None = None
    choice: Choice | None = None
    is_unchosen: bool = False
    is_over: bool = False

    def text(self) -> str:
        """Return it as it stands in the log, without a line break."""
        return self.model_dump_json(exclude_defaults=True)


class GrowingManifest:
    """A manifest that takes lines. Each costs the same, however long it is already.

    Attributes:
        arms: By name, in order.
        cells: In order.
        keys: Trial key by place (arm, seed).
    """

    def __init__(self, manifest: Manifest) -> None:
        self._start = manifest
        self._seeds = set(manifest.seeds)
        self._proposals = list(manifest.search.proposals) if manifest.search else []
        self._confirmation: Confirmation | None = (
            manifest.search.confirmation if manifest.search else None
        )
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
        return Choice(arms=again.arms, reference=again.reference)

    @property
    def num_expected(self) -> int:
        """How many cells there will be in the end, at most, as far as it is known."""
        search = self._start.search
        again = self._confirmation
        is_whole = search is None or (
            len(self._proposals) >= search.num_trials and (again is None or again.arms is not None)
        )
        if search is None or is_whole:
            return len(self.cells)
        confirmed = (again.best + 1) * len(again.seeds) if again else 0
        return search.num_trials * len(self._seeds) + confirmed

    def take(self, line: ManifestLine) -> None:
        """Take one more line."""
        if line.is_unchosen:
            self._unchoose()
        if line.choice:
            self._choose(line.choice)
        for arm in line.arms:
            self.arms.setdefault(arm.name, arm)
        self._add(line.cells)
        if line.proposal and line.proposal.number == len(self._proposals):
            self._proposals.append(line.proposal)
        if line.trial_key and line.stopped:
            self._stop(line.trial_key, line.stopped)
        if self._plan and line.is_over:
            self._plan = self._plan.model_copy(update={"is_over": True})

    def cells_of(self, trial_key: str) -> list[ManifestCell]:
        """Return the cells that a trial fills."""
        return [self.cells[index] for index in self._by_key.get(trial_key, ())]

    def manifest(self) -> Manifest:
        """Return it whole; costs as much as it is long."""
        fields: dict[str, Any] = {
            "arms": tuple(self.arms.values()),
            "cells": tuple(self.cells),
            "plan": self._plan,
        }
        if self._start.search:
            search = {"proposals": tuple(self._proposals), "confirmation": self._confirmation}
            fields["search"] = self._start.search.model_copy(update=search)
        return self._start.model_copy(update=fields)

    def _add(self, cells: Iterable[ManifestCell]) -> None:
        for cell in cells:
            place = (cell.arm, cell.seed)
            if place not in self.keys:
                self.keys[place] = cell.trial_key
                self._by_key.setdefault(cell.trial_key, []).append(len(self.cells))
                self.cells.append(cell)

    def _stop(self, trial_key: str, stopped: Stopped) -> None:
        for index in self._by_key.get(trial_key, ()):
            self.cells[index] = self.cells[index].model_copy(update={"stopped": stopped})

    def _choose(self, choice: Choice) -> None:
        if self._plan:
            self._plan = self._plan.model_copy(update={"chosen": choice.arms})
        if self._confirmation:
            self._drop_confirming()
            chosen: dict[str, Any] = {"arms": choice.arms, "reference": choice.reference}
            self._confirmation = self._confirmation.model_copy(update=chosen)

    def _unchoose(self) -> None:
        """Take back what a search has chosen to confirm, with its cells."""
        if self._confirmation:
            nothing: dict[str, Any] = {"arms": None, "reference": None}
            self._confirmation = self._confirmation.model_copy(update=nothing)
            self._drop_confirming()

    def _drop_confirming(self) -> None:
        kept = [cell for cell in self.cells if cell.seed in self._seeds]
        if len(kept) < len(self.cells):
            self.cells, self.keys, self._by_key = [], {}, {}
            self._add(kept)
