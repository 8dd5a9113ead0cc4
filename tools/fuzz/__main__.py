"""Can a hostile or damaged store hurt its reader? Seeded mutations of all its rows and files.

    python -m tools.fuzz --seed 1 --rounds 100 [--tree CHECKOUT]

A small finished store is made by `capsweep run`, once. Each round copies it and changes it in one
way: in turn where it matters most (`aims.py`), in any row or file, and where SQLite or a
command finds or makes files of its own (`database_files.py`, `links.py`). Then it gives `status
report best show plan run`, and before or after them `repair`, `clean`, `clean --yes` or `ui`, each
in a fork of one process that has imported what they need. Looked for are a traceback, a command
that takes longer than `--limit` seconds (`repair` and `ui` four times that), something written
outside the storage and report folders, a request to another host, and a control character on the
terminal; of the UI also no answer, an answer from outside the storage, another host's access, and
a process that it leaves. Only the command line is used, so that another state of the package can
be asked as well: `--tree` is a checkout of it.

The exit code is 1 if anything was found. All changes take hours: `--share 0/2` and `1/2` halve them
between two that run at once, `--first` goes on where another has stopped. A round is repeated by
`--seed N --only ROUND`; `--match` looks closer at some rows or files, such as `--match
"artifact_uri of runs"`, and `--other "clean --yes"` gives that command in every round.
"""

import argparse
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tools.fuzz.aims import aims
from tools.fuzz.command import preload
from tools.fuzz.database_files import neighbours
from tools.fuzz.links import copies
from tools.fuzz.mutations import Mutation, mutations
from tools.fuzz.round import Commands, fuzz
from tools.fuzz.sandbox import Place

LAUNCH = ("quickstart", "--epochs", "1", "--seeds", "0")
SEARCH = ("quickstart_search", "--epochs", "1", "--trials", "3")


def main() -> int:
    options = _parsed_options()
    sys.path.insert(0, str(options.tree))
    os.environ |= {
        "PYTHONPATH": str(options.tree),
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_MODE": "token",
    }
    place = Place(options.folder.resolve())
    launches = [tuple(command.split()) for command in options.launch] or [LAUNCH, SEARCH]
    if not place.pristine.exists():
        _make(place, launches)
    preload()
    place.renew()
    todo = _rounds(options.seed, _changes(place, options.match), options.rounds)
    other = tuple(options.other.split())
    commands = Commands(launches, options.limit, other, has_ui=not options.seldom_ui)
    counts: Counter[str] = Counter()
    started, done, last = time.monotonic(), 0, 0
    for number, changes in (pair for pair in todo if _is_asked(pair[0], options)):
        if time.monotonic() - started > 60 * options.minutes:
            break
        chance = random.Random(f"{options.seed} {number}")
        for finding in fuzz(place, commands, changes, chance):
            counts[finding.kind] += 1
            labels = " and ".join(change.label for change in changes)
            line = f"{number}: {labels}: {finding.command}: {finding.kind}: {finding.text}"
            print(line, flush=True)
        done, last = done + 1, number
    minutes = (time.monotonic() - started) / 60
    print(
        f"seed {options.seed}, {done} rounds up to {last} of {len(todo)} in {minutes:.1f} minutes: "
        + (", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing was found")
    )
    return 1 if counts else 0


def _is_asked(number: int, options: argparse.Namespace) -> bool:
    share, shares = options.share
    is_mine = number >= options.first and number % shares == share
    return is_mine if options.only is None else number == options.only


def _make(place: Place, launches: list[tuple[str, ...]]) -> None:
    place.work.mkdir(parents=True)
    for launch in launches:
        program = "import sys; from sweeps.cli import main; sys.exit(main())"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CAPSWEEP_S")}
        argv = [sys.executable, "-c", program, "run", *launch, "--gpus-per-trial", "0"]
        subprocess.run(argv, cwd=place.work, env=environment, check=True, stdout=sys.stderr)
    shutil.rmtree(place.work / "reports", ignore_errors=True)
    shutil.copytree(place.work, place.pristine)


def _changes(place: Place, match: str) -> list[list[Mutation]]:
    """Return what may be done: what was aimed, what all may suffer, what lies beside."""
    places = place.storage, place.traps
    return [
        [change for change in changes if re.search(match, change.label)]
        for changes in (aims(*places), mutations(*places), [*neighbours(*places), *copies(*places)])
    ]


def _rounds(
    seed: int, every: list[list[Mutation]], number: int
) -> list[tuple[int, list[Mutation]]]:
    """Return the changes of each round: one that was aimed, one of every other list, in turn.

    Each kind of row and file in turn, since a database has thousands of values and a cell a few
    files. Where all were seen, one of each list together.
    """
    chance = random.Random(seed)
    singles = [
        change
        for turn in itertools.zip_longest(*(_by_kind(changes, chance) for changes in every))
        for change in turn
        if change
    ]
    pairs = [
        [chance.choice(changes) for changes in every if changes]
        for _ in range(number - len(singles))
    ]
    return list(enumerate([*([change] for change in singles[:number]), *pairs]))


def _by_kind(changes: list[Mutation], chance: random.Random) -> list[Mutation]:
    kinds: dict[str, list[Mutation]] = {}
    for change in chance.sample(changes, len(changes)):
        kinds.setdefault(change.of, []).append(change)
    return [change for turn in itertools.zip_longest(*kinds.values()) for change in turn if change]


def _parsed_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="after which no round is begun"
    )
    parser.add_argument("--match", default="", help="only changes whose words match this pattern")
    parser.add_argument("--other", default="", help="words of the command beside the readers")
    parser.add_argument(
        "--seldom-ui",
        action="store_true",
        help="`ui` only where a change asks for it: twice as fast",
    )
    parser.add_argument("--only", type=int, help="this round alone")
    parser.add_argument("--first", type=int, default=0, help="the round to begin with")
    parser.add_argument(
        "--share",
        type=lambda text: tuple(map(int, text.split("/"))),
        default=(0, 1),
        help="1/4: every fourth round, from round 1 on",
    )
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a command may take")
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("fuzzed"),
        help="where it is done; a store that was made there is used again",
    )
    parser.add_argument(
        "--launch", action="append", default=[], help="words of a launch that makes the store"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
