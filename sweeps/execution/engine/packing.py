"""Packing: which GPU of this machine a trial is trained on, by the memory that it needs.

What a trial needs is measured once for each shape of configuration. The first trial of a shape gets
all that is free of a card, at least half of it, until its first epoch has shown its peak; then as
many share the card as fit. What is measured stays in the storage folder. A trial that runs out of
memory shows that its shape needs more: the peak is doubled until another one has ended well.

The peak of a shape is the largest on any card. Cards differ in it by little, and a trial that needs
more elsewhere shows it; to measure each shape on each kind of card would cost more than that saves.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from sweeps.execution.engine.cards import Card
from sweeps.execution.engine.placement import OnCard
from sweeps.records.trial_record import Json
from sweeps.storage.appended import append_whole
from sweeps.storage.folder import Folder

CONTEXT_BYTES = 640 * 2**20
"""What a process takes of a card before it allocates anything: CUDA's context and kernels."""
MARGIN = 1.1
"""Each trial gets so many times its peak, as peaks differ a little and memory is fragmented."""
_FIRST_MARGIN = 1.5  # for the first trial of a shape, which alone may take more than it is given
_LEAST_FREE = 0.5  # of a card, for the first trial of a shape
_MOST_FILE_BYTES = 2**26
_NO_SHAPE = frozenset({"stopping"})


def shape_of(config: Json, *, checkpointing: bool = False) -> str:
    """Return what decides the memory of a training: its settings but for real numbers.

    Sizes, depths and kinds decide it; rates, margins and weights, and when it stops, do not.

    Args:
        config: Settings of the training.
        checkpointing: Whether activations are computed anew instead of held.
    """
    kept = {name: value for name, value in config.items() if name not in _NO_SHAPE}
    text = json.dumps([_without_reals(kept), checkpointing], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _without_reals(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _without_reals(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_reals(inner) for inner in value]
    return None if isinstance(value, float) else value


class ShapePeak(BaseModel):
    """A line of the file: the most memory that trials of a shape have held of a card."""

    model_config = ConfigDict(frozen=True, extra="ignore")  # older versions also wrote which card

    shape: str
    peak_bytes: int


class MemoryNeeds:
    """What trials of each shape need, remembered in a file that launches add to.

    Args:
        path: The file, which need not exist; None remembers nothing.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._peaks: dict[str, int] = {}  # by shape
        self._bounds: dict[str, int] = {}  # by trials that ran out of memory since
        for peak in _read(path) if path else ():
            self._remember(peak)

    def peak(self, shape: str) -> int | None:
        """Return the bytes that a trial needs; None if that is not known."""
        return max(self._peaks.get(shape, 0), self._bounds.get(shape, 0)) or None

    def observe(self, shape: str, peak_bytes: int) -> None:
        """Take the peak of a trial that runs, or has run to its end."""
        if peak_bytes > self._peaks.get(shape, 0):
            peak = ShapePeak(shape=shape, peak_bytes=peak_bytes)
            self._remember(peak)
            if self._path:
                _append(self._path, peak)

    def got_further(self, shape: str) -> None:
        """Record that a trial passed the point where others ran out: its peak is what it needs."""
        self._bounds.pop(shape, None)

    def ran_out(self, shape: str, usable_bytes: int) -> None:
        """Double what a shape needs, as one of its trials ran out of memory.

        Args:
            shape: The shape.
            usable_bytes: Of the card, that the trial could use.
        """
        bound = int(2 * (usable_bytes - CONTEXT_BYTES) / MARGIN)
        self._bounds[shape] = max(self._bounds.get(shape, 0), bound)

    def _remember(self, peak: ShapePeak) -> None:
        self._peaks[peak.shape] = max(self._peaks.get(peak.shape, 0), peak.peak_bytes)


def _read(path: Path) -> list[ShapePeak]:
    """Return the peaks of a file; what is torn or a stranger's is left out."""
    try:
        lines = Folder(path.parent).read(path.name, _MOST_FILE_BYTES).splitlines()
    except (OSError, ValueError):
        return []
    peaks: list[ShapePeak] = []
    for line in lines:
        try:
            peaks.append(ShapePeak.model_validate_json(line))
        except ValidationError:
            continue
    return peaks


def _append(path: Path, peak: ShapePeak) -> None:
    """Add a peak to the file; without room for it the next launch measures anew."""
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptor = Folder(path.parent).open(path.name, flags)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            append_whole(file, f"{peak.model_dump_json()}\n".encode())
    except (OSError, ValueError):
        return


class Wanted(NamedTuple):
    """A trial that waits for a card.

    Attributes:
        trial_key: Its key.
        shape: Of its configuration.
        is_alone: Whether it is to have a card to itself.
        is_retry: Whether it ran out of a GPU's memory before.
        has_waited: Whether many that came later were placed before it.
    """

    trial_key: str
    shape: str
    is_alone: bool = False
    is_retry: bool = False
    has_waited: bool = False


class Choice(NamedTuple):
    """Which of the trials that wait is placed, and on which card; None where nothing is packed."""

    place: int
    card: int | None = None


@dataclass
class _Running:
    """A trial on a card, and how many bytes of it are its own."""

    wanted: Wanted
    card: int
    began_with: int
    num_bytes: int
    had_all: bool  # that was free, until its peak was known
    is_measured: bool


class CardPacker:
    """The cards of this machine, and which trials run on each.

    Args:
        cards: At least one.
        needs: What trials need.
        checkpointing: Whether the launch computes activations anew.
    """

    def __init__(
        self, cards: Sequence[Card], needs: MemoryNeeds, *, checkpointing: bool = False
    ) -> None:
        self.cards = tuple(cards)
        self._needs = needs
        self._checkpointing = checkpointing
        self._running: dict[str, _Running] = {}
        self._shapes: dict[str, str] = {}
        self._largest = max(card.free_bytes for card in self.cards)

    def shape(self, trial_key: str, config: Json) -> str:
        """Return the shape of a trial's configuration in this launch."""
        if trial_key not in self._shapes:
            self._shapes[trial_key] = shape_of(config, checkpointing=self._checkpointing)
        return self._shapes[trial_key]

    def choose(self, waiting: Sequence[Wanted]) -> Choice | None:
        """Return the trial that comes next and its card, None if no card has room for any.

        It is the first one whose shape has yet to be measured, or else the first one that a card
        has room for. A shape is measured on one card at a time, unless nothing else can be placed.

        Args:
            waiting: In the order in which they are to come.
        """
        for may_repeat in (False, True):
            if choices := self._fitting(waiting, may_repeat=may_repeat):
                shapes = [waiting[choice.place].shape for choice in choices]
                measured = [self._known_need(shape) is not None for shape in shapes]
                return choices[measured.index(False) if False in measured else 0]
        return None

    def _fitting(self, waiting: Sequence[Wanted], *, may_repeat: bool) -> list[Choice]:
        """Return where the first trial of each shape fits.

        One that has waited long keeps the card that lacks least for it free of later ones.
        """
        kept: int | None = None
        seen, choices = set[tuple[str, bool]](), list[Choice]()
        for place, wanted in enumerate(waiting):
            if (like := (wanted.shape, wanted.is_alone)) in seen:
                continue
            seen.add(like)
            card = self._best_card(wanted, kept, may_repeat=may_repeat)
            if card is not None:
                choices.append(Choice(place, card))
            elif wanted.has_waited and kept is None:
                kept = self._nearest(wanted)
        return choices

    def give(self, wanted: Wanted, place: int) -> OnCard:
        """Give a trial its part of a card."""
        card, is_known = self.cards[place], self._known_need(wanted.shape) is not None
        has_all = wanted.is_alone or not is_known
        num_bytes = self._free(place) if has_all else self._least(wanted, place)
        self._running[wanted.trial_key] = _Running(
            wanted, place, num_bytes, num_bytes, had_all=has_all, is_measured=is_known
        )
        return OnCard(
            number=place,
            visible_as=card.visible_as,
            label=card.label,
            memory_fraction=max(0, num_bytes - CONTEXT_BYTES) / card.total_bytes,
        )

    def observe_peak(self, trial_key: str, peak: int | None) -> None:
        """Record the peak memory of a running trial on its card; None if it is not known."""
        running = self._running.get(trial_key)
        if running is None or not peak:
            return
        self._needs.observe(running.wanted.shape, peak)
        wanted = running.wanted
        if wanted.is_retry:  # it got further than the one that ran out
            self._needs.got_further(wanted.shape)
        if running.had_all and not wanted.is_alone:  # its process knows no limit
            running.num_bytes = int(_FIRST_MARGIN * _need(peak))
        elif wanted.is_retry:
            running.num_bytes = min(running.num_bytes, _need(peak))
        running.is_measured = True

    def take_back(
        self, trial_key: str, peak: int | None, *, ended_well: bool, ran_out: bool
    ) -> bool:
        """Take the card of a trial whose process has ended; return whether it had the largest one.

        Args:
            trial_key: Its key.
            peak: What it held of the card at most, None if that is not known.
            ended_well: Whether it did all that it had to do.
            ran_out: Whether the card's memory, or its part of it, was too small.
        """
        self.observe_peak(trial_key, peak)
        running = self._running.pop(trial_key)
        if ended_well:
            self._needs.got_further(running.wanted.shape)
        if ran_out:
            self._needs.ran_out(running.wanted.shape, running.began_with)
        return running.began_with >= self._largest

    def _best_card(self, wanted: Wanted, kept: int | None, *, may_repeat: bool) -> int | None:
        """Return the card on which a trial leaves least room, or an unmeasured one finds most."""
        places = [place for place in range(len(self.cards)) if place != kept]
        remaining = {place: self._free(place) - self._least(wanted, place) for place in places}
        fits = [place for place in places if remaining[place] >= 0]
        if not wanted.is_alone and self._known_need(wanted.shape) is not None:
            return min(fits, key=lambda place: remaining[place], default=None)
        if not may_repeat and self._is_being_measured(wanted.shape):
            return None
        return max(fits, key=self._free, default=None)

    def _nearest(self, wanted: Wanted) -> int:
        """Return the card that lacks least for a trial."""
        places = range(len(self.cards))
        return max(places, key=lambda place: self._free(place) - self._least(wanted, place))

    def _least(self, wanted: Wanted, place: int) -> int:
        """Return how many bytes of a card a trial wants at least."""
        if wanted.is_alone:  # a smaller card would be no answer
            return self._largest
        need = self._known_need(wanted.shape)
        return int(_LEAST_FREE * self.cards[place].free_bytes) if need is None else need

    def _known_need(self, shape: str) -> int | None:
        """Return what a trial gets of a card, at most the largest; None if it is not known."""
        peak = self._needs.peak(shape)
        return None if peak is None else min(_need(peak), self._largest)

    def _is_being_measured(self, shape: str) -> bool:
        return any(
            running.wanted.shape == shape and not running.is_measured
            for running in self._running.values()
        )

    def _free(self, place: int) -> int:
        taken = sum(
            running.num_bytes for running in self._running.values() if running.card == place
        )
        return self.cards[place].free_bytes - taken


def _need(peak: int) -> int:
    """Return the bytes of a card that a trial is given for a peak of its allocator."""
    return int(MARGIN * peak) + CONTEXT_BYTES
