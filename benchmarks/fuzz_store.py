"""Can a hostile or damaged store hurt its reader? Seeded mutations of all its rows and files.

    python benchmarks/fuzz_store.py --seed 1 --rounds 100 [--tree CHECKOUT]

A small finished store is made by `capsweep run`, once. Each round copies it, changes it in one way,
every second time where it matters most (`fuzz_aims.py`), and gives `status report best show plan
run`, each in a fork of one process that has imported what they need. Looked for are a traceback, a
command that takes longer than `--limit` seconds, something written outside the storage and report
folders, a request to another host, and a control character on the terminal. Only the command line
is used, so that another state of the package can be asked as well: `--tree` is a checkout of it.

The exit code is 1 if anything was found. A round is repeated by `--seed N --only ROUND`; `--match`
looks closer at some rows or files, such as `--match "artifact_uri of runs"`.
"""

import argparse
import itertools
import os
import random
import re
import select
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_aims import aims
from fuzz_command import NOBODY, forked, preload
from fuzz_mutations import Mutation, Traps, mutations

LAUNCH = ("quickstart", "--epochs", "1", "--seeds", "0")
SEARCH = ("quickstart_search", "--epochs", "1", "--trials", "3")
STORE = "capsweep-store"
_FILES = "api/2.0/mlflow-artifacts/artifacts"  # where MLflow believes that files lie
_VICTIMS = (
    *("weights.safetensors", "predictions.safetensors", "config.json", "final.json", "lock"),
    *("outbox.jsonl", "log.txt", "x.tmp", "manifest.json", "note.txt", "mlflow.db", "format.json"),
)


@dataclass
class Place:
    """Where a store is fuzzed: a working folder, and what must not be touched beside it.

    Attributes:
        base: The folder of all.
        pristine: The store as it was made, with what else the working folder begins with.
        canary: Listens, so that a request to it is seen, also by a process of a process.
    """

    base: Path
    canary: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def work(self) -> Path:
        """The working folder of the commands."""
        return self.base / "work"

    @property
    def storage(self) -> Path:
        """The store that is fuzzed."""
        return self.work / STORE

    @property
    def pristine(self) -> Path:
        """A copy of the working folder before anything was done to it."""
        return self.base / "pristine"

    @property
    def traps(self) -> Traps:
        """Where a hostile store would lead."""
        host, port = self.canary.getsockname()
        return Traps(self.base / "victim", f"http://{host}:{port}/{_FILES}")

    def renew(self) -> None:
        """Put all back as it was."""
        for folder in (self.work, self.base / "victim"):
            _remove(folder)
        shutil.copytree(self.pristine, self.work)
        (self.base / "victim").mkdir()
        (self.base / "tmp").mkdir(exist_ok=True)
        for name in _VICTIMS:
            (self.base / "victim" / name).write_text("not yours\n")
        (self.base / "requests").write_text("")

    def outside(self) -> dict[str, str]:
        """Return what lies outside the storage and report folders: path -> what it is."""
        found: dict[str, str] = {}
        for top in (self.work, self.base / "victim"):
            for folder, names, files in os.walk(top):
                if Path(folder) == self.work:
                    names[:] = [n for n in names if n not in {STORE, "reports", "__pycache__"}]
                for name in (*names, *files):
                    found[str(Path(folder, name).relative_to(self.base))] = _looks(
                        Path(folder, name)
                    )
        return found

    def requests(self) -> list[str]:
        """Return the addresses of other hosts that were asked since all was put back."""
        asked = (self.base / "requests").read_text().splitlines()
        while select.select([self.canary], [], [], 0)[0]:
            self.canary.accept()[0].close()
            asked.append("the canary, by a process of a process")
        return asked


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str
    command: str
    words: str


def main() -> int:
    given = _given()
    sys.path.insert(0, str(given.tree))
    os.environ |= {"PYTHONPATH": str(given.tree), "OMP_NUM_THREADS": "1", "RAY_AUTH_MODE": "token"}
    place = Place(given.folder.resolve())
    launches = [tuple(words.split()) for words in given.launch] or [LAUNCH, SEARCH]
    if not place.pristine.exists():
        _make(place, launches)
    preload()
    place.renew()
    every = [
        [change for change in changes if re.search(given.match, change.words)]
        for changes in (aims(place.storage, place.traps), mutations(place.storage, place.traps))
    ]
    todo = _rounds(given.seed, every, given.rounds)
    counts: Counter[str] = Counter()
    started, done = time.monotonic(), 0
    for number, changes in todo:
        if given.only not in {None, number} or time.monotonic() - started > 60 * given.minutes:
            continue
        chance = random.Random(f"{given.seed} {number}")
        for finding in fuzz(place, launches, changes, chance, given.limit):
            counts[finding.kind] += 1
            what = " and ".join(change.words for change in changes)
            told = f"{number}: {what}: {finding.command}: {finding.kind}: {finding.words}"
            print(told, flush=True)
        done += 1
    print(
        f"seed {given.seed}, {done} rounds in {(time.monotonic() - started) / 60:.1f} minutes: "
        + (", ".join(f"{n} {kind}" for kind, n in counts.items()) or "nothing was found")
    )
    return 1 if counts else 0


def fuzz(
    place: Place,
    launches: list[tuple[str, ...]],
    changes: list[Mutation],
    chance: random.Random,
    limit: float,
) -> Iterator[Finding]:
    """Change a fresh copy of the store, give all commands, and yield what must not be."""
    place.renew()
    for change in changes:
        change.apply(chance)
    asked = {change.sweep for change in changes}
    launch = chance.choice([one for one in launches if Path(one[0]).stem in asked] or launches)
    name = Path(launch[0]).stem
    key = next(iter(sorted(path.name for path in (place.pristine / STORE / "cells").iterdir())))
    kept = chance.choice(((), ("--keep-weights", "none")))
    for words in (
        *(("status", name), ("report", name), ("best", name), ("show", key)),
        *(("plan", *launch), ("run", *launch, "--address", NOBODY, *kept)),
    ):
        before = place.outside()
        yield from _complaints(place, words, limit)
        after = place.outside()
        touched = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        if touched:
            yield Finding("write outside", words[0], ", ".join(touched)[:200])
        for address in set(place.requests()):
            yield Finding("request", words[0], address)
        (place.base / "requests").write_text("")


def _complaints(place: Place, words: tuple[str, ...], limit: float) -> Iterator[Finding]:
    started = time.monotonic()
    code = forked(place.base, words, limit)
    told = "".join((place.base / name).read_text(errors="replace") for name in ("out", "err"))
    if code is None:
        yield Finding("hang", words[0], f"ended after {time.monotonic() - started:.0f} s")
    elif "Traceback (most recent" in told or code not in {0, 2, 3}:
        yield Finding("traceback", words[0], f"code {code}: {told.strip()[-200:]!r}")
    elif code == 2 and told.count("\n") > 3:
        yield Finding("long complaint", words[0], f"{told.count(chr(10))} lines: {told[:200]!r}")
    if odd := {letter for letter in told if not letter.isprintable() and letter not in "\n\t"}:
        yield Finding("control character", words[0], repr(sorted(odd)))


def _make(place: Place, launches: list[tuple[str, ...]]) -> None:
    place.work.mkdir(parents=True)
    for launch in launches:
        program = "import sys; from sweeps.cli import main; sys.exit(main())"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CAPSWEEP_S")}
        words = [sys.executable, "-c", program, "run", *launch, "--gpus-per-trial", "0"]
        subprocess.run(words, cwd=place.work, env=environment, check=True, stdout=sys.stderr)
    shutil.rmtree(place.work / "reports", ignore_errors=True)
    shutil.copytree(place.work, place.pristine)


def _rounds(
    seed: int, every: list[list[Mutation]], number: int
) -> list[tuple[int, list[Mutation]]]:
    """Return the changes of each round: one that was aimed, one of those of every kind, in turn.

    Each kind of row and file in turn, since a database has thousands of values and a cell a few
    files. Where all were seen, one of both together.
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


def _looks(path: Path) -> str:
    """Return what changes when a file is written, be it with what it held."""
    told = path.lstat()
    return f"{told.st_mode:o} {told.st_ino} {told.st_size} {told.st_mtime_ns} {told.st_ctime_ns}"


def _remove(folder: Path) -> None:
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        for path in (folder, *folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="after which no round is begun"
    )
    parser.add_argument("--match", default="", help="only changes whose words match this pattern")
    parser.add_argument("--only", type=int, help="this round alone")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a command may take")
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
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
