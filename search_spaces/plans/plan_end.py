"""Whether a plan of the user's proposes each cell once, and comes to an end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from search_spaces.plans.decisions import (
    Cell,
    CellEnded,
    Decision,
    Done,
    Event,
    Propose,
    SlotFree,
    Wait,
)
from search_spaces.plans.known import Known

D = TypeVar("D", contravariant=True)


class Decides(Protocol[D]):
    """A plan, as far as it is asked here."""

    @property
    def kind(self) -> Any:
        """Its name."""
        ...

    def decide(self, definition: D, journal: Known, event: Event) -> Sequence[Decision]:
        """Return the decisions that follow from an event."""
        ...


_MOST_ANSWERS = 5_000  # a plan may propose its cells one by one, and nobody trains so many so
_MOST_NAMED = 3
_FIGURES: Mapping[str, Any] = MappingProxyType(
    {"train_loss": 0.5, "validation_loss": 0.5, "validation_error": 0.25, "reaches_target": False}
)
_OF_A_PLAN = (LookupError, ArithmeticError, AttributeError, TypeError, ValueError)


def check_end(plan: Decides[D], definition: D) -> None:
    """Ask a plan for cells as if each trial finished at once with the same figures.

    A plan that waits for other figures, or fails at those that are made up, is not asked further.

    Raises:
        ValueError: If it proposes a cell twice, or does not come to an end.
    """
    known = Known()
    for number in range(_MOST_ANSWERS):
        try:
            decisions = plan.decide(definition, known, SlotFree())
        except _OF_A_PLAN:
            if number == 0:
                raise  # nothing was made up yet
            return
        if any(isinstance(decision, Done | Wait) for decision in decisions):
            return
        cells = [cell for d in decisions if isinstance(d, Propose) for cell in d.cells]
        _check_new_cells(plan.kind, cells, known)
        _check_settings(plan, definition, cells, known)
        for cell in cells:
            known.take(Propose((cell,)))
            known.take(CellEnded(known.key_of(cell.place), "finished", 1, _FIGURES))
        if not cells:
            raise ValueError(
                f"The plan '{plan.kind}' proposes nothing once all of its {len(known.cells)} cells "
                f"have ended, and is not over: return cells, or DONE."
            )
    raise ValueError(
        f"The plan '{plan.kind}' does not come to an end: after {len(known.cells):,} cells it "
        f"proposes more. Return DONE once there are enough."
    )


def _check_new_cells(kind: str, cells: Sequence[Cell], known: Known) -> None:
    """Check that no cell is proposed twice."""
    counts = Counter(cell.place for cell in cells)
    again = [place for place, count in counts.items() if count > 1 or place in known.cells]
    if again:
        named = "; ".join(f"arm '{arm}', seed {seed}" for arm, seed in again[:_MOST_NAMED])
        more = f" and {len(again) - _MOST_NAMED} more" * (len(again) > _MOST_NAMED)
        raise ValueError(
            f"The plan '{kind}' proposes a cell twice ({named}{more}): propose each arm once with "
            f"each seed, and return DONE once known.cells has all of them."
        )


def _check_settings(plan: Decides[D], definition: D, cells: Sequence[Cell], known: Known) -> None:
    """Check that no arm is proposed with two settings."""
    settings = {cell.arm: cell.settings for cell in known.cells.values()}
    for cell in cells:
        if settings.setdefault(cell.arm, cell.settings) != cell.settings:
            remedy = "name them differently"
            if _draws(plan, definition):
                remedy = (
                    "it draws other numbers at each call, so draw them from a generator that is "
                    "made in that call, random.Random(0), or give each draw an arm's name of its "
                    "own"
                )
            raise ValueError(
                f"The plan '{plan.kind}' gives the arm '{cell.arm}' two settings, "
                f"{dict(settings[cell.arm])} and {dict(cell.settings)}: {remedy}."
            )


def _draws(plan: Decides[D], definition: D) -> bool:
    """Return whether a plan answers the same question in two ways."""
    first, second = (plan.decide(definition, Known(), SlotFree()) for _ in range(2))
    return list(first) != list(second)
