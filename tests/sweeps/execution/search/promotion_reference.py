"""Promotion by two objectives and in brackets, written down once more from the papers.

Algorithm 2 of Li and others 2018 (arXiv:1810.05934), the brackets of algorithm 1 of Li and others
2018 (JMLR 18), and the order of Schmucker and others 2021 (arXiv:2106.12639). It shares no code
with the product, and is as slow as it is simple.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

Result = tuple[float, float]  # objective and cost, both to be small
WORST = (math.inf, math.inf)


@cache
def rungs_of(num_epochs: int, grace: Fraction, eta: int) -> list[int]:
    """Return r, r eta, r eta^2 and so on, below R."""
    first = max(1, math.ceil(grace * num_epochs))
    return [first * eta**k for k in range(num_epochs) if first * eta**k < num_epochs]


@cache
def turns(s_max: int, eta: int) -> list[int]:
    """Return the brackets of proposals in turn: each has its n, evenly spread over their sum."""
    n = [math.ceil(Fraction((s_max + 1) * eta**s, s + 1)) for s in reversed(range(s_max + 1))]
    places = [
        (Fraction(2 * place + 1, 2 * size), bracket)
        for bracket, size in enumerate(n)
        for place in range(size)
    ]
    return [bracket for _, bracket in sorted(places)]


def dominates(one: Result, other: Result) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def mo_order(rung: dict[int, Result]) -> list[int]:
    """Return the proposals of a rung, sorted by fronts, and these by their epsilon-net."""
    left, order = dict(rung), list[int]()
    while left:
        front = {
            number: result
            for number, result in left.items()
            if not any(dominates(other, result) for other in left.values())
        }
        order += epsilon_net(front)
        left = {number: result for number, result in left.items() if number not in front}
    return order


def epsilon_net(front: dict[int, Result]) -> list[int]:
    """Return a front: the best objective, then always what is farthest, by ranks."""
    axes = [sorted({result[axis] for result in front.values()}) for axis in (0, 1)]
    ranks = {
        number: [axis.index(value) for axis, value in zip(axes, result, strict=True)]
        for number, result in front.items()
    }
    net: list[int] = []
    while len(net) < len(front):
        left = sorted(set(front) - set(net))
        if not net:
            net.append(min(left, key=lambda number: ranks[number][0]))
            continue
        nearest = {
            number: min(math.dist(ranks[number], ranks[other]) for other in net) for number in left
        }
        net.append(max(left, key=lambda number: nearest[number]))
    return net


@dataclass
class Reference:
    """The tables of the algorithm.

    Attributes:
        rungs: Those of each bracket, ascending.
        brackets: The bracket of each proposal.
        tables: The results of those that came to a rung, by epoch and bracket.
        promoted: Which were promoted there.
        paused: The rung at which a proposal waits.
        running: Proposals that train.
        num_complete: Proposals of full length.
    """

    num_epochs: int
    grace: Fraction
    eta: int
    has_brackets: bool
    num_wanted: int
    num_proposals: int
    brackets: list[int] = field(default_factory=list[int])
    tables: dict[tuple[int, int], dict[int, Result]] = field(default_factory=dict)
    promoted: dict[int, set[int]] = field(default_factory=dict[int, set[int]])
    paused: dict[int, int] = field(default_factory=dict[int, int])
    running: set[int] = field(default_factory=set[int])
    num_complete: int = 0

    @property
    def ladder(self) -> list[int]:
        return rungs_of(self.num_epochs, self.grace, self.eta)

    def rungs(self, number: int) -> list[int]:
        return self.ladder[self.brackets[number] :]

    def get_job(self) -> tuple[str, list[tuple[int, int]]]:
        """Return what a free slot is for: proposals that train on from an epoch, or a new one."""
        for epoch, bracket in sorted(self.tables, key=lambda place: (-place[0], place[1])):
            rung = self.tables[epoch, bracket]
            for number in mo_order(rung)[: len(rung) // self.eta]:
                if self.paused.get(number) == epoch:
                    return "train on", [(number, epoch)]
        if len(self.brackets) < self.num_proposals:
            return "propose", []
        if self.running:
            return "wait", []
        missing = [
            (number, epoch)
            for epoch in reversed(self.ladder)
            for number in mo_order(
                {
                    number: result
                    for (other, _), rung in self.tables.items()
                    if other == epoch
                    for number, result in rung.items()
                }
            )
            if self.paused.get(number) == epoch
        ][: max(0, self.num_wanted - self.num_complete)]
        return ("train on", missing) if missing else ("stop", sorted(self.paused.items()))

    def propose(self) -> None:
        number, in_turn = len(self.brackets), turns(len(self.ladder), self.eta)
        self.brackets.append(in_turn[number % len(in_turn)] if self.has_brackets else 0)
        self.running.add(number)

    def train_on(self, number: int) -> None:
        del self.paused[number]
        self.running.add(number)

    def epoch(self, number: int, epoch: int, result: Result) -> bool:
        """Take a result; return whether the proposal pauses."""
        is_diverged = math.isnan(result[0])
        rungs = [rung for rung in self.rungs(number) if rung >= epoch]
        if rungs and (is_diverged or rungs[0] == epoch):
            table = self.tables.setdefault((rungs[0], self.brackets[number]), {})
            table[number] = WORST if is_diverged else result
        is_paused = not is_diverged and rungs[:1] == [epoch]
        if is_paused:
            self.paused[number] = epoch
        if is_paused or is_diverged or epoch == self.num_epochs:
            self.running.remove(number)
        self.num_complete += epoch == self.num_epochs and not is_diverged
        return is_paused

    def fail(self, number: int) -> None:
        """Forget a proposal, of which nothing is known."""
        self.running.remove(number)
        for rung in self.tables.values():
            rung.pop(number, None)
