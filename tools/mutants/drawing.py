"""Which mutants are drawn: by a seed, as many of each part of the packages and of each kind."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from tools.mutants.changes import Change, changes_of, modules_of

Place = tuple[str, str]


def draw(
    tree: Path, seed: int, number: int, *, within: Collection[str], without: Iterable[Change] = ()
) -> list[Change]:
    """Draw this number of changes of each package or module, at most one per function.

    As many of each kind too, as far as there are: constants are most of what can be changed.
    Functions of earlier changes are left out.
    """
    chance = random.Random(seed)
    modules = modules_of(tree)
    taken = {(change.module, change.function) for change in without}
    drawn: list[Change] = []
    for index, area in enumerate(within):
        share = number // len(within) + (index < number % len(within))
        changes = [
            change
            for module, path in modules.items()
            if f"{module}.".startswith(f"{area}.")
            for change, _ in changes_of(module, path.read_text())
        ]
        chance.shuffle(changes)
        of_area = kind_by_kind(changes, taken, chance)
        drawn += [change for change, _ in zip(of_area, range(share), strict=False)]
    return drawn


def kind_by_kind(
    changes: Iterable[Change], taken: set[Place], chance: random.Random
) -> Iterator[Change]:
    """Yield the next change of each kind in turn, and note its function as taken."""
    of_kind: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        of_kind[change.kind].append(change)
    kinds = sorted(of_kind)
    chance.shuffle(kinds)
    while any(of_kind.values()):
        for kind in kinds:
            while of_kind[kind]:
                change = of_kind[kind].pop()
                if (change.module, change.function) not in taken:
                    taken.add((change.module, change.function))
                    yield change
                    break
