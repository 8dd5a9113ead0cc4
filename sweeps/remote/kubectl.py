"""Kubernetes as `kubectl` reaches it: what it answers, or one sentence about why it does not."""

import re
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.remote.link import Link, MachineUnreachable

_ANSWER_SECONDS = 60.0
_POLL_SECONDS = 0.05
_NOISE = re.compile(r"^(?:[EWI]\d{4} .*|command terminated with exit code \d+)$", re.MULTILINE)
_PREFIX = re.compile(r"^(?:error: |Error from server(?: \(\w+\))?: )+")
_FORWARDED = re.compile(r"127\.0\.0\.1:(\d+) ->")
_REFUSALS: Mapping[str, str] = {
    r'resource type "rayjobs|no matches for kind "RayJob"': (
        "KubeRay is not installed in this cluster: install its operator, 1.5.1 or newer."
    ),
    r"current-context is not set": (
        "kubectl has no current context: name one of 'kubectl config get-contexts' with --on."
    ),
    r"context was not found for specified context: (?P<name>.*)|context \"(?P<it>.*)\" does not": (
        "kubectl has no context '{name}': name one of 'kubectl config get-contexts' with --on."
    ),
    r'deployments\.apps "(?P<name>.*)" not found': (
        "There is no {name} in this namespace: kubectl apply -f deploy/kube/mlflow.yaml first, or "
        "name its namespace with --namespace."
    ),
    r'persistentvolumeclaims "(?P<name>.*)" not found': (
        "There is no volume claim '{name}', which capsweep-mlflow names: kubectl apply -f "
        "deploy/kube/mlflow.yaml makes one."
    ),
    r'namespaces "(?P<name>.*)" not found': (
        "There is no namespace '{name}': name another with --namespace."
    ),
    r"executable file not found": (
        "The image of capsweep-mlflow has no capsweep: make it from deploy/kube/Dockerfile."
    ),
}
_SILENT = r"was refused - did you|[Uu]nable to connect|i/o timeout|no such host|TLS handshake"


@dataclass(frozen=True)
class Kubectl:
    """kubectl for one cluster and namespace.

    Attributes:
        context: As kubectl's configuration names it.
        namespace: None for that of the context.
    """

    context: str
    namespace: str | None = None

    def command(self, *arguments: str) -> list[str]:
        """Return the command line."""
        namespace = [f"--namespace={self.namespace}"] if self.namespace else []
        return ["kubectl", f"--context={self.context}", *namespace, *arguments]

    def __call__(self, *arguments: str, seconds: float | None = _ANSWER_SECONDS) -> str:
        """Return what a command prints.

        Args:
            arguments: After `kubectl`.
            seconds: How long it may take; None for any time.

        Raises:
            BadInput: If it cannot be called, or fails.
        """
        return _printed(self.command(*arguments), seconds)

    @contextmanager
    def forwarded(self, service: str, port: int) -> Generator[int]:
        """Yield a port here that leads to a service's while the block runs.

        Raises:
            BadInput: If kubectl cannot make it.
        """
        command = self.command(
            "port-forward", "--address=127.0.0.1", f"service/{service}", f":{port}"
        )
        with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=errors,
                start_new_session=True,  # a Ctrl-C is this process's alone
            )

            def printed(file: IO[str]) -> str:
                file.seek(0)
                return file.read()

            try:
                deadline = time.monotonic() + _ANSWER_SECONDS
                while not (match := _FORWARDED.search(printed(log))):
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise refusal("port-forward", printed(errors))
                    time.sleep(_POLL_SECONDS)
                yield int(match[1])
            finally:
                process.terminate()
                process.wait()


class KubectlLink(Link):
    """A way to the agent in a pod.

    Args:
        kubectl: Leads to its cluster.
        pod: As `kubectl exec` names it.
        name: In sentences.
    """

    def __init__(self, kubectl: Kubectl, pod: str, name: str) -> None:
        super().__init__(kubectl.command("exec", "--stdin", pod, "--", "capsweep-agent"), name)

    def failure(self, exit_code: int | None, printed: str) -> BadInput:
        del exit_code
        return refusal("exec", printed)


def current_context() -> str:
    """Return the context that kubectl takes if none is named.

    Raises:
        BadInput: If there is none, or no kubectl.
    """
    return _printed(["kubectl", "config", "current-context"], _ANSWER_SECONDS).strip()


def refusal(verb: str, errors: str) -> BadInput:
    """Return why a command of kubectl has failed.

    Args:
        verb: Its first word.
        errors: Its standard error.
    """
    lines = [_PREFIX.sub("", line) for line in _NOISE.sub("", errors).splitlines() if line.strip()]
    reason = one_line("; ".join(filter(None, lines)))[:400].rstrip(".") or "it has said nothing"
    for pattern, sentence in _REFUSALS.items():
        if match := re.search(pattern, errors):
            names = [name for name in match.groupdict().values() if name]
            return BadInput(sentence.format(name=names[0].strip() if names else ""))
    if "(Forbidden)" in errors or "is forbidden" in errors:
        return BadInput(f"Kubernetes forbids it: {reason}. Ask for that right in this namespace.")
    if re.search(_SILENT, errors):
        return MachineUnreachable(f"Kubernetes does not answer: {reason}.")
    return BadInput(f"kubectl {verb} was refused: {reason}.")


def _printed(command: Sequence[str], seconds: float | None) -> str:
    verb = next(word for word in command[1:] if not word.startswith("--"))
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise BadInput(
            "There is no kubectl here: install it, and make 'kubectl get pods' work first."
        ) from None
    except subprocess.TimeoutExpired:
        raise MachineUnreachable(
            f"Kubernetes has not answered 'kubectl {verb}' in {seconds:.0f} s: try again later."
        ) from None
    if ended.returncode:
        raise refusal(verb, ended.stderr)
    return ended.stdout
