"""Kubernetes with KubeRay: a sweep is a RayJob, and MLflow's pod answers for the shared volume.

The folder STORAGE/k8s/JOB on the volume holds what a job leaves: the sweep's own file, `job.out`,
the live view in `view`, and the exit code in `exit`.
"""

import json
import re
import shlex
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from sweeps.execution.view.live_view import VIEW_VARIABLE
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.records.plain_text import one_line
from sweeps.remote.head import Head, Show
from sweeps.remote.kubectl import Kubectl, KubectlLink, current_context
from sweeps.remote.link import decoded_files
from sweeps.remote.messages import (
    Files,
    Frame,
    GetFiles,
    JobState,
    NodeJob,
    SubmitSweep,
    Submitted,
    Text,
)
from sweeps.remote.submissions import Submission
from sweeps.storage.folder import PRIVATE, Folder

JOBS = "capsweep-jobs"
"""The folder of the files of submitted jobs, in that of the command."""
_MLFLOW = "capsweep-mlflow"
_MLFLOW_PORT = 5000
_STORAGE = "/mnt/capsweep/store"
_OUTPUTS = ("job.out", "view", "exit")
_SWEEP, _WORDS = "capsweep/sweep", "capsweep/words"  # annotations of a job
_LONGEST_NAME = 47  # of a RayJob, as KubeRay makes longer names of it
_LARGEST_ENTRYPOINT = 100_000  # the kernel takes 128 KiB as one word of a command
_POLL_SECONDS = 5.0
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_Json = dict[str, Any]


class KubeHead(Head):
    """A namespace of Kubernetes with KubeRay and MLflow's server.

    Args:
        context: Of kubectl; None for the current one.
        namespace: None for that of the context.
        storage: The storage folder on the volume; None for that of MLflow's pod.
        job: What a job asks for; None where none is submitted.

    Attributes:
        job: The same.
        storage: The same; "" where none is submitted and it is not known.

    Raises:
        BadInput: If it cannot be reached, or lacks what a job needs.
    """

    scheduler = "Kubernetes"

    def __init__(
        self,
        context: str | None = None,
        namespace: str | None = None,
        storage: str | None = None,
        job: NodeJob | None = None,
    ) -> None:
        if namespace is not None and not _NAMESPACE.fullmatch(namespace):
            raise BadInput(
                f"'{namespace}' is no namespace of Kubernetes: lower-case letters, digits and '-'."
            )
        if storage and not Path(storage).is_absolute():
            raise BadInput(
                f"--storage {storage}: give the whole path, such as {_STORAGE}, in the volume."
            )
        self.kubectl = Kubectl(context or current_context(), namespace)
        self.link = KubectlLink(self.kubectl, f"deployment/{_MLFLOW}", "Kubernetes")
        self.job = job
        self.storage = storage or ""
        if job is not None:
            self._pod = self._checked_pod()
            (variables,) = (container.get("env", []) for container in self._pod["containers"][:1])
            named = {variable["name"]: variable.get("value") for variable in variables}
            self.storage = storage or named.get("CAPSWEEP_STORAGE") or _STORAGE
        self.place = {
            "to": "k8s",
            "on": self.kubectl.context,
            "namespace": namespace,
            "storage": self.storage,
        }

    def _checked_pod(self) -> _Json:
        """Return the pod of MLflow, whose image and volumes a job has too.

        Raises:
            BadInput: If it does not run, its volume is no shared one, or KubeRay is missing.
        """
        deployment = self._get("deployment", _MLFLOW)
        if not deployment.get("status", {}).get("availableReplicas"):
            raise BadInput(
                f"{_MLFLOW} does not run yet: 'kubectl describe pods -l app={_MLFLOW}' says why."
            )
        pod: _Json = deployment["spec"]["template"]["spec"]
        volumes = [volume.get("persistentVolumeClaim") for volume in pod.get("volumes", [])]
        for name in [volume["claimName"] for volume in volumes if volume]:
            modes = self._get("persistentvolumeclaim", name)["spec"]["accessModes"]
            if "ReadWriteMany" not in modes:
                raise BadInput(
                    f"The volume claim '{name}' is {', '.join(modes)}: pods on several machines "
                    f"need ReadWriteMany."
                )
        self._jobs()
        return pod

    def submit(self, request: SubmitSweep) -> Submitted:
        """Write the job of a sweep into `JOBS`, and apply it, unless one of that sweep goes on.

        Raises:
            BadInput: If Kubernetes does not take it, or its file cannot be written.
        """
        names: set[str] = set()
        for other in self._jobs():
            name, noted = other["metadata"]["name"], other["metadata"].get("annotations", {})
            names.add(name)
            if noted.get(_SWEEP) == request.sweep and not _state(other).has_ended:
                return Submitted(job_id=name, arguments=tuple(shlex.split(noted.get(_WORDS, ""))))
        name = _free_name(request.sweep, names)
        jobs, file, text = Folder(Path(), JOBS), f"{name}.yaml", self._job_file(name, request)
        try:
            jobs.make().write(file, text.encode(), PRIVATE)  # an address may have a password
        except OSError as error:
            raise BadInput(
                f"The job's file {jobs.path / file} cannot be written ({error.strerror}): give the "
                f"command in another folder."
            ) from error
        try:
            self.kubectl("apply", f"--filename={jobs.path / file}")
        except BadInput:
            jobs.remove(file)
            with suppress(OSError):  # others may be in it
                jobs.path.rmdir()
            raise
        return Submitted(job_id=name, is_new=True, arguments=request.arguments)

    def job_file(self, request: SubmitSweep) -> str:
        """Return the file of a job that `submit` would apply, and write nothing.

        Raises:
            BadInput: If Kubernetes does not answer, or the sweep's file is too large for a job.
        """
        names = {job["metadata"]["name"] for job in self._jobs()}
        return self._job_file(_free_name(request.sweep, names), request)

    def _job_file(self, name: str, request: SubmitSweep) -> str:
        assert self.job is not None
        job = ray_job(name, request, self.storage, job=self.job, pod=self._pod)
        document = yaml.dump(job, Dumper=_Plain, sort_keys=False, width=100)
        return f"# {one_line(request.resume)}\n{document}"

    @contextmanager
    def records(self, tracking_uri: str | None) -> Generator[str]:
        if tracking_uri:
            yield tracking_uri
            return
        with self.kubectl.forwarded(_MLFLOW, _MLFLOW_PORT) as port:
            yield f"http://127.0.0.1:{port}"

    def follow(
        self, submission: Submission, show: Show, position: int = 0, *, to_its_end: bool = True
    ) -> JobState:
        waiting = view = ""
        while True:
            state, outputs = self._state_and_outputs(submission.job_id)
            text = outputs.get("job.out", "")
            if new := text[position:]:
                show(Text(text=new))
                position = len(text)
            if state.has_ended or not to_its_end:
                return state
            if state.status == "PENDING" and state.message != waiting:
                waiting = state.message
                show(Frame(text=waiting))
            elif outputs.get("view", view) != view:
                view = outputs["view"]
                show(Frame(text=view))
            time.sleep(_POLL_SECONDS)

    def end(self, submission: Submission, *, is_now: bool = False) -> JobState:
        state = self._state(submission.job_id)
        if state.has_ended:
            return state
        # a launch that is stopped has failed for KubeRay, which would start it again
        no_more = json.dumps({"spec": {"backoffLimit": 0}})
        self.kubectl("patch", "rayjob", submission.job_id, "--type=merge", f"--patch={no_more}")
        command = ["capsweep", "stop", submission.sweep, f"--storage={self.storage}", "--quiet"]
        with suppress(BadInput):  # a launch that has not begun, or a head that is gone
            if pod := self._head_pod(submission.job_id):
                command += ["--now"] * is_now
                self.kubectl("exec", pod, "--container=ray-head", "--", *command, seconds=None)
        self.kubectl("delete", "rayjob", submission.job_id, "--ignore-not-found", seconds=None)
        return self._state_and_outputs(submission.job_id)[0]

    def queued_job(self, submission: Submission) -> JobState | None:
        state = self._state(submission.job_id)
        return state if state.status == "PENDING" else None

    def _state_and_outputs(self, name: str) -> tuple[JobState, Mapping[str, str]]:
        """Return the state of a job, and its files on the volume."""
        state = self._state(name)
        outputs: dict[str, str] = {}
        request = GetFiles(storage=self.storage, names=("k8s", name), files=_OUTPUTS)
        with suppress(BadInput):  # there are none before it has begun
            contents = decoded_files(self.link.call(request, Files), self.link.name)
            outputs = {file: content.decode(errors="replace") for file, content in contents.items()}
        exit_code = outputs.get("exit", "").strip()
        if not state.has_ended or not re.fullmatch(r"\d{1,3}", exit_code):
            return state, outputs
        code = int(exit_code)
        status = {0: "SUCCEEDED", 130: "STOPPED"}.get(code, "FAILED")
        return state.model_copy(update={"status": status, "exit_code": code}), outputs

    def _state(self, name: str) -> JobState:
        printed = self.kubectl("get", "rayjob", name, "--ignore-not-found", "--output=json")
        return _state(json.loads(printed)) if printed.strip() else JobState(status="UNKNOWN")

    def _head_pod(self, name: str) -> str:
        """Return the pod of the head of a job's cluster, "" if there is none."""
        cluster = self._get("rayjob", name).get("status", {}).get("rayClusterName", "")
        selector = f"--selector=ray.io/cluster={cluster},ray.io/node-type=head"
        listed = self.kubectl("get", "pods", selector, "--output=name").split()
        return listed[0] if cluster and listed else ""

    def _jobs(self) -> list[_Json]:
        return json.loads(self.kubectl("get", "rayjobs", "--output=json"))["items"]

    def _get(self, kind: str, name: str) -> _Json:
        return json.loads(self.kubectl("get", kind, name, "--output=json"))


def ray_job(
    name: str, request: SubmitSweep, storage: str, *, job: NodeJob, pod: Mapping[str, Any]
) -> _Json:
    """Return the RayJob of a sweep: the template, with what this sweep asks for.

    Args:
        name: Of the job.
        request: The launch.
        storage: The storage folder on the volume.
        job: What the pods of trials have.
        pod: That of MLflow: image, volumes and security context are taken from it.

    Raises:
        BadInput: If the sweep's file is too large for it.
    """
    made: _Json = yaml.safe_load(files("sweeps.remote").joinpath("rayjob.yaml").read_text("utf-8"))
    noted = {_SWEEP: request.sweep, _WORDS: shlex.join(request.arguments)}
    made["metadata"] = {"name": name, "annotations": noted}
    made["spec"]["entrypoint"] = _entrypoint(name, request, storage)
    if any(word.startswith("--time-limit=") for word in request.arguments):
        made["spec"]["backoffLimit"] = 0  # or each new cluster would have that time
    cluster = made["spec"]["rayClusterSpec"]
    (workers,) = cluster["workerGroupSpecs"]
    workers["maxReplicas"] = job.nodes
    (of_pod,) = pod["containers"][:1]
    for group in (cluster["headGroupSpec"], workers):
        spec = group["template"]["spec"]
        pod_keys = ("volumes", "imagePullSecrets", "securityContext")
        spec |= {key: pod[key] for key in pod_keys if key in pod}
        (container,) = spec["containers"]
        keys = ("image", "imagePullPolicy", "volumeMounts")
        container |= {key: of_pod[key] for key in keys if key in of_pod}
    has = {"cpu": str(job.cores), "memory": f"{job.memory_gib}Gi"}
    gpus = {"nvidia.com/gpu": str(job.gpus_per_node)} if job.gpus_per_node else {}
    (container,) = workers["template"]["spec"]["containers"]
    container["resources"] = {"requests": has, "limits": has | gpus}
    return made


def _entrypoint(name: str, request: SubmitSweep, storage: str) -> str:
    """Return the script of a job, in which no word of the user's is read by the shell.

    Raises:
        BadInput: If it is longer than a command may be.
    """
    folder = f"{storage}/k8s/{name}"
    sweep, *options = request.arguments
    if sweep in request.files:
        sweep = f"./{sweep}"
    variables = {VIEW_VARIABLE: f"{folder}/view", RESUME_VARIABLE: request.resume}
    storage_word = [] if request.storage else [f"--storage={storage}"]
    run = ["capsweep", "run", sweep, "--address=auto", *storage_word, *options]
    lines = [
        f"mkdir -p {shlex.quote(folder)} && cd {shlex.quote(folder)} || exit 2",
        f"rm -f {shlex.join(['exit', *request.files])}",
        "{ [ -f job.out ] && [ ! -L job.out ]; } || rm -rf job.out",
        "set -o noclobber  # so that nothing is written through a link",
        "exec >> job.out 2>&1",
        "trap : TERM  # the launch ends by itself, and then this script",
        *(
            f"printf %s {shlex.quote(text)} > {shlex.quote(file)}"
            for file, text in request.files.items()
        ),
        *(f"export {variable}={shlex.quote(value)}" for variable, value in variables.items()),
        shlex.join([*run, f"--reports={storage}/reports"]),
        "code=$?",
        "echo $code > exit",
        "exit $code",
    ]
    script = "\n".join(lines) + "\n"
    if len(script.encode()) > _LARGEST_ENTRYPOINT:
        raise BadInput(
            f"The sweep's file is too large for a job of Kubernetes, with what it imports of its "
            f"folder: {len(script.encode()):,} bytes, and {_LARGEST_ENTRYPOINT:,} are allowed."
        )
    return script


def _state(job: Mapping[str, Any]) -> JobState:
    """Return the state of a RayJob, as KubeRay writes it."""
    status = job.get("status", {})
    phase, of_ray = status.get("jobDeploymentStatus", ""), status.get("jobStatus", "")
    message = str(status.get("message") or status.get("reason") or "").strip()
    if phase in {"Failed", "ValidationFailed"}:
        return JobState(status="FAILED", message=message)
    if phase == "Complete":
        return JobState(status=of_ray or "SUCCEEDED", message=message)
    if phase == "Running" and of_ray not in {"", "PENDING"}:
        return JobState(status="RUNNING")
    name, stage = job["metadata"]["name"], phase or "KubeRay has not seen it"
    reason = f"{stage}; {message}" if message else stage
    return JobState(status="PENDING", message=f"Job {name} is waiting in Kubernetes: {reason}.")


def _free_name(sweep: str, names: set[str]) -> str:
    """Return the name of a sweep's next job: a label of DNS that begins with a letter."""
    label = sweep.replace("_", "-")
    label = label if label[0].isalpha() else f"sweep-{label}"
    for number in range(1, len(names) + 2):
        name = f"{label[: _LONGEST_NAME - len(str(number)) - 1].rstrip('-')}-{number}"
        if name not in names:
            return name
    raise AssertionError("more names than jobs")


class _Plain(yaml.SafeDumper):
    """Writes texts of several lines as such, and nothing by reference."""

    def represent_scalar(self, tag: str, value: Any, style: str | None = None) -> yaml.ScalarNode:
        style = "|" if "\n" in str(value) else style
        return super().represent_scalar(tag, value, style)

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True
