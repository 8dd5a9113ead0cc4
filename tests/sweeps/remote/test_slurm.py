"""What a job of Slurm asks for, and what a launch on its nodes would do."""

import os
import subprocess
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sweeps.cli.commands.submit import _tables_there
from sweeps.cli.job_options import JOB_SYNTAX, job_arguments, job_fields, slurm_job
from sweeps.execution.launch_options import options_of
from sweeps.execution.survey.estimate import Estimate, Timing
from sweeps.records.errors import BadInput
from sweeps.remote import slurm, submit
from sweeps.remote.head import SlurmLogin
from sweeps.remote.messages import GetSlurm, SlurmJob, SubmitToSlurm, Text
from sweeps.remote.slurm import job_file
from sweeps.remote.submissions import Submission

NOTHING = {name: field.default for name, field in job_fields().items()}
READ = JOB_SYNTAX["seconds"].read


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("90m", 90),
        ("4h", 240),
        ("30", 30),
        ("30:00", 30),
        ("04:00:00", 240),
        ("1-12", 36 * 60),
        ("1-12:30", 36 * 60 + 30),
        ("1-12:30:00", 36 * 60 + 30),
    ],
)
def test_a_time_is_written_as_everywhere_or_as_sbatch_takes_it(text: str, minutes: int) -> None:
    assert READ is not None
    assert READ("--time", text) == 60 * minutes


@pytest.mark.parametrize(
    ("text", "number", "kind"),
    [("2", 2, ""), ("a100:2", 2, "a100"), ("nvidia_a100_3g.20gb:1", 1, "nvidia_a100_3g.20gb")],
)
def test_gpus_are_asked_for_as_sbatch_takes_them(text: str, number: int, kind: str) -> None:
    read = JOB_SYNTAX["gpus_per_node"].read
    assert read is not None
    options = {**NOTHING, "seconds": 3600.0, "gpus_per_node": read("--gpus-per-node", text)}
    job = slurm_job(options, ())
    assert (job.gpus_per_node, job.gpu_type) == (number, kind)
    assert f"--gpus-per-node={text}" in job_arguments(job)[0]
    asked = SubmitToSlurm(sweep="a", arguments=("a",), resume="", storage="/store", job=job)
    assert f"#SBATCH --gpus-per-node={text}\n" in job_file(asked)


@pytest.mark.parametrize(
    "text", ["a100", "a100:", "a100:0", ":1", "a:1,b:1", "1 2", "x y:1", "1.5"]
)
def test_what_is_no_number_of_gpus_is_refused(text: str) -> None:
    read = JOB_SYNTAX["gpus_per_node"].read
    assert read is not None
    with pytest.raises(BadInput) as error:
        read("--gpus-per-node", text)
    assert str(error.value) == (
        f"--gpus-per-node takes a number, or under Slurm TYPE:NUMBER such as a100:1, got '{text}'."
    )


def test_a_node_has_four_cores_a_gpu() -> None:
    assert slurm_job({**NOTHING, "seconds": 3600.0}, ()).cores == 4
    assert slurm_job({**NOTHING, "seconds": 3600.0, "gpus_per_node": 2}, ()).cores == 8


def test_a_job_is_described() -> None:
    small = SlurmJob(seconds=3600, cpus_per_node=1)
    large = SlurmJob(seconds=5400, nodes=2, gpus_per_node=1)
    assert small.text == "1 node with 1 core, 1 h"
    assert large.text == "2 nodes with 4 cores and 1 GPU each, 1 h 30 min"
    typed = large.model_copy(update={"gpu_type": "a100"})
    assert typed.text == "2 nodes with 4 cores and 1 GPU of type a100 each, 1 h 30 min"


def test_options_of_sbatch_are_a_line_each_and_are_given_again() -> None:
    job = slurm_job({**NOTHING, "seconds": 3600.0, "nodes": 2}, ("-A", "lab", "--mem=8G"))
    assert job.options == ("-A lab", "--mem=8G")
    assert job_arguments(job) == (["--nodes=2", "--time=1h"], ["--", "-A", "lab", "--mem=8G"])
    with pytest.raises(BadInput, match="without line breaks"):
        slurm_job({**NOTHING, "seconds": 3600.0}, ("--comment=a\nrm -r x",))


def test_the_file_of_a_job_is_valid_bash_in_which_no_word_is_read_by_the_shell() -> None:
    job = SlurmJob(cpus_per_node=8, gpus_per_node=2, seconds=90 * 60, attempts=3, options=("-A x",))
    request = SubmitToSlurm(
        sweep="mine",
        arguments=("mine.py", "--set=model.name='$(touch x)'", "--storage=near"),
        resume="capsweep submit mine.py\nrm -r /",
        storage="/a b/store",
        job=job,
        files={"mine.py": "SWEEP = 1"},
    )
    text = job_file(request)
    asked = [line.removeprefix("#SBATCH ") for line in text.splitlines() if "#SBATCH" in line]
    assert asked == [
        "--job-name=mine",
        "--nodes=1",
        "--ntasks-per-node=1",
        "--cpus-per-task=8",
        "--gpus-per-node=2",
        "--time=0-01:30:00",
        "--signal=B:USR1@270",
        "--requeue",
        "--open-mode=append",
        "--output='/a b/store/slurm/mine/job.out'",
        "-A x",
    ]
    checked = subprocess.run(["bash", "-n"], input=text, text=True, check=False)
    assert checked.returncode == 0
    head = text[: text.index("# What follows")]
    script = f'{head}\nprintf "%s\\n" "${{run[@]}}"'
    run = subprocess.run(["bash"], input=script, text=True, capture_output=True, check=True).stdout
    assert run.splitlines() == [
        "./mine.py",
        "--storage=/a b/store",
        "--set=model.name='$(touch x)'",
    ]


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> SlurmLogin:
    """A login node that estimates an hour for 10 cells, two at once."""
    answer = {
        "sweep": "mine",
        "num_cells": 12,
        "counts": {"recorded": 2},
        "estimate_seconds": 3600.0,
        "num_concurrent": 2,
        "is_done": False,
    }
    monkeypatch.setattr(submit, "_planned", lambda *_: answer)
    job = SlurmJob(nodes=2, cpus_per_node=8, gpus_per_node=2, seconds=1800)
    return cast("SlurmLogin", SimpleNamespace(job=job, storage="/store"))


def plan(login: SlurmLogin, **options: Any) -> submit.RemotePlan:
    """Return what a launch on a job's nodes would do."""
    sent = submit.Sendable("mine", None, {})
    return submit.plan_of_nodes(login, sent, [], options_of(options))


def test_trials_fill_the_nodes_of_a_job_and_the_estimate_is_theirs(login: SlurmLogin) -> None:
    planned = plan(login)
    assert (planned.num_to_train, planned.num_concurrent, planned.gpus_per_trial) == (10, 4, 1.0)
    assert planned.seconds == pytest.approx(3600 * 2 / 4)
    assert plan(login, gpus_per_trial=0.25).num_concurrent == 16
    assert plan(login, gpus_per_trial=0.25, cpus_per_trial=4).num_concurrent == 4
    assert plan(login, max_concurrent=3).num_concurrent == 3


def test_what_a_check_on_the_login_node_has_measured_is_no_estimate_for_the_nodes(
    login: SlurmLogin, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = submit._planned(login, submit.Sendable("mine", None, {}), [])  # pyright: ignore
    source = Estimate(1.0, (Timing(1.0, 0),)).source
    monkeypatch.setattr(submit, "_planned", lambda *_: answer | {"estimate_source": source})
    assert plan(login).seconds is None


def test_a_job_in_which_no_trial_ends_is_refused(login: SlurmLogin) -> None:
    assert login.job is not None
    login.job = login.job.model_copy(update={"seconds": 600.0})
    with pytest.raises(BadInput, match="One trial takes about 12 minutes and the job has 10"):
        plan(login)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cpus_per_trial": 9}, "it takes 9 cores and 1 GPU, and each node of the job has 8 cores"),
        ({"gpus_per_trial": 3}, "it takes 1 core and 3 GPUs, and each node of the job has 8 cores"),
    ],
    ids=["cores", "GPUs"],
)
def test_a_trial_that_fits_on_no_node_is_refused(
    options: dict[str, Any], sentence: str, login: SlurmLogin
) -> None:
    with pytest.raises(BadInput) as error:
        plan(login, **options)
    assert f"No trial fits on a node: {sentence} and 2 GPUs. Give --cpus-per" in str(error.value)


FULL = '{"disk": {"most_bytes": 5000, "free_bytes": 4000}}'


@pytest.mark.parametrize(
    ("printed", "code", "sentence"),
    [
        ('{\n "refusal": "it would drop seed 2."\n}\n', 2, "it would drop seed 2."),
        ('INFO\n{\n "error": "No sweep is named so."\n}\n', 2, "No sweep is named so."),
        ("Traceback\nKeyError: 'x'\n", 1, "KeyError: 'x'"),
        ("", 1, "The cluster has said nothing."),
        (
            FULL,
            0,
            "The storage folder there has 3.9 KiB free, and the sweep takes 4.9 KiB at most: ",
        ),
    ],
    ids=["refusal", "error", "traceback", "nothing", "full disk"],
)
def test_what_a_launch_there_would_refuse_is_said(printed: str, code: int, sentence: str) -> None:
    def run(arguments: Any, show: Any, files: Any) -> int:
        del arguments, files
        show(Text(text=printed))
        return code

    head = cast("SlurmLogin", SimpleNamespace(run=run))
    with pytest.raises(BadInput) as error:
        submit._planned(head, submit.Sendable("mine", None, {}), [])
    assert str(error.value).startswith(sentence)


NODES = """\
main*|4|64|gpu:a100:4(S:0-1),gpu:v100:2|idle
main*|2|128|(null)|drained
small|8|16|gpu:1|mixed
"""


@pytest.mark.parametrize(
    ("asked", "most_cores", "sentence"),
    [
        ({"gpus_per_node": 6}, 64, ""),
        ({"gpus_per_node": 7}, 0, "The nodes of partition 'main' have at most 6 GPUs, and"),
        ({"cpus_per_node": 128}, 128, ""),
        ({"cpus_per_node": 128, "gpus_per_node": 1}, 0, "have at most 64 cores, and a job asks"),
        ({"nodes": 6}, 128, ""),
        ({"nodes": 5, "gpus_per_node": 1}, 0, "Only 4 such nodes of partition 'main', and --nodes"),
        ({"gpus_per_node": 2, "partition": "small"}, 0, "'small' have at most 1 GPU, and"),
        ({"gpus_per_node": 9, "options": ("--gres=gpu:9",)}, None, ""),
        ({"gpus_per_node": 4, "gpu_type": "A100"}, 64, ""),
        (
            {"gpus_per_node": 3, "gpu_type": "v100"},
            0,
            "have at most 2 GPUs of type v100, and --gpus-per-node asks for v100:3: give a smaller",
        ),
        (
            {"gpus_per_node": 1, "gpu_type": "h100"},
            0,
            "'main' have no GPU of type h100 that Slurm knows, and --gpus-per-node asks for h100:1"
            ": give another type, such as a100, or name another --partition.",
        ),
    ],
)
def test_what_a_partition_has_is_compared_with_what_a_job_asks_for(
    asked: dict[str, Any], most_cores: int | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_slurm", lambda *_: NODES)
    job = SlurmJob(seconds=3600, **asked)
    if sentence:
        with pytest.raises(BadInput, match=sentence):
            slurm._most_of_nodes(job)
    else:
        assert slurm._most_of_nodes(job).most_cores == most_cores


def test_the_gpus_of_a_partition_are_known_where_a_job_asks_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm, "_slurm", lambda *_: NODES)
    job = SlurmJob(seconds=3600)
    assert slurm._most_of_nodes(job).most_gpus == 6
    with_options = job.model_copy(update={"options": ("--gres=gpu:1",)})
    assert slurm._most_of_nodes(with_options).most_gpus == 0


LIMITS = "main*|infinite\nshort|10:00\n"


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"partition": "short", "seconds": 600}, ""),
        ({"partition": "main,short", "seconds": 600}, ""),
        ({"seconds": 10**6}, ""),
        (
            {"partition": "shrt", "seconds": 600},
            "Slurm has no partition 'shrt'. Did you mean 'short'? It has: main, short.",
        ),
        (
            {"partition": "main,short", "seconds": 3600},
            "Partition 'short' takes jobs of at most 10 min, and --time asks for 1 h: give a",
        ),
    ],
    ids=["fits", "both fit", "no limit", "unknown", "too long"],
)
def test_a_partition_has_to_be_there_and_to_take_jobs_of_that_time(
    asked: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_slurm", lambda *_: LIMITS)
    if not sentence:
        slurm._check_partition(SlurmJob(**asked))
        return
    with pytest.raises(BadInput) as error:
        slurm._check_partition(SlurmJob(**asked))
    assert str(error.value).startswith(sentence)


def test_a_machine_without_slurm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match=f"There is no sbatch on {os.uname().nodename}: give the"):
        slurm.facts(GetSlurm(), lambda _: None)


@pytest.fixture
def sbatch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Slurm that takes every job."""
    monkeypatch.setattr(slurm.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(slurm, "_slurm", lambda *_, input_text="": "7")


@pytest.mark.usefixtures("sbatch")
def test_records_in_a_bucket_are_refused() -> None:
    with pytest.raises(BadInput, match="give a folder on a disk with locks"):
        slurm.facts(GetSlurm(storage="s3://mine/x"), lambda _: None)


def request(storage: Path, seconds: float = 3600, arguments: tuple[str, ...] = ("mine",)) -> Any:
    """Return the request to submit a sweep over a storage folder."""
    job = SlurmJob(seconds=seconds)
    return SubmitToSlurm(
        sweep="mine", arguments=arguments, resume="", storage=str(storage), job=job
    )


@pytest.mark.usefixtures("sbatch")
def test_a_storage_folder_that_cannot_be_written_to_is_named() -> None:
    sentence = f"/proc/store cannot be written to on {os.uname().nodename}"
    with pytest.raises(BadInput, match=sentence):
        slurm.submit(request(Path("/proc/store")), lambda _: None)


def test_a_sweep_has_one_job_at_a_time_which_is_not_asked_for_in_another_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(*command: str, input_text: str = "") -> str:
        asked.append(" ".join(command[:2]))
        return "7" if command[0] == "sbatch" else "PENDING|Resources|N/A|"

    monkeypatch.setattr(slurm, "_slurm", answer)
    first = slurm.submit(request(tmp_path), lambda _: None)
    assert (first.job_id, first.is_new, first.arguments) == ("7", True, ("mine",))
    assert asked == ["sbatch --test-only", "sbatch --parsable"]
    second = slurm.submit(request(tmp_path, arguments=("mine", "--seeds=0")), lambda _: None)
    assert (second.job_id, second.is_new, second.arguments) == ("7", False, ("mine",))
    with pytest.raises(BadInput) as error:
        slurm.submit(request(tmp_path, seconds=7200), lambda _: None)
    assert str(error.value) == (
        "'mine' is there already as job 7, with --time 1h, and this asks for --time 2h: give the "
        "same options, or stop it first (capsweep stop mine)."
    )
    assert [command for command in asked if command.startswith("sbatch")] == asked[:2]
    private = [tmp_path / "slurm/mine" / name for name in ("job.sbatch", "words")]
    assert [path.stat().st_mode & 0o077 for path in private] == [0, 0]


@pytest.mark.parametrize(
    ("state", "reason", "is_taken"),
    [
        ("drained", "Requested node configuration is not available", True),
        ("idle~", "Requested node configuration is not available", False),
        ("drained", "Invalid account", False),
    ],
    ids=["all drained", "nodes are up", "another reason"],
)
def test_a_job_waits_where_all_nodes_are_drained(
    state: str, reason: str, *, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(*command: str, input_text: str = "") -> str:
        if command[0] == "sinfo":
            return f"main*|2|8|(null)|{state}\n"
        raise BadInput(f"sbatch was refused: {reason}.")

    monkeypatch.setattr(slurm, "_slurm", answer)
    with nullcontext() if is_taken else pytest.raises(BadInput, match=reason):
        slurm._test("#!/bin/bash\n", SlurmJob(seconds=3600, nodes=2))


def test_a_sweep_that_goes_on_over_another_storage_folder_is_not_submitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = {"to": "slurm", "on": None, "storage": "/there"}
    Submission(sweep="mine", job_id="7", folder="/x", **place).write()
    has_ended = False
    monkeypatch.setattr(submit, "head_of", lambda _: None)
    monkeypatch.setattr(submit, "goes_on", lambda *_: not has_ended)
    login = object.__new__(SlurmLogin)
    login.on, login.storage = None, "/here"
    submit._check_not_elsewhere(login, "other")
    sentence = "'mine' was submitted to /there as job 7, which has not ended: give --storage /there"
    with pytest.raises(BadInput, match=sentence):
        submit._check_not_elsewhere(login, "mine")
    login.storage = "/there"
    submit._check_not_elsewhere(login, "mine")
    login.storage, has_ended = "/here", True
    submit._check_not_elsewhere(login, "mine")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo 'sh: error: no such account' >&2; exit 1", "sh was refused: no such account."),
        ("echo 'sh: error: a' >&2; echo 'sh: b.' >&2; exit 1", "sh was refused: a; b."),
        (
            "echo 'sh: error: x: Unable to contact slurm controller (connect failure)' >&2; exit 1",
            "Slurm cannot be reached from here (sh: x: Unable to contact slurm controller (connect "
            "failure)): give the command on a login node, or try again later.",
        ),
        ("exit 3", "sh was refused: it has said nothing."),
        ("exec sleep 60", "Slurm's controller has not answered sh in 0 s: try again later."),
    ],
    ids=["a reason", "two", "no controller", "none", "no answer"],
)
def test_what_slurm_refuses_is_said_in_its_own_words(
    script: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script.startswith("exec"):
        monkeypatch.setattr(slurm, "_ANSWER_SECONDS", 0.1)
    with pytest.raises(BadInput) as error:
        slurm._slurm("sh", "-c", script)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("reason", "start", "expected"),
    [
        ("JobHeldUser", "N/A", "is held (JobHeldUser) and does not start by itself: scontrol rel"),
        ("BeginTime", "2026-11-27T10:00:00", "is queued, and starts by itself after 2026-11-27 10"),
        ("None", "N/A", "is waiting in Slurm's queue: Slurm has not looked at it yet."),
        ("Resources", "2026-11-27T10:00:00", "queue: Resources, expected to start about 2026-11"),
    ],
)
def test_it_is_told_what_a_job_waits_for(reason: str, start: str, expected: str) -> None:
    assert expected in slurm._waiting_text("7", reason, start)


def test_the_tables_of_a_done_sweep_are_found_in_its_storage_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    login = object.__new__(SlurmLogin)
    login.on, login.storage = None, "/a b"
    login.place = {"to": "slurm", "on": None, "storage": "/a b"}
    done = submit.RemotePlan("mine", 6, 0, 0.0, 1, seconds=0.0, num_machines=1, is_done=True)
    trained_by_run = _tables_there(login, done, options_of({}))
    assert trained_by_run.endswith(" report mine --storage '/a b'")
    Submission(sweep="mine", folder="/x", **login.place).write()
    assert _tables_there(login, done, options_of({})).endswith(" report mine")
    other = options_of({"tracking_uri": "http://127.0.0.1:5000"})
    assert _tables_there(login, done, other) == ""


def test_what_another_job_was_asked_for_is_said_as_it_was_typed() -> None:
    derived = {"--cpus-per-task=8", "--signal=B:USR1@300"}
    asked = {"--gpus-per-node=2", "--time=0-02:00:00", "-A lab", *derived}
    assert slurm._as_typed(asked) == "--gpus-per-node 2, --time 2h, -A lab"
    assert slurm._as_typed(derived) == "--cpus-per-node 8"
    assert slurm._as_typed({"--time=1-12:30:00", "--nodes=3"}) == "--nodes 3, --time 2190m"
