"""Can a hostile job's folder, or a login node that lies, hurt who submits a sweep?

    python -m tools.fuzz.remote folders --seed 1 --rounds 200
    python -m tools.fuzz.remote login --seed 1 --rounds 200

`folders`: in each round something is planted or damaged in the folder of a Slurm job, in that of a
report or in the user's own notes, and everything that looks there is called. `login`: a process
answers in place of the agent on a login node, with a sound answer that is changed in one way. Each
round is a fork. Looked for are an error that is no sentence, a call that does not end, a control
character on the terminal, and a change outside the folders that are meant. The exit code is 1 if
anything was found.
"""

import argparse
import io
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sweeps.cli import remote_sweeps
from sweeps.records.errors import SweepError
from sweeps.remote import node, slurm
from sweeps.remote.head import SlurmLogin
from sweeps.remote.link import Link
from sweeps.remote.messages import (
    FollowSlurmJob,
    Frame,
    GetFiles,
    GetSlurm,
    JobState,
    SlurmFacts,
    SlurmJob,
    StopSlurmJob,
    Submitted,
    SubmitToSlurm,
    Text,
)
from sweeps.remote.submissions import Submission, submissions
from sweeps.remote.submit import copy_report_here
from tools.fuzz.command import ended
from tools.fuzz.database_files import Act, plants
from tools.fuzz.mutations import ESCAPES, NOT_YOURS, STRANGER, ZEROS, Traps

SWEEP = "mine"
Call = Callable[[], object]


def show(reply: BaseModel) -> None:
    """Show a reply as the command line does."""
    assert isinstance(reply, Text | Frame)
    remote_sweeps._print(reply)  # pyright: ignore[reportPrivateUsage]


class Scene:
    """A user's folders in a folder of its own, and a victim beside them.

    Attributes:
        storage: The storage folder with a job that was submitted.
        work: Where commands are given, with the report of the sweep.
        state: Of the user: what was submitted.
        victim: A folder that nothing may touch.
    """

    def __init__(self, base: Path) -> None:
        self.storage, self.work = base / "store", base / "work"
        self.state, self.victim = base / "state", base / "victim"
        self.base = base
        for folder in (self.storage, self.work, self.victim):
            folder.mkdir()
        (self.victim / "note.txt").write_text(NOT_YOURS)
        (self.victim / ZEROS).write_bytes(bytes(4096))
        os.environ["XDG_STATE_HOME"] = str(self.state)
        slurm._slurm = _slurm  # pyright: ignore[reportPrivateUsage]
        for folder in (self.storage, self.work):
            (folder / "reports" / SWEEP).mkdir(parents=True)
            (folder / "reports" / SWEEP / "report.html").write_text("a report")
        (self.storage / "logs").mkdir()
        (self.storage / "logs" / f"{SWEEP}.view").write_text("a view")

    @property
    def submission(self) -> Submission:
        """The note of the sweep that was submitted."""
        storage, folder = str(self.storage), str(self.work)
        return Submission(
            sweep=SWEEP, job_id="7", to="slurm", on="login", storage=storage, folder=folder
        )

    def begin(self) -> None:
        """Submit the sweep, as long as nobody has planted anything."""
        self.submit()
        self.submission.write()
        job = self.storage / "slurm" / SWEEP
        (job / "job.out").write_text("printed\n")
        (job / "exit").write_text("0\n")

    def submit(self) -> None:
        request = SubmitToSlurm(
            sweep=SWEEP,
            arguments=("mine.py",),
            resume="",
            storage=str(self.storage),
            job=SlurmJob(seconds=3600),
            files={"mine.py": "SWEEP = 1\n"},
        )
        slurm.submit(request, show)

    def reading_calls(self) -> list[Call]:
        """Return all calls that read these folders."""
        storage = str(self.storage)
        follow = FollowSlurmJob(sweep=SWEEP, storage=storage, is_followed=False)
        stop = StopSlurmJob(sweep=SWEEP, storage=storage)
        report = GetFiles(storage=storage, names=("reports", SWEEP))
        sound = _line("answer", value=_files({"report.html": "new"}))
        calls: list[Call] = [
            lambda: slurm.follow(follow, show),
            lambda: slurm.stop(stop, show),
            lambda: node.read_files(report, show),
            submissions,
            self.submission.write,
            lambda: copy_report_here(login(self.base, sound), self.submission),
            self.submit,
        ]
        return calls

    def places(self) -> list[Path]:
        """Return all files and folders that may be damaged: all but the victim's."""
        tops = (self.storage, self.work / "reports", self.state)
        paths = [path for top in tops for path in (*top.rglob("*"), top)]
        job = self.storage / "slurm" / SWEEP
        return sorted({*paths, job / "new", job / "job.out", self.work / "reports" / SWEEP / "x"})

    def outside(self) -> dict[str, bytes]:
        """Return the contents of the folders that must not change."""
        return {str(path): path.read_bytes() for path in self.victim.iterdir() if path.is_file()}


def _slurm(*arguments: str, input_text: str = "") -> str:
    """Answer as a Slurm that has ended every job and takes every other."""
    del input_text
    return {"sbatch": "8", "squeue": ""}.get(arguments[0], "")


def damages(scene: Scene) -> dict[str, Act]:
    """Return the ways to damage a file or a folder."""
    contents: dict[str, bytes | None] = {
        "nothing": b"",
        "noise": b"\xff\x00noise" * 99,
        "escapes": ESCAPES.encode(),
        "a million lines": b"x\n" * 10**6,
        "JSON without an end": b"[" * 10**5,
        "a file of 100 MB": None,
    }

    def writing(content: bytes | None) -> Act:
        def write(path: Path, _: random.Random) -> None:
            if path.is_dir():
                path = path / "x"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content or b"")
            if content is None:
                os.truncate(path, 10**8)

        return write

    owned: dict[str, Act] = {
        "a stranger's": lambda path, _: os.lchown(path, STRANGER, STRANGER),
        "everybody's": lambda path, _: path.chmod(0o777),
        "nobody's to read": lambda path, _: path.chmod(0),
    }
    traps = Traps(scene.victim, "http://127.0.0.1:1")
    written = {label: writing(content) for label, content in contents.items()}
    return {**plants(traps), **written, **owned}


def fuzz_folders(scene: Scene, chance: random.Random) -> str:
    """Damage one file or folder and return a label of the damage. `play` then reads it."""
    scene.begin()
    path = chance.choice(scene.places())
    label, damage = chance.choice([*damages(scene).items()])
    try:
        damage(path, chance)
    except OSError:  # it is not there, or no file
        return f"nothing done to {path.relative_to(scene.base)}"
    return f"{label} at {path.relative_to(scene.base)}"


# The login node.


def login(base: Path, *lines: bytes) -> SlurmLogin:
    """Return a login node that answers each request by the same lines."""
    file = base / f"answers-{random.randrange(10**9)}"
    file.write_bytes(b"".join(lines))
    head = object.__new__(SlurmLogin)
    head.on, head.storage, head.job = "login", "/there", None
    head.link = Link(["bash", "-c", f"read -r _; exec cat {file}"], "login")
    return head


def _line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}).encode() + b"\n"


def _files(texts: dict[str, str]) -> dict[str, Any]:
    return {"files": {name: b64encode(text.encode()).decode() for name, text in texts.items()}}


NAMES = ("..", ".", "", "/x", "a/b", "../x", "a\nb", ESCAPES, "x" * 300, "\0", "\ud800", " a", "é")


def lies(chance: random.Random) -> bytes:
    """Return a sound answer that is changed in one way."""
    odd: Any = chance.choice([None, -1, 10**30, [], {}, ESCAPES, "x" * 10**6, [[0] * 9] * 9, True])
    name, value = chance.choice(NAMES), chance.choice(["?", "x" * 99, ESCAPES, 7, None])
    sound = {"status": "RUNNING", "message": "it runs", "exit_code": None}
    answers: list[Callable[[], bytes]] = [
        lambda: _line("answer", value=_files({name: "x"})),
        lambda: _line("answer", value={"files": {name: value}}),
        lambda: _line("answer", value={"files": odd}),
        lambda: _line("answer", value=_files({str(n): "x" for n in range(5000)})),
        lambda: _line("answer", value={**sound, chance.choice([*sound, "more"]): odd}),
        lambda: _line("answer", value={"job_id": odd, "words": [name]}),
        lambda: _line("answer", value={"storage": name, "most_cores": odd}),
        lambda: _line("text", text=ESCAPES * 99) * 99 + _line("answer", value=sound),
        lambda: _line("frame", text=ESCAPES) + _line("failed", sentence=ESCAPES * 999),
        lambda: _line(chance.choice(["pulse", "answer", "failed", "other"]), value=odd),
        lambda: b"x" * 10**6,
        lambda: b'{"type":"answer","value":' + b"[" * 10**5 + b"\n",
        lambda: bytes(chance.randrange(256) for _ in range(999)),
        lambda: b"",
    ]
    text = chance.choice(answers)()
    if chance.random() < 0.2:  # cut off
        text = text[: chance.randrange(len(text) + 1)]
    return text


def requests_to_login_node(scene: Scene, lie: bytes) -> list[Call]:
    """Return the calls that send requests to a login node."""

    def asked(request: Any, value: Any) -> Call:
        return lambda: login(scene.base, lie).link.call(request, value, show)

    storage = GetSlurm()
    return [
        lambda: copy_report_here(login(scene.base, lie), scene.submission),
        lambda: login(scene.base, lie).follow(scene.submission, show),
        asked(storage, SlurmFacts),
        asked(storage, Submitted),
        asked(storage, JobState),
    ]


def play(scene: Scene, label: str, calls: list[Call]) -> Iterator[str]:
    """Make calls, and yield what must not be."""
    for number, call in enumerate(calls):
        before = scene.outside()
        printed = io.StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                call()
        except SweepError as error:
            printed.write(str(error))
        except Exception:  # noqa: BLE001 - a finding
            yield f"{label}: call {number}: {traceback.format_exc(limit=-3)}"
        said = printed.getvalue()
        if odd := {letter for letter in said if not letter.isprintable() and letter not in "\n\t"}:
            yield f"{label}: call {number}: control characters {sorted(odd)!r}"
        if scene.outside() != before:
            yield f"{label}: call {number}: the victim was changed"
    made = {path.name for path in scene.base.iterdir() if not path.name.startswith("answers-")}
    if others := made - {"store", "work", "state", "victim"}:
        yield f"{label}: made outside: {sorted(others)}"
    if others := {path.name for path in scene.work.iterdir()} - {"reports", "x"}:
        yield f"{label}: made in the working folder: {sorted(others)}"


def one_round(kind: str, seed: str) -> int:
    """Play one round; print what was found, and return whether anything was."""
    chance = random.Random(seed)
    base = Path(tempfile.mkdtemp(prefix="capsweep-fuzz-"))
    try:
        scene = Scene(base)
        if kind == "folders":
            label = fuzz_folders(scene, chance)
            calls = chance.sample(scene.reading_calls(), len(scene.reading_calls()))
        else:
            lie = lies(chance)
            label, calls = f"{lie[:99]!r}", requests_to_login_node(scene, lie)
        lines = [*play(scene, label, calls)]
        for line in lines:
            print(f"{seed}: {line}", flush=True)
        return int(bool(lines))
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main() -> int:
    """Play the rounds that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.remote")
    parser.add_argument("kind", choices=["folders", "login"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", type=int, help="this round alone")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a round may take")
    options = parser.parse_args()
    num_found = 0
    rounds = range(options.rounds) if options.only is None else [options.only]
    for number in rounds:
        seed = f"{options.kind} {options.seed} {number}"
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            code = 1
            try:
                code = one_round(options.kind, seed)
            except BaseException:  # noqa: BLE001 - a fault of the fuzzer is to be seen
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        code = ended(pid, options.limit)
        if code is None:
            print(f"{seed}: does not end")
        num_found += code != 0
    print(f"{options.kind}, seed {options.seed}: {len(rounds)} rounds, {num_found} with findings")
    return int(bool(num_found))


if __name__ == "__main__":
    sys.exit(main())
