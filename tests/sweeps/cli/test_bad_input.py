"""Whatever cannot be is answered with one sentence and exit code 2, and nothing is written.

One table for the commands and options of everyday: a new one has its rows here.
"""

import json
from pathlib import Path

import pytest

from sweeps.cli.program import COMMANDS
from tests.sweeps.cli.shell import Shell

CASES: dict[str, tuple[list[str], str]] = {
    # stop
    "stop no sweep": (["stop"], "Missing argument"),
    "stop what does not run": (["stop", "quickstart"], "No launch of 'quickstart' runs over"),
    "stop an unknown sweep": (["stop", "quikstart", "--now"], "so nothing was stopped"),
    "stop a path": (["stop", "../journals/quickstart"], "Nothing runs there"),
    "stop nothing": (["stop", ""], "No launch of '' runs over"),
    "stop two sweeps": (["stop", "quickstart", "other"], "unexpected extra argument"),
    "stop with a value for a flag": (["stop", "quickstart", "--now=1"], "does not take a value"),
    "stop nowhere": (["stop", "quickstart", "--storage", "nowhere"], "There is no storage folder"),
    # delete
    "delete no sweep": (["delete"], "Missing argument"),
    "delete an unknown sweep": (["delete", "quikstart"], "Did you mean 'quickstart'?"),
    "delete a pattern": (["delete", "*", "--yes"], "There is no sweep '*'"),
    "delete a path": (["delete", "../x", "--yes"], "There is no sweep '../x'"),
    "delete two sweeps": (["delete", "quickstart", "other"], "unexpected extra argument"),
    "delete from nowhere": (
        ["delete", "quickstart", "--yes", "--storage", "nowhere"],
        "There is no storage folder",
    ),
    "delete from no store": (
        ["delete", "quickstart", "--tracking-uri", "ftp://x"],
        "ftp://x",
    ),
    # diff
    "diff one": (["diff", "quickstart"], "Missing argument"),
    "diff of an unknown sweep": (["diff", "quickstart", "quikstart"], "'quikstart'"),
    "diff of an unknown trial": (["diff", "0123456789", "quickstart"], "0123456789"),
    "diff of three": (["diff", "a", "b", "c"], "unexpected extra argument"),
    # logs
    "logs of nothing": (["logs"], "Missing argument"),
    "logs of an unknown trial": (["logs", "ffff"], "There is no trial 'ffff'"),
    "logs of no lines": (["logs", "quickstart", "-n", "0"], "at least 1, given was 0."),
    "logs of some lines": (["logs", "quickstart", "--lines", "few"], "a valid integer"),
    "logs of a link": (["logs", "../../secret", "-f"], "is neither a sweep nor"),
    # new
    "new without a name": (["new"], "Missing argument"),
    "new with a path": (["new", "../other"], "'../other'"),
    "new with no name": (["new", "Not A Name"], "'Not A Name'"),
    "new in place of a file": (["new", "taken"], "taken.py"),
    # status
    "status of an unknown sweep": (["status", "quikstart"], "Did you mean 'quickstart'?"),
    "status of two": (["status", "quickstart", "other"], "unexpected extra argument"),
    "status without a store": (["status", "--storage", "nowhere"], "nowhere"),
    "status by a file": (["status", "taken.py"], "does not say its sweep's name as SWEEP ="),
    "status by a file that is not there": (["status", "takn.py"], "Did you mean 'taken.py'?"),
    "show of a sweep": (["show", "quickstart"], "'quickstart' is a sweep, not a trial"),
    # predict
    "predict nothing": (["predict", "0123"], "Missing argument"),
    "predict by an unknown trial": (["predict", "ffff", "a.png"], "There is no trial 'ffff'"),
    "predict by a sweep without a result": (
        ["predict", "quickstart", "a.png"],
        "No trial of the sweep 'quickstart' has finished, so that it has no network yet",
    ),
    "predict by an unknown sweep": (
        ["predict", "quikstart", "a.png"],
        "'quikstart' is neither a sweep nor the beginning of a trial key. Did you mean 'quick",
    ),
    "predict by a file that is not there": (["predict", "no.py", "a.png"], "no.py"),
    "predict by no file": (["predict", "ff", "a.png", "--file", "no.py"], "no.py"),
    # best, show, plan, list, run
    "best of none": (["best", "quickstart", "-n", "0"], "0"),
    "best of an unknown sweep": (["best", "quikstart"], "Did you mean 'quickstart'?"),
    "show of an unknown trial": (["show", "ffff"], "There is no trial 'ffff'"),
    "plan of an unknown sweep": (["plan", "quikstart"], "Did you mean 'quickstart'?"),
    "run of an unknown sweep": (["run", "quikstart"], "Did you mean 'quickstart'?"),
    "run inline with trials that share a GPU": (
        ["run", "quickstart", "--engine", "inline", "--gpus-per-trial", "auto"],
        "it trains one trial at a time: leave gpus_per_trial out, not auto.",
    ),
    "run with a share of no cluster": (["run", "quickstart", "--share", "2"], "give --address, or"),
    "best of what is no text": (["best", "odd\udcff"], "is not valid UTF-8"),
    "show in what is no text": (["show", "ab", "--storage", "odd\udcff"], "is not valid UTF-8"),
    "list of something": (["list", "quickstart"], "unexpected extra argument"),
    # how much is said
    "more and less": (["status", "-q", "-v"], "-q asks for less and -v for more"),
    "more and less before the command": (["-q", "-v", "status"], "-q asks for less"),
    "more before, less behind": (["-v", "status", "-q"], "-q asks for less"),
    "an unknown option": (["status", "--jsno"], "--jsno"),
    "a renamed option": (["run", "quickstart", "--fresh"], "--fresh is now called --retrain"),
    "an unknown command": (["stopp", "quickstart"], "stopp"),
    "a value for --json": (["status", "--json=yes"], "does not take a value"),
}


@pytest.fixture(autouse=True)
def taken(shell: Shell, storage: Path) -> None:
    """A storage folder with a sweep, and a file beside it."""
    assert storage.parent == shell.folder
    (shell.folder / "taken.py").write_text("SWEEP = None\n")


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence_and_writes_nothing(shell: Shell, case: str) -> None:
    words, message = CASES[case]
    assert message in shell.refused(*words)


@pytest.mark.parametrize("case", CASES)
def test_with_json_it_is_an_object_with_that_sentence(shell: Shell, case: str) -> None:
    words, message = CASES[case]
    before = shell.files()
    answer = shell(*words, "--json")
    assert (answer.code, answer.err) == (2, "")
    error = json.loads(answer.out)
    assert error.keys() == {"format", "error", "exit_code"}
    assert (error["format"], error["exit_code"]) == ("capsweep.error/1", 2)
    assert "\n" not in error["error"]
    takes_json = (
        "as_json" in COMMANDS[words[0]].function.__annotations__ if words[0] in COMMANDS else 0
    )
    assert message in error["error"] if takes_json else error["error"]
    assert shell.files() == before


@pytest.mark.parametrize("command", ["stop", "delete", "diff", "logs", "new", "status", "predict"])
def test_every_command_of_everyday_has_its_rows(command: str) -> None:
    assert sum(words[0] == command for words, _ in CASES.values()) >= 4
