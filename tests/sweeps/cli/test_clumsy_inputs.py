"""Three hundred clumsy commands: exit code 2, one sentence, and nothing is written."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.sweeps.cli.shell import Shell

NO_NUMBERS = ["x", "", " ", "1.5", "-1", "0", "1e3", "0x10", "nan", "\x1b[31m", "1" * 5000, "½"]
NO_FRACTIONS = ["x", "", "-1", "nan", "inf", "1.5", "-inf", "1e999", "one"]
NO_SEEDS = [
    *("x", "", ",", "0,,", ",0", "0,,1", "1-0", "-1", "0-", "-", "0,0", "0-3,2", "0-99999", "a-b"),
    *("1.5", "0 1", "0;1", "[0]", "\x1b", "9" * 30, "true", "0--1"),
]
NO_SETTINGS = [
    *("", "=", "=1", "batch_size", "x=1", ".=1", "..=1", "batch_size.x=1", "model..routing=1"),
    *(f"batch_size={value}" for value in ("x", "", "0", "-1", "1.5", "null", "[]", "{}", "NaN")),
    *(f"batch_size={value}" for value in ("Infinity", "1e999", '"x"', 10**20, "9" * 5000)),
    *("batch_size=" + "[" * 5000, "batch_size=" + "[" * 5000 + "]" * 5000),
    *("stopping.epochs=0", "stopping=x", "stopping=null", "stopping={}"),
    *("model=1", "model=capsnte", "model.routing=", 'model.routing={"kind":1}', "model.kind=x"),
    *("loss=[1]", "loss.kind=none", "optimiser.learning_rate=nan", "optimiser.learning_rate=-1"),
    *("optimiser.learning_rate=1e999", "data.fraction=0", "data.fraction=2", "data.fraction=x"),
    *("data.kind=../x", "data=null", "profile=x", "model.profile=x", "\x1b=\x1b", "a\nb=1", "é=ü"),
]
NO_NAMES = ["", " ", "../x", "A", "a b", "x" * 65, "-x", "a/b", ".", "a\n", "\x1b", "é", "x.py"]
NO_FOLDERS = ["file", "file/x", "x" * 300, "~nobody-of-this-name/x", "/dev/null", "a\0b"]
NO_STORES = [
    *(
        "x",
        "file",
        "sqlite://",
        "sqlite:///",
        "sqlite:///.",
        "sqlite:///file",
        "sqlite:///:memory:",
    ),
    *(
        "sqlite:////dev/null",
        "sqlite:///a/b/c.db",
        "sqlite:///x.db?mode=ro",
        "http://",
        "http:///x",
    ),
    *("http://[::1", "http://127.0.0.1:x", "http://127.0.0.1:99999", "ftp://127.0.0.1:1", "://"),
    *(
        "file:///tmp",
        "databricks",
        "postgresql://u:p/w@127.0.0.1:1/x",
        "http://127.0.0.1:1",
        "\x1b",
    ),
]
NO_SWEEPS = [
    *("quikstart", "", " ", "..", "/", "x.py", "file.py", "./folder.py", "pipe.py", "QUICKSTART"),
    *("\x1b[31m", "quickstart ", "a" * 5000, "../x.py", "é.py", "nul\0.py"),
]
NO_WORDS = ["all:3", "best", "best:0", "best:-1", "best:x", "BEST:1", "", "best:" + "9" * 20]
NO_TIMES = ["", "0", "x", "-1s", "1w", "1.5h", "99999999999h", "h", "1h1h", "0s"]
NO_CLUSTERS = ["", " ", "x", "ray://", "127.0.0.1:1", "ray://127.0.0.1:1", "[::1", "127.0.0.1:x"]
NO_SAMPLERS = ["", "x", "TPE", "tpe ", "\x1b", "cma"]
NO_TRIALS = [*NO_NUMBERS, "99999999999", "100001"]
PREAMBLE = """
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as Q
"""
LISTED = (
    "SWEEP = Sweep(name='own', base=Q.base, "
    "plan=ListedArms(baseline={0!r}, arms={{{0!r}: {{}}}}), seeds={1})"
)
NO_FACTORS = [
    *("", "=", "batch_size", "batch_size=", "batch_size=8", "batch_size=8,", "batch_size=8,8"),
    *("batch_size=8,x", "batch_size=8,NaN", "batch_size=1,true", "batch_size=8,[", "model=x,y"),
    *("model.routing=dynamic,", "model.routing.kind=x,y", "profile=x,y", "é=1,2", "\x1b=1,2"),
    *("a\nb=1,2", "batch_size=" + "[" * 5000 + ",1", "batch_size=8," + "9" * 5000, "..=1,2"),
]
NO_FILES = {
    "nothing": "",
    "no sweep": "SWEEP = 1",
    "no Python": "SWEEP = = 1",
    "a NUL": "x = '\0'",
    "a missing package": "import nosuchpackage",
    "an exit": "import sys\nsys.exit(0)",
    "an endless recursion": "def f():\n    f()\nf()",
    "a neighbour": "import file",
    "a relative import": "from . import x",
    "a seed that is true": PREAMBLE + LISTED.format("a", "[True]"),
    "a seed that is a text": PREAMBLE + LISTED.format("a", "['x']"),
    "a negative seed": PREAMBLE + LISTED.format("a", "[-1]"),
    "a seed twice": PREAMBLE + LISTED.format("a", "[1, 1]"),
    "a huge seed": PREAMBLE + LISTED.format("a", "[10**30]"),
    "no seeds": PREAMBLE + LISTED.format("a", "[]"),
    "a NUL in an arm's name": PREAMBLE + LISTED.format("a\0b", "[0]"),
    "an escape in an arm's name": PREAMBLE + LISTED.format("a\x1b[31m", "[0]"),
    "an arm without a name": PREAMBLE + LISTED.format("", "[0]"),
    "an arm of any length": PREAMBLE + LISTED.format("a" * 5000, "[0]"),
    "a name that is none": PREAMBLE + LISTED.format("a", "[0]").replace("'own'", "'../own'"),
    "an unknown field": PREAMBLE + LISTED.format("a", "[0], colour=1"),
    "no base": PREAMBLE + LISTED.format("a", "[0]").replace("base=Q.base, ", ""),
    "a warning and a fault": "import warnings\nwarnings.warn('x')\nraise ValueError",
}


def _each(words: list[str], option: str, values: list[str]) -> Iterator[list[str]]:
    yield from ([*words, f"{option}={value}"] for value in values)


def _commands() -> Iterator[list[str]]:
    sweep, search = ["plan", "quickstart"], ["plan", "quickstart_search"]
    launch = ["run", "quickstart"]
    for option in ("--epochs", "--cpus-per-trial", "--max-concurrent"):
        yield from _each(sweep, option, NO_NUMBERS)
    yield from _each(search, "--trials", NO_TRIALS)
    yield from _each(sweep, "--trials", ["1"])
    yield from _each(sweep, "--gpus-per-trial", NO_FRACTIONS)
    for option in ("--seeds", "--add-seeds"):
        yield from _each(sweep, option, NO_SEEDS)
    yield from _each(sweep, "--set", NO_SETTINGS)
    yield from _each(sweep, "--name", NO_NAMES)
    yield from _each(sweep, "--storage", NO_FOLDERS)
    yield from _each(sweep, "--tracking-uri", NO_STORES)
    for option in ("--sampler", "--scheduler"):
        yield from _each(search, option, NO_SAMPLERS)
    grid = ["grid", "quickstart", "batch_size=8,16"]
    yield from (["grid", "quickstart", word] for word in NO_FACTORS)
    yield from (["grid", name, "batch_size=8,16"] for name in NO_SWEEPS)
    for option, words in (("--name", NO_NAMES), ("--out", [*NO_NAMES[:2], *NO_FOLDERS])):
        yield from _each(grid, option, words)
    for option in ("--design", "--resolution"):
        yield from _each(grid, option, NO_NUMBERS)
    yield from _each(launch, "--keep-weights", NO_WORDS)
    yield from _each(launch, "--time-limit", NO_TIMES)
    yield from _each(launch, "--address", NO_CLUSTERS)
    yield from _each(launch, "--budget-epochs", ["x", "0", "-1", "1.5", ""])
    yield from _each(search, "--warm-start", ["x", "", "../x", "\x1b", "a" * 5000])
    yield from ([command, name] for command in ("plan", "run") for name in NO_SWEEPS)
    for command in ("status", "report", "best", "show"):
        yield from ([command, name] for name in ("x", "", "../x", "\x1b", "a" * 5000))
        yield from _each([command, "x"], "--tracking-uri", NO_STORES[:8])
    yield from (["verify", name] for name in ("x", "", ".", "../x", "\x1b", "a" * 5000))
    yield from _each(["report", "x"], "--style", NO_WORDS)
    yield from (["parts", name] for name in ("x", "", "../x", "\x1b"))
    yield from _each(["best", "x"], "--count", ["x", "", "1.5"])
    yield from _each(["ui"], "--port", ["x", "-1", "99999", "1.5", ""])
    yield from (
        [*sweep, *words] for words in (["--no-such"], ["x"], ["--epochs"], ["--set"], ["-x"])
    )
    yield from ([word] for word in ("plan", "run", "show", "none", "", "--none", "pln", "\x1b"))
    yield from (["plan", f"own-{number}.py"] for number in range(len(NO_FILES)))


COMMANDS = list(_commands())
SHARE = 20


def test_there_are_three_hundred_of_them() -> None:
    assert len({json.dumps(words) for words in COMMANDS}) >= 300


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("start", range(0, len(COMMANDS), SHARE))
def test_a_clumsy_command_is_refused_in_one_sentence(shell: Shell, start: int) -> None:
    (shell.folder / "file").write_text("neither a folder nor a database")
    (shell.folder / "file.py").write_text("SWEEP = None")
    (shell.folder / "folder.py").mkdir()
    for number, text in enumerate(NO_FILES.values()):
        (shell.folder / f"own-{number}.py").write_text(text)
    wrong: dict[str, str] = {}
    for words in COMMANDS[start : start + SHARE]:
        if words[-1] == "pipe.py" and not (shell.folder / "pipe.py").exists():
            os.mkfifo(shell.folder / "pipe.py")
        try:
            shell.refused(*words)
        except Exception as error:  # noqa: BLE001 - each is told
            wrong[repr(words)[:200]] = f"{type(error).__name__}: {error}"[:300]
    assert wrong == {}
