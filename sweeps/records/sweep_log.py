"""The log of a sweep: its definition and every decision of its plan, one line of JSON each.

The log is the one truth about a sweep. Its manifest is a fold of it, and so is what a plan knows. A
design that declares all its cells has a log of one line. Each line carries a checksum of its entry:

    {"sum":"8a1f03c2","entry":{"type":"declared","manifest":{...}}}

A crash can tear the last line only: its decision has not taken effect, so the line does not count.
Any other damage is an error.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationInfo,
    field_serializer,
    field_validator,
)

from capsmodel.settings.parts import later
from search_spaces.looks import Looked
from search_spaces.plans.decisions import (
    Continue,
    Decision,
    Done,
    EndSearch,
    LogCut,
    Measured,
    Pause,
    Propose,
    ProposeRandom,
    Select,
    Stop,
    Unselect,
    WarmStart,
)
from sweeps.records.bounds import MOST_ARMS, MOST_CELLS, Count, Seconds, Whole
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell, Stopped
from sweeps.records.manifest_plan import (
    Confirmation,
    Ended,
    Line,
    ManifestSearch,
    ManifestWarmStart,
    Proposal,
)
from sweeps.records.trial_record import TrialKey

_KINDS: dict[type[Decision], str] = {
    Propose: "propose",
    ProposeRandom: "propose_random",
    Stop: "stop",
    Pause: "pause",
    Continue: "continue",
    Measured: "measured",
    WarmStart: "warm_start",
    EndSearch: "end_search",
    Select: "select",
    Unselect: "unselect",
    LogCut: "log_cut",
    Looked: "looked",
    Done: "done",
}
_ADAPTERS = {kind: TypeAdapter[Any](decision) for decision, kind in _KINDS.items()}
_PREFIX = b'{"sum":"'
_MIDDLE = b'","entry":'
_START = len(_PREFIX) + 8 + len(_MIDDLE)  # of an entry in its line


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Declared(_Entry):
    """A sweep as a launch declares it; what its plan has decided before stays in force.

    Attributes:
        manifest: Without anything that its plan decides.
        question: The question that a selection of its plan answers.
        starts_over: Whether earlier decisions of the same plan are void, as all is trained again.
    """

    type: Literal["declared"] = "declared"
    manifest: Manifest
    question: Line = ""
    starts_over: bool = False


class Decided(_Entry):
    """A decision of a sweep's plan, with the arms and cells that it adds.

    Attributes:
        kind: Which decision it is.
        decision: The decision.
        arms: Arms that are new with it.
        cells: Cells that are new with it; of a selection those in which arms are confirmed.
    """

    type: Literal["decided"] = "decided"
    kind: Line
    decision: Any
    arms: Annotated[tuple[ManifestArm, ...], Field(max_length=MOST_ARMS)] = ()
    cells: Annotated[tuple[ManifestCell, ...], Field(max_length=MOST_CELLS)] = ()

    @field_validator("decision", mode="before")
    @classmethod
    def _of_its_kind(cls, decision: Any, info: ValidationInfo) -> Any:
        kind = info.data.get("kind", "")
        if kind not in _ADAPTERS:
            raise ValueError(f"there is no decision {kind!r}")
        decision = _ADAPTERS[kind].validate_python(decision)
        if isinstance(decision, Propose) and not decision.cells:
            raise ValueError("a proposal has no cells")
        return decision

    @field_serializer("decision")
    def _as_dict(self, decision: Any) -> dict[str, Any]:
        return asdict(decision)

    @property
    def subject(self) -> object:
        """What it is about, to merge logs that have parted: the first about a subject counts."""
        match self.decision:
            case ProposeRandom(cells):
                return self.kind, self.decision.random_seed, cells[0].place
            case Propose(cells):
                return self.kind, tuple(cell.place for cell in cells)
            case Stop() | Continue():
                return "judged", self.decision.trial_key, self.decision.epoch
            case Pause() | Measured():
                return self.kind, self.decision.trial_key, self.decision.epoch
            case EndSearch():
                return self.kind, self.decision.until, self.decision.num_proposals
            case LogCut() | Select():
                return self.kind, self.decision
            case Looked():
                return self.kind, self.decision.num_seeds, *sorted(self.decision.verdicts)
            case _:
                return self.kind


class LaunchStarted(_Entry):
    """A launch from this storage folder has started.

    Attributes:
        at: Seconds since 1970.
        num_cells: Cells that it set out to train.
        words: Those of its command after the program's name, without passwords; none where Python
            code launched it.
        folder: Where the command was given.
    """

    type: Literal["launch_started"] = "launch_started"
    at: Seconds
    num_cells: Count
    words: tuple[str, ...] = later(())
    folder: str = later("")


class LaunchEnded(_Entry):
    """The last launch has ended."""

    type: Literal["launch_ended"] = "launch_ended"
    at: Seconds
    exit_code: Whole


class TrialNoted(_Entry):
    """What happened to a trial here: dispatched, started, restarted, paused, ended.

    Attributes:
        at: Seconds since 1970.
        event: What happened.
        detail: More about it, "" for nothing.
    """

    type: Literal["trial"] = "trial"
    at: Seconds
    trial_key: TrialKey
    event: Line
    detail: str = ""


Entry = Declared | Decided | LaunchStarted | LaunchEnded | TrialNoted
_ENTRY = TypeAdapter[Entry](Annotated[Entry, Field(discriminator="type")])


def decided(
    decision: Decision,
    arms: Iterable[ManifestArm] = (),
    cells: Iterable[ManifestCell] = (),
) -> Decided:
    """Return the entry of a decision, with the arms and cells that are new with it."""
    return Decided.model_construct(
        kind=_KINDS[type(decision)], decision=decision, arms=tuple(arms), cells=tuple(cells)
    )


def line_of(entry: Entry) -> bytes:
    """Return the line of an entry, with its line end."""
    text = entry.model_dump_json().encode()
    return _PREFIX + _checksum(text) + _MIDDLE + text + b"}\n"


def text_of(entries: Iterable[Entry]) -> bytes:
    """Return the lines of a log."""
    return b"".join(map(line_of, entries))


class LogLines:
    """The lines of a log, checked but not read.

    Args:
        content: What the file of the log holds.

    Attributes:
        lines: The lines without their line ends.
        num_bytes: Their length with them: what follows is torn.

    Raises:
        ValueError: If a line is damaged, other than by tearing off the end of the last one.
    """

    def __init__(self, content: bytes) -> None:
        self.lines: list[bytes] = []
        self.num_bytes = 0
        for line in content.split(b"\n"):
            is_last = self.num_bytes + len(line) == len(content)
            if is_last and _PREFIX.startswith(line[: len(_PREFIX)]):
                return  # torn by a crash, or empty after the last line end
            if not _is_intact(line):
                raise ValueError(f"line {len(self.lines) + 1} is not as it was written")
            self.lines.append(line)
            self.num_bytes += len(line) + 1

    def shared(self) -> bytes:
        """Return the part that the tracking store holds too: definition and decisions."""
        heads = (b'{"type":"declared"', b'{"type":"decided"')
        return b"".join(line + b"\n" for line in self.lines if line.startswith(heads, _START))

    def entries(self, *types: str) -> list[Entry]:
        """Return the entries, of some types or all.

        Raises:
            ValueError: If one of them is not valid.
        """
        heads = tuple(f'{{"type":"{entry_type}"'.encode() for entry_type in types) or (b"",)
        lines = (line for line in self.lines if line.startswith(heads, _START))
        return [_ENTRY.validate_json(line[_START:-1]) for line in lines]


def entries_of(content: bytes) -> list[Entry]:
    """Return the entries of a log, without those of a torn last line.

    Raises:
        ValueError: If a line is damaged, or an entry is not valid.
    """
    return LogLines(content).entries()


def intact_part(content: bytes) -> bytes:
    """Return the lines of a damaged log before the damage."""
    num_bytes = 0
    for line in content.split(b"\n")[:-1]:
        try:
            LogLines(line + b"\n").entries()
        except (ValueError, RecursionError):
            break
        num_bytes += len(line) + 1
    return content[:num_bytes]


def declared_last(entries: Sequence[Entry]) -> Declared | None:
    """Return the sweep as its last launch declared it, None if none did."""
    return next((entry for entry in reversed(entries) if isinstance(entry, Declared)), None)


def decisions_under(
    plan: str | None, entries: Iterable[Entry], *, with_void: bool = False
) -> list[Decided]:
    """Return the decisions of a plan, in order.

    Args:
        plan: Hash of all that determines its decisions: `Manifest.decided_by`.
        entries: The entries of a log; decisions of other plans are left out.
        with_void: Whether to return those too that are void since the plan has started over.
    """
    decisions: list[Decided] = []
    current: str | None = None
    for entry in entries:
        if isinstance(entry, Declared):
            current = entry.manifest.decided_by
            if entry.starts_over and current == plan and not with_void:
                decisions.clear()
        elif isinstance(entry, Decided) and current == plan:
            decisions.append(entry)
    return decisions


def starts_of(plan: str | None, entries: Iterable[Entry]) -> int:
    """Return how often a plan has started over by a log."""
    declared = (entry for entry in entries if isinstance(entry, Declared) and entry.starts_over)
    return sum(entry.manifest.decided_by == plan for entry in declared)


def manifest_of(entries: Sequence[Entry]) -> Manifest | None:
    """Return the manifest that a log comes to, None if it declares nothing.

    Raises:
        ValueError: If the entries do not fit together.
    """
    declared = declared_last(entries)
    if declared is None:
        return None
    fold = ManifestFold(declared.manifest, declared.question)
    for entry in decisions_under(declared.manifest.decided_by, entries):
        fold.take(entry)
    return fold.manifest(is_checked=True)


class ManifestFold:
    """The fold of a log to a manifest. Each decision costs the same, however long the log is.

    Args:
        manifest: The manifest as declared, or with decisions in it.
        question: The question that a selection has to answer to be in force.

    Attributes:
        arms: By name, in order.
        cells: In order.
        keys: Trial key by place (arm, seed).
        ended: Why a search proposes no more, None where it may.
        selected: The selection in force, None if there is none yet.
    """

    def __init__(self, manifest: Manifest, question: str = "") -> None:
        self._declared = manifest
        self._question = question
        self._seeds = set(manifest.seeds)
        self._search: ManifestSearch | None = manifest.search
        self._plan = manifest.plan
        self._proposals = list(manifest.search.proposals) if manifest.search else []
        self._measured = dict(manifest.search.measured) if manifest.search else {}
        self._confirmation: Confirmation | None = (
            manifest.search.confirmation if manifest.search else None
        )
        self.ended: Ended | None = manifest.search.ended if manifest.search else None
        self.selected = _selected(manifest, question)
        self._drawn = {proposal.arm for proposal in manifest.drawn}
        self._stops = {cell.trial_key: cell.stopped for cell in manifest.cells if cell.stopped}
        self.arms: dict[str, ManifestArm] = {arm.name: arm for arm in manifest.arms}
        self.cells: list[ManifestCell] = []
        self.keys: dict[tuple[str, int], str] = {}
        self._by_key: dict[str, list[int]] = {}
        self._add(manifest.cells)
        self._takes: dict[type[Decision], Callable[[Decided], bool]] = {
            Propose: self._propose,
            ProposeRandom: self._propose_random,
            Stop: self._stop,
            Measured: self._measure,
            WarmStart: self._warm_start,
            EndSearch: self._end_search,
            Select: self._select,
            Unselect: self._unselect,
            LogCut: self._log_cut,
            Looked: self._looked,
            Done: self._done,
        }

    @property
    def num_proposals(self) -> int:
        """How many a search has made."""
        return len(self._proposals)

    @property
    def num_drawn(self) -> int:
        """How many random points a search is compared with so far."""
        return len(self._drawn)

    @property
    def num_expected(self) -> int:
        """How many cells there will be in the end, at most, as far as it is known."""
        confirmation = self._confirmation
        if self._search is None:
            is_growing = self._plan is not None and not self._plan.ends_with(self._compared)
            most = self._plan.num_cells if self._plan and is_growing else 0
            return max(len(self.cells), most)
        num_asked = len(self._proposals) if self.ended else self._search.num_trials
        if len(self._proposals) >= num_asked and (
            confirmation is None or confirmation.arms is not None
        ):
            return len(self.cells)
        num_points, num_seeds = num_asked + bool(self._search.base), len(self._seeds)
        confirmed = confirmation.num_cells(num_points, num_seeds) if confirmation else 0
        return max(len(self.cells), num_points * num_seeds + confirmed)

    @property
    def _compared(self) -> list[str]:
        return [name for name in self.arms if name != self._declared.baseline]

    def cells_of(self, trial_key: str) -> list[ManifestCell]:
        """Return the cells that a trial fills."""
        return [self.cells[index] for index in self._by_key.get(trial_key, ())]

    def take(self, entry: Decided) -> bool:
        """Apply a decision; return whether it is in force for the sweep as declared.

        A proposal beyond the declared number is not, nor a selection that answers another question.
        """
        take = self._takes.get(type(entry.decision))
        return take is None or take(entry)

    def manifest(self, *, is_checked: bool = False) -> Manifest:
        """Return it whole; costs as much as it is long.

        Args:
            is_checked: Whether to check that it is valid, as for a log of somebody else.

        Raises:
            ValueError: If it is checked and not valid.
        """
        # whenever they were drawn, random points stand behind all proposals, what chose them last
        fields: dict[str, Any] = {
            "arms": tuple(sorted(self.arms.values(), key=lambda arm: arm.name in self._drawn)),
            "cells": tuple(sorted(self.cells, key=self._part)),
            "plan": self._plan,
        }
        if self._search:
            search = {
                "proposals": tuple(self._proposals),
                "confirmation": self._confirmation,
                "ended": self.ended,
                "measured": dict(self._measured),
            }
            fields["search"] = self._search.model_copy(update=search)
        manifest = self._declared.model_copy(update=fields)
        if is_checked:
            Manifest.model_validate(
                {name: getattr(manifest, name) for name in Manifest.model_fields}
            )
        return manifest

    def _part(self, cell: ManifestCell) -> int:
        """Return the part of a search that a cell belongs to: proposals, random, confirmation."""
        if self._search is None:
            return 0
        return 2 if cell.seed not in self._seeds else int(cell.arm in self._drawn)

    def _propose(self, entry: Decided) -> bool:
        cells = entry.decision.cells
        if self._search:
            if cells[0].place in self.keys or self.num_proposals >= self._search.num_trials:
                return False
            self._proposals.append(_numbered(self.num_proposals, entry))
            self.ended = None  # it has gone on after an end of other conditions
        self._add_new(entry)
        return True

    def _propose_random(self, entry: Decided) -> bool:
        """Add a random point that a search is compared with, if it still declares that."""
        cells, random_seed = entry.decision.cells, entry.decision.random_seed
        random = self._confirmation and self._confirmation.random
        if not self._confirmation or not random or random.seed != random_seed:
            return False
        if cells[0].place in self.keys:
            return False
        self._drawn.add(cells[0].arm)
        draws = (*random.draws, _numbered(len(random.draws), entry))
        random = random.model_copy(update={"draws": draws})
        self._confirmation = self._confirmation.model_copy(update={"random": random})
        self._add_new(entry)
        return True

    def _add_new(self, entry: Decided) -> None:
        for arm in entry.arms:
            self.arms.setdefault(arm.name, arm)
        self._add(map(self._marked, entry.cells))

    def _add(self, cells: Iterable[ManifestCell]) -> None:
        for cell in cells:
            place = (cell.arm, cell.seed)
            if place not in self.keys:
                self.keys[place] = cell.trial_key
                self._by_key.setdefault(cell.trial_key, []).append(len(self.cells))
                self.cells.append(cell)

    def _marked(self, cell: ManifestCell) -> ManifestCell:
        """Return a cell with where its trial was stopped; random points run to full length."""
        stopped = self._stops.get(cell.trial_key)
        if stopped is None or cell.arm in self._drawn:
            return cell
        return cell.model_copy(update={"stopped": stopped})

    def _stop(self, entry: Decided) -> bool:
        stop: Stop = entry.decision
        stopped = self._stops[stop.trial_key] = Stopped(epoch=stop.epoch, value=stop.value)
        for index in self._by_key.get(stop.trial_key, ()):
            if self.cells[index].arm not in self._drawn:
                self.cells[index] = self.cells[index].model_copy(update={"stopped": stopped})
        return True

    def _measure(self, entry: Decided) -> bool:
        measured: Measured = entry.decision
        self._measured[measured.trial_key] = dict(measured.values)
        return True

    def _warm_start(self, entry: Decided) -> bool:
        begun: WarmStart = entry.decision
        if self._search:
            warm = ManifestWarmStart(
                sweep=begun.sweep,
                points=tuple(map(dict, begun.points)),
                num_fitting=begun.num_fitting,
            )
            self._search = self._search.model_copy(update={"warm_start": warm})
        return True

    def _end_search(self, entry: Decided) -> bool:
        end: EndSearch = entry.decision
        asked = self._search and (self._search.until, self.num_proposals)
        if asked != (end.until, end.num_proposals):
            return False
        self.ended = Ended(reason=end.reason, until=end.until)
        return True

    def _log_cut(self, entry: Decided) -> bool:
        if self._search:
            cut_at = (*self._search.cut_at, entry.decision.num_proposals)
            self._search = self._search.model_copy(update={"cut_at": cut_at})
        return True

    def _done(self, entry: Decided) -> bool:
        del entry
        if self._plan:
            self._plan = self._plan.model_copy(update={"is_over": True})
        return True

    def _looked(self, entry: Decided) -> bool:
        if self._plan:
            looked = (*self._plan.looked, entry.decision)
            self._plan = self._plan.model_copy(update={"looked": looked})
        return True

    def _select(self, entry: Decided) -> bool:
        select: Select = entry.decision
        if select.question != self._question:
            return False
        self.selected = select
        if self._plan:
            self._plan = self._plan.model_copy(update={"chosen": select.arms})
        if self._confirmation:
            self._drop_confirming()
            self._confirm(select.arms, select.reference, select.random)
            self._add(entry.cells)
        return True

    def _unselect(self, entry: Decided) -> bool:
        """Take back what a search has selected, with the cells in which that is confirmed."""
        del entry
        if self._confirmation:
            self.selected = None
            self._confirm(None, None, None)
            self._drop_confirming()
        return True

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
            for content in (self.cells, self.keys, self._by_key):
                content.clear()  # in place: others hold them
            self._add(kept)


def _selected(manifest: Manifest, question: str) -> Select | None:
    """Return the selection that a manifest has in it."""
    if manifest.plan and manifest.plan.chosen is not None:
        return Select(manifest.plan.chosen, question=question)
    confirmation = manifest.search.confirmation if manifest.search else None
    if confirmation is None or confirmation.arms is None:
        return None
    best = confirmation.random.best if confirmation.random else None
    return Select(confirmation.arms, confirmation.reference, question, best)


def _numbered(number: int, entry: Decided) -> Proposal:
    cell = entry.decision.cells[0]
    return Proposal(number=number, arm=cell.arm, params=dict(cell.settings))


def _checksum(text: bytes) -> bytes:
    return f"{zlib.crc32(text):08x}".encode()


def _is_intact(line: bytes) -> bool:
    text = line[_START:-1]
    return line == _PREFIX + _checksum(text) + _MIDDLE + text + b"}"
