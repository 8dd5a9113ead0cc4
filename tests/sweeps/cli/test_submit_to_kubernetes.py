"""Sweeps go to Kubernetes by kubectl: a program here that notes its calls and plays a cluster."""

import json
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.remote import kube
from sweeps.remote.kube import KubeHead
from sweeps.remote.messages import NodeJob, SubmitSweep
from sweeps.remote.submissions import submission_of
from tests.sweeps.cli.shell import Shell

MLFLOW = Path(__file__).parents[3] / "deploy" / "kube" / "mlflow.yaml"
PACKAGES = str(Path(yaml.__file__).parents[1])
STORAGE = "/mnt/capsweep/store"
FOLDER = f"{STORAGE}/k8s/quickstart-1"
SUBMIT = ("submit", "quickstart", "--to", "k8s", "--yes")
PLAN: dict[str, Any] = {
    "sweep": "quickstart",
    "num_cells": 35,
    "counts": {},
    "estimate_seconds": None,
    "num_concurrent": 2,
    "disk": {"most_bytes": 1, "free_bytes": 2},
    "is_done": False,
}
KUBECTL = '''#!{python} -IS
"""Notes each call, and answers from the files of a folder. Without site it starts at once."""
import json, sys, time
from pathlib import Path

root = Path({root!r})
with (root / "calls.jsonl").open("a") as calls:
    print(json.dumps(sys.argv[1:]), file=calls)
arguments = [word for word in sys.argv[1:] if not word.startswith(("--context=", "--namespace="))]
named = [word for word in arguments if not word.startswith("-")]
job = root / "rayjob.json"
refusal = root / f"refused-{{named[0]}}"
for path in (refusal, root / f"refused-{{'-'.join(named[:2])}}"):
    if path.exists():
        sys.exit(path.read_text())
if named[:2] == ["config", "current-context"]:
    print("lab")
elif named == ["get", "rayjobs"]:
    print(json.dumps({{"items": [json.loads(job.read_text())] if job.exists() else []}}))
elif named[:2] == ["get", "rayjob"]:
    print(job.read_text() if job.exists() else "")
    if (later := root / "rayjob-next.json").exists():
        later.replace(job)
elif named == ["get", "pods"]:
    print("pod/quickstart-1-head")
elif named[0] == "get":
    print((root / f"{{named[1]}}.json").read_text())
elif named[0] == "apply":
    sys.path.append({packages!r})
    import yaml
    applied = yaml.safe_load(Path(arguments[1].removeprefix("--filename=")).read_text())
    job.write_text(json.dumps(applied | {{"status": json.loads((root / "status").read_text())}}))
elif named[0] == "delete":
    job.unlink()
elif named[0] == "port-forward":
    print("Forwarding from 127.0.0.1:40001 -> 5000", flush=True)
    time.sleep(60)
elif named[0] == "exec" and "--stdin" in arguments:
    request = json.loads(sys.stdin.readline())
    with (root / "requests.jsonl").open("a") as requests:
        print(json.dumps(request), file=requests)
    name = "-".join([request["call"], *request.get("arguments", [])[:1]])
    print((root / f"agent-{{name}}").read_text())
'''


class Cluster:
    """A cluster as kubectl shows it: files in a folder.

    Attributes:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "bin").mkdir(parents=True)
        program = root / "bin" / "kubectl"
        program.write_text(KUBECTL.format(python=sys.executable, packages=PACKAGES, root=str(root)))
        program.chmod(0o755)
        resources = {
            resource["kind"]: resource for resource in yaml.safe_load_all(MLFLOW.read_text())
        }
        self.put("deployment.json", resources["Deployment"] | {"status": {"availableReplicas": 1}})
        self.put("persistentvolumeclaim.json", resources["PersistentVolumeClaim"])
        self.has_state("Initializing")
        self.job_files = {}
        self.answers("run-plan", f"{json.dumps(PLAN, indent=1)}\n", exit_code=0)
        self.answers("prepare_data")

    def put(self, name: str, value: Any) -> None:
        (self.root / name).write_text(value if isinstance(value, str) else json.dumps(value))

    def answers(self, call: str, text: str = "", **value: Any) -> None:
        """Have the agent in MLflow's pod answer a call."""
        replies = [{"type": "text", "text": text}, {"type": "answer", "value": value}]
        self.put(f"agent-{call}", "\n".join(map(json.dumps, replies)) + "\n")

    def has_state(self, phase: str, job_status: str = "", **more: str) -> None:
        """Give the job a state, as KubeRay writes it."""
        cluster = {"rayClusterName": "quickstart-1-abcde"}
        status = {"jobDeploymentStatus": phase, "jobStatus": job_status, **cluster, **more}
        self.put("status", status)
        job = self.root / "rayjob.json"
        if job.exists():
            self.put(job.name, json.loads(job.read_text()) | {"status": status})

    @property
    def job_files(self) -> dict[str, str]:
        """What the job has left in its folder on the volume: name -> text."""
        raise NotImplementedError

    @job_files.setter
    def job_files(self, texts: dict[str, str]) -> None:
        files = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
        self.answers("files", files=files)

    def noted(self, name: str) -> list[Any]:
        path = self.root / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def calls(self, verb: str) -> list[str]:
        """Return the calls of kubectl with a verb, without where they go."""
        lines = [
            [argument for argument in call if "--context=" not in argument]
            for call in self.noted("calls.jsonl")
        ]
        return [" ".join(line) for line in lines if line[0] == verb]


@pytest.fixture
def cluster(
    shell: Shell, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Cluster:
    there = Cluster(tmp_path_factory.mktemp("cluster") / "k8s")
    monkeypatch.setenv("PATH", str(there.root / "bin"), prepend=":")
    monkeypatch.setattr(kube, "_POLL_SECONDS", 0.0)
    return there


def note_submitted(shell: Shell, cluster: Cluster) -> None:
    assert shell(*SUBMIT).code == 0
    noted = submission_of("quickstart")
    assert noted
    noted.model_copy(update={"is_reported": True}).write()  # MLflow is another test's
    (cluster.root / "calls.jsonl").unlink()


def test_a_submitted_sweep_is_a_job_whose_file_stays_here(shell: Shell, cluster: Cluster) -> None:
    options = ("--namespace=lab-a", "--nodes=2", "--gpus-per-node=1", "--seeds=0")
    answer = shell(*SUBMIT, *options)
    assert answer.code == 0, answer.err
    again = (
        "capsweep submit quickstart --to=k8s --on=lab --namespace=lab-a --nodes=2 --gpus-per-node=1"
    )
    assert answer.out == (
        "Asking Kubernetes ...\n"
        "quickstart on Kubernetes: 35 cells; 2 trials at once, 1 GPU each.\n"
        "Pods for trials: at most 2, each with 16 GiB of memory, 4 cores and 1 GPU; one more "
        "for Ray's head.\n"
        "No estimate, as nothing like it was trained there yet.\n"
        "Submitted to Kubernetes as job quickstart-1; this machine may be switched off.\n"
        "  file:   capsweep-jobs/quickstart-1.yaml\n"
        "  look:   capsweep status quickstart\n"
        f"  follow: {again} --seeds=0 --follow\n"
        "  stop:   capsweep stop quickstart\n"
        "  tables: capsweep report quickstart\n"
    )
    assert cluster.noted("calls.jsonl")[0] == ["config", "current-context"]
    of_lab = {tuple(call[:2]) for call in cluster.noted("calls.jsonl")[1:]}
    assert of_lab == {("--context=lab", "--namespace=lab-a")}
    text = (shell.folder / "capsweep-jobs" / "quickstart-1.yaml").read_text()
    assert text.startswith(f"# {again} --seeds=0\n")
    spec = yaml.safe_load(text)["spec"]
    assert spec["entrypoint"].splitlines()[:5] == [
        f"mkdir -p {FOLDER} && cd {FOLDER} || exit 2",
        "rm -f exit",
        "{ [ -f job.out ] && [ ! -L job.out ]; } || rm -rf job.out",
        "set -o noclobber  # so that nothing is written through a link",
        "exec >> job.out 2>&1",
    ]
    assert (
        f"\ncapsweep run quickstart --address=auto --storage={STORAGE} --seeds=0 "
        f"--max-concurrent=2 --gpus-per-trial=1 --reports={STORAGE}/reports\n"
    ) in spec["entrypoint"]
    (workers,) = spec["rayClusterSpec"]["workerGroupSpecs"]
    assert workers["maxReplicas"] == 2
    (container,) = workers["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    plan, prepared = cluster.noted("requests.jsonl")
    assert plan["arguments"][:4] == ["plan", "quickstart", "--json", "--gpus-per-trial=0"]
    assert prepared["call"] == "prepare_data"


def test_a_dry_run_shows_plan_and_job_and_applies_nothing(shell: Shell, cluster: Cluster) -> None:
    before = shell.files()
    shown = shell(*SUBMIT, "--gpus-per-node=1", "--dry-run")
    assert shown.code == 0, shown.err
    plan, _, text = shown.out.partition("\n\n")
    assert "quickstart on Kubernetes: 35 cells; 1 trial at once, 1 GPU each.\n" in plan
    assert shell.files() == before
    assert cluster.calls("apply") == []
    assert [request["call"] for request in cluster.noted("requests.jsonl")] == ["run"]
    assert shell(*SUBMIT, "--gpus-per-node=1").code == 0
    file = (shell.folder / "capsweep-jobs" / "quickstart-1.yaml").read_text()
    assert text == f"{file}\nDry run: nothing was written or submitted.\n"


def test_the_command_of_the_end_goes_to_the_launch_and_into_no_command_that_is_shown(
    shell: Shell, cluster: Cluster
) -> None:
    answer = shell(*SUBMIT, "--notify", "curl 's3cr3t |'", "--tag", "a b", "--tag", "c")
    assert answer.code == 0, answer.err
    assert "s3cr3t" not in answer.out
    file = shell.folder / "capsweep-jobs" / "quickstart-1.yaml"
    assert file.stat().st_mode & 0o777 == 0o600
    run = f"capsweep run quickstart --address=auto --storage={STORAGE} '--tag=a b' --tag=c "
    run += """'--notify=curl '"'"'s3cr3t |'"'"''"""
    spec = yaml.safe_load(file.read_text())["spec"]
    shown = [line for line in spec["entrypoint"].splitlines() if "s3cr3t" in line]
    assert [line[: len(run)] for line in shown] == [run]
    assert "s3cr3t" not in file.read_text().splitlines()[0]
    cluster.has_state("Running", "RUNNING")
    noted = submission_of("quickstart")
    assert noted
    assert "s3cr3t" not in noted.resume
    refused = shell(*SUBMIT, "--notify", "curl 's3cr3t")
    assert (refused.code, "cannot be split into words" in refused.err) == (2, True)
    assert "s3cr3t" not in refused.err


def test_a_sweep_of_which_all_is_there_is_not_submitted_again(
    shell: Shell, cluster: Cluster
) -> None:
    cells = {"counts": {"recorded": 35}}
    cluster.answers("run-plan", f"{json.dumps(PLAN | cells, indent=1)}\n", exit_code=0)
    unrecorded = shell("submit", "quickstart", "--to", "k8s")  # cells of a sweep of another name
    assert "Nothing is left to train: the job records the cells and makes the" in unrecorded.out
    assert "Nobody can be asked here whether to submit it: give --yes." in unrecorded.err
    note_submitted(shell, cluster)
    cluster.has_state("Complete", "SUCCEEDED")
    done = json.dumps(PLAN | cells | {"is_done": True}, indent=1)
    cluster.answers("run-plan", f"{done}\n", exit_code=0)
    answer = shell(*SUBMIT, "--quiet")
    assert (answer.code, answer.out) == (
        0,
        "All 35 cells are there, so nothing is submitted. Tables: capsweep report quickstart.\n",
    )
    assert cluster.calls("apply") == []
    assert "Submitted to Kubernetes" in shell(*SUBMIT, "--keep-weights=none").out


def test_image_and_volume_of_a_job_are_those_of_mlflows_pod(shell: Shell, cluster: Cluster) -> None:
    text = (cluster.root / "deployment.json").read_text()
    text = text.replace("registry.example.org/capsweep:0.1.0", "mine:7")
    cluster.put("deployment.json", text.replace('"claimName": "capsweep"', '"claimName": "big"'))
    assert shell(*SUBMIT).code == 0
    spec = yaml.safe_load((shell.folder / "capsweep-jobs" / "quickstart-1.yaml").read_text())[
        "spec"
    ]
    groups = (spec["rayClusterSpec"]["headGroupSpec"], *spec["rayClusterSpec"]["workerGroupSpecs"])
    for pod in (group["template"]["spec"] for group in groups):
        assert pod["containers"][0]["image"] == "mine:7"
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "big"
    assert cluster.calls("get")[1] == "get persistentvolumeclaim big --output=json"


def test_the_same_submit_follows_the_job_to_its_table(shell: Shell, cluster: Cluster) -> None:
    note_submitted(shell, cluster)
    job = cluster.root / "rayjob.json"
    cluster.has_state("Complete", "SUCCEEDED")
    ended = job.read_text()
    cluster.has_state("Running", "RUNNING")
    cluster.put("rayjob-next.json", ended)
    cluster.job_files = {"job.out": "quickstart: 35 trained now\n", "exit": "0\n"}
    answer = shell(*SUBMIT)
    assert (answer.code, answer.out) == (
        0,
        "Asking Kubernetes ...\n"
        "It is there already, as job quickstart-1.\n"
        "quickstart: 35 trained now\n",
    )
    assert cluster.calls("apply") == []


def test_a_job_that_waits_says_for_what(shell: Shell, cluster: Cluster) -> None:
    note_submitted(shell, cluster)
    cluster.answers("run-status", "No sweep 'quickstart'.\n", exit_code=2)
    answer = shell("status", "quickstart")
    assert answer.out == "Job quickstart-1 is waiting in Kubernetes: Initializing.\n"
    cluster.has_state("Running", "RUNNING")
    cluster.answers("run-status", "7 of 35 cells filled.\n", exit_code=0)
    assert shell("status", "quickstart").out == "7 of 35 cells filled.\n"
    assert cluster.noted("requests.jsonl")[-2]["arguments"] == [
        *("status", "quickstart"),
        f"--storage={STORAGE}",
    ]


def test_logs_shows_what_the_job_has_printed(shell: Shell, cluster: Cluster) -> None:
    note_submitted(shell, cluster)
    cluster.has_state("Running", "RUNNING")
    cluster.job_files = {"job.out": "one\ntwo\n", "view": "a view"}
    assert shell("logs", "quickstart", "-n", "1").out == "two\n"
    asked = cluster.noted("requests.jsonl")[-1]
    assert f"{asked['storage']}/{'/'.join(asked['names'])}" == FOLDER


def test_stop_ends_the_launch_first_and_then_deletes_the_job(
    shell: Shell, cluster: Cluster
) -> None:
    note_submitted(shell, cluster)
    cluster.has_state("Running", "RUNNING")
    cluster.job_files = {"exit": "130\n"}
    answer = shell("stop", "quickstart")
    assert answer.code == 0, answer.err
    assert answer.out == (
        "Kubernetes ends the job. Waiting until it has; Ctrl-C ends only the waiting.\n"
        "Submit it again to go on.\n"
    )
    verbs = [call[1] for call in cluster.noted("calls.jsonl")]
    ending = [verb for verb in verbs if verb in {"patch", "delete"}]
    assert ending == ["patch", "delete"]
    (stopped,) = (call for call in cluster.calls("exec") if "--stdin" not in call)
    assert stopped == (
        "exec pod/quickstart-1-head --container=ray-head -- capsweep stop quickstart "
        f"--storage={STORAGE} --quiet"
    )
    assert cluster.calls("delete") == ["delete rayjob quickstart-1 --ignore-not-found"]
    assert shell("stop", "quickstart").out.startswith("No job of 'quickstart' waits or runs.")


STATES: list[tuple[str, str, dict[str, str], str, int | None]] = [
    ("", "", {}, "PENDING", None),
    ("Initializing", "", {}, "PENDING", None),
    ("Running", "", {}, "PENDING", None),
    ("Retrying", "FAILED", {"exit": "3"}, "PENDING", None),
    ("Running", "RUNNING", {}, "RUNNING", None),
    ("Complete", "SUCCEEDED", {"exit": "0"}, "SUCCEEDED", 0),
    ("Failed", "FAILED", {"exit": "3"}, "FAILED", 3),
    ("Failed", "FAILED", {"exit": "130"}, "STOPPED", 130),
    ("Failed", "", {}, "FAILED", None),
    ("Complete", "STOPPED", {}, "STOPPED", None),
]


def test_the_state_of_a_job_is_kuberays_and_its_exit_code_its_own(
    shell: Shell, cluster: Cluster
) -> None:
    note_submitted(shell, cluster)
    noted = submission_of("quickstart")
    assert noted
    for phase, job_status, files, status, exit_code in STATES:
        cluster.has_state(phase, job_status, message="why")
        cluster.job_files = files
        state = KubeHead("lab").follow(noted, lambda _: None, to_its_end=False)
        assert (state.status, state.exit_code) == (status, exit_code), (phase, job_status, files)


def test_the_script_of_a_job_runs_the_sweep_and_leaves_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, text = tmp_path / "a b", "SWEEP = '$(touch x)'\n"
    request = SubmitSweep(
        dashboard="",
        sweep="mine",
        arguments=("mine.py", "--set=model.name='$(touch x)'"),
        resume="capsweep submit mine.py",
        files={"mine.py": text},
    )
    program = tmp_path / "capsweep"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "${RESUME_VARIABLE}" "$@"\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    pod = {"containers": [{"image": "mine:7"}]}
    job = kube.ray_job("mine-1", request, str(storage), job=NodeJob(), pod=pod)
    ended = subprocess.run(job["spec"]["entrypoint"], shell=True, check=False)
    folder = storage / "k8s" / "mine-1"
    assert (ended.returncode, (folder / "exit").read_text()) == (3, "3\n")
    assert (folder / "mine.py").read_text() == text
    assert (folder / "job.out").read_text().splitlines() == [
        *("capsweep submit mine.py", "run", "./mine.py", "--address=auto"),
        *(f"--storage={storage}", "--set=model.name='$(touch x)'"),
        f"--reports={storage}/reports",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["exit", "job.out", "mine.py"]


@pytest.mark.parametrize(
    ("sweep", "names", "name"),
    [
        ("quickstart", set[str](), "quickstart-1"),
        ("quickstart", {"quickstart-1", "other-1"}, "quickstart-2"),
        ("my_sweep", set[str](), "my-sweep-1"),
        ("3d", set[str](), "sweep-3d-1"),
        ("a" * 44 + "_b", set[str](), "a" * 44 + "-1"),
    ],
)
def test_the_name_of_a_job_is_one_that_kuberay_takes(
    sweep: str, names: set[str], name: str
) -> None:
    assert kube._free_name(sweep, names) == name
    assert len(name) <= 47


def test_records_are_read_through_a_port_that_kubectl_forwards(cluster: Cluster) -> None:
    with KubeHead("lab").records(None) as uri:
        assert uri == "http://127.0.0.1:40001"
    assert cluster.calls("port-forward") == [
        "port-forward --address=127.0.0.1 service/capsweep-mlflow :5000"
    ]


FORBIDDEN = (
    'Error from server (Forbidden): {} is forbidden: User "me" cannot do it in the namespace'
)
WRONG = {
    "no context": ("config", "error: current-context is not set", "kubectl has no current context"),
    "unknown context": (
        "get",
        "Error in configuration: context was not found for specified context: labb",
        "kubectl has no context 'labb': name one of 'kubectl config get-contexts' with --on.",
    ),
    "no answer": (
        "get",
        'E1127 06:21:27 11169 memcache.go:265] "x"\n'
        "The connection to the server 127.0.0.1:9 was refused - did you specify the right host?",
        "Kubernetes does not answer: The connection to the server 127.0.0.1:9 was refused",
    ),
    "no KubeRay": (
        "get-rayjobs",
        'error: the server doesn\'t have a resource type "rayjobs"',
        "KubeRay is not installed in this cluster: install its operator, 1.5.1 or newer.",
    ),
    "no MLflow": (
        "get-deployment",
        'Error from server (NotFound): deployments.apps "capsweep-mlflow" not found',
        "There is no capsweep-mlflow in this namespace: kubectl apply -f deploy/kube/mlflow.yaml",
    ),
    "no claim": (
        "get-persistentvolumeclaim",
        'Error from server (NotFound): persistentvolumeclaims "capsweep" not found',
        "There is no volume claim 'capsweep', which capsweep-mlflow names",
    ),
    "may not read": (
        "get-rayjobs",
        FORBIDDEN.format("rayjobs.ray.io"),
        "Kubernetes forbids it: rayjobs.ray.io is forbidden: User",
    ),
    "may not apply": ("apply", FORBIDDEN.format("rayjobs.ray.io"), "Kubernetes forbids it: "),
    "no such field": (
        "apply",
        'Error from server (BadRequest): strict decoding error: unknown field "spec.x"',
        'kubectl apply was refused: strict decoding error: unknown field "spec.x".',
    ),
    "no capsweep": (
        "exec",
        'OCI runtime exec failed: exec: "capsweep-agent": executable file not found in $PATH\n'
        "command terminated with exit code 127",
        "The image of capsweep-mlflow has no capsweep: make it from deploy/kube/Dockerfile.",
    ),
}


@pytest.mark.parametrize(("verb", "said", "sentence"), WRONG.values(), ids=WRONG)
def test_what_kubectl_cannot_do_is_refused_in_one_sentence(
    shell: Shell, cluster: Cluster, verb: str, said: str, sentence: str
) -> None:
    cluster.put(f"refused-{verb}", said)
    before = shell.files()
    answer = shell(*SUBMIT)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith("capsweep: ")
    assert sentence in answer.err
    assert shell.files() == before
    assert not (cluster.root / "rayjob.json").exists()
    assert submission_of("quickstart") is None


OPTIONS = {
    "time": (("--time=2h",), "Only Slurm takes --time: give --to slurm with it, or leave it out."),
    "partition": (("--partition=x",), "Only Slurm takes --partition"),
    "sbatch": (("--", "--qos=x"), "Only Slurm takes what follows --"),
    "type of GPU": (
        ("--gpus-per-node=a100:1",),
        "--gpus-per-node a100:1 names a type, which only Slurm takes: give --gpus-per-node 1.",
    ),
    "nodes": (("--nodes=0",), "--nodes must be an integer at least 1, got 0."),
    "address": (
        ("--address=http://h:1",),
        "--address is for Ray alone: leave it out, or leave out --to",
    ),
    "namespace": (("--namespace=Lab A",), "'Lab A' is no namespace of Kubernetes"),
    "storage": (("--storage=store",), "--storage store: give the whole path"),
    "GPUs": (("--gpus-per-trial=1",), "No trial fits on a node: it takes 1 core and 1 GPU, and"),
    "cores": (("--cpus-per-trial=8",), "No trial fits on a node: it takes 8 cores and 0 GPUs"),
    "scheduler": (("--to=k9s",), "Unknown scheduler 'k9s'. Did you mean 'k8s'?"),
    "namespace of Ray": (
        ("--to=ray", "--namespace=x"),
        "--namespace is for Kubernetes alone: leave it",
    ),
}


@pytest.mark.parametrize(("arguments", "sentence"), OPTIONS.values(), ids=OPTIONS)
def test_wrong_options_are_refused_in_one_sentence(
    shell: Shell, cluster: Cluster, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in shell.refused(*SUBMIT, "--quiet", *arguments)
    assert cluster.calls("apply") == []


def test_where_mlflow_does_not_run_or_its_volume_is_not_shared_nothing_is_submitted(
    shell: Shell, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (cluster.root / "persistentvolumeclaim.json").read_text()
    cluster.put("persistentvolumeclaim.json", text.replace("ReadWriteMany", "ReadWriteOnce"))
    assert "The volume claim 'capsweep' is ReadWriteOnce" in shell.refused(*SUBMIT)
    deployment = json.loads((cluster.root / "deployment.json").read_text())
    cluster.put("deployment.json", deployment | {"status": {}})
    assert "capsweep-mlflow does not run yet" in shell.refused(*SUBMIT)
    monkeypatch.setenv("PATH", str(shell.folder))
    assert "There is no kubectl here: install it" in shell.refused(*SUBMIT)
    assert cluster.calls("apply") == []
