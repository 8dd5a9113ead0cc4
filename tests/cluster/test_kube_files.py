"""The files for Kubernetes are what KubeRay and Kubernetes take, as far as can be told offline.

KubeRay's definitions of its resources lie in the folder that CAPSWEEP_KUBERAY names. They contain
the schemas of pods, services, claims and network policies too. As by `kubectl apply
--validate=strict`, an unknown field is an error.
"""

import os
import re
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from jsonschema import Draft7Validator
from mlflow.server.security_utils import is_allowed_host_header

from sweeps.remote.kube import ray_job
from sweeps.remote.messages import NodeJob, SubmitSweep

ROOT = Path(__file__).parents[2]
KUBE = ROOT / "deploy" / "kube"
CRDS = os.environ.get("CAPSWEEP_KUBERAY", "")
Json = dict[str, Any]
REQUEST = SubmitSweep(
    dashboard="",
    sweep="mine",
    arguments=("mine.py", "--max-concurrent=2", "--gpus-per-trial=0.5"),
    resume="capsweep submit mine.py --to=k8s",
    files={"mine.py": "SWEEP = 'it''s'\n"},
)
needs_definitions = pytest.mark.skipif(
    not CRDS, reason="CAPSWEEP_KUBERAY names no folder with KubeRay's definitions"
)


def documents() -> dict[str, Json]:
    """Return all documents, by kind: the files' and the job that submit writes."""
    texts = [(KUBE / name).read_text(encoding="utf-8") for name in ("mlflow.yaml", "cluster.yaml")]
    by_kind = {
        document["kind"]: document for text in texts for document in yaml.safe_load_all(text)
    }
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]
    job = NodeJob(nodes=3, gpus_per_node=1)
    return by_kind | {"RayJob": ray_job("mine-1", REQUEST, "/mnt/capsweep/store", job=job, pod=pod)}


@cache
def schemas() -> dict[str, Json]:
    """Return the schema of each kind."""
    cluster, job = (_defined(name) for name in ("rayclusters", "rayjobs"))
    spec = cluster["properties"]["spec"]["properties"]
    head = spec["headGroupSpec"]["properties"]
    pod = head["template"]
    volume = pod["properties"]["spec"]["properties"]["volumes"]["items"]["properties"]
    claim = volume["ephemeral"]["properties"]["volumeClaimTemplate"]["properties"]["spec"]
    rules = spec["networkPolicy"]["properties"]["head"]["properties"]["ingressRules"]
    labels = {"type": "object", "additionalProperties": {"type": "string"}}
    selector = _only(matchLabels=labels)
    return {
        "RayCluster": cluster,
        "RayJob": job,
        "PersistentVolumeClaim": _resource(claim),
        "Service": _resource(head["headService"]["properties"]["spec"]),
        "Deployment": _resource(
            _only(
                replicas={"type": "integer"},
                strategy=_only(type={"enum": ["Recreate", "RollingUpdate"]}),
                selector=selector,
                template=pod,
            )
        ),
        "NetworkPolicy": _resource(
            _only(
                podSelector=selector,
                policyTypes={"type": "array", "items": {"enum": ["Ingress", "Egress"]}},
                ingress=rules,
            )
        ),
    }


def _defined(name: str) -> Json:
    text = Path(CRDS, f"{name}.yaml").read_text(encoding="utf-8")
    versions = yaml.load(text, Loader=yaml.CSafeLoader)["spec"]["versions"]
    (schema,) = (
        version["schema"]["openAPIV3Schema"] for version in versions if version["name"] == "v1"
    )
    schema["properties"]["metadata"] = {"type": "object", "required": ["name"]}
    return _strict(schema)


def _strict(schema: Any) -> Any:
    """Return a schema in which unknown fields are errors, as the API server takes it."""
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    is_open = "additionalProperties" in schema or schema.get("x-kubernetes-preserve-unknown-fields")
    strict = {name: _strict(value) for name, value in schema.items()}
    if "properties" in schema and schema.get("type") == "object" and not is_open:
        strict["additionalProperties"] = False
    return strict


def _only(**properties: Json) -> Json:
    names = sorted(properties)
    return {
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": False,
    }


def _resource(spec: Json) -> Json:
    text = {"type": "string"}
    return _only(apiVersion=text, kind=text, metadata=_only(name=text), spec=spec)


def errors(document: Json) -> list[str]:
    validator = Draft7Validator(schemas()[document["kind"]])
    return [
        f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in validator.iter_errors(document)
    ]


@needs_definitions
@pytest.mark.parametrize("kind", documents())
def test_the_files_fit_the_definitions(kind: str) -> None:
    assert errors(documents()[kind]) == []


class Mutant(NamedTuple):
    """A change that makes a document invalid.

    Attributes:
        kind: Of the document.
        path: To what is changed.
        value: The new one; None deletes it.
    """

    kind: str
    path: str
    value: Any = None


HEAD = "spec.headGroupSpec"
POD = f"{HEAD}.template.spec"
WORKERS = "spec.workerGroupSpecs.0"
MLFLOW = "spec.template.spec.containers.0"
MUTANTS = (
    Mutant("RayCluster", "spec.authOptions.mode", "tokn"),
    Mutant("RayCluster", "spec.authOption", {"mode": "token"}),
    Mutant("RayCluster", "spec.autoscalerOptions.version", "v3"),
    Mutant("RayCluster", "spec.autoscalerOptions.versionn", "v2"),
    Mutant("RayCluster", "spec.autoscalerOptions.idleTimeoutSeconds", "600"),
    Mutant("RayCluster", "spec.rayVersion", 2.6),
    Mutant("RayCluster", "spec.enableInTreeAutoscaling", "yes"),
    Mutant("RayCluster", HEAD),
    Mutant("RayCluster", f"{HEAD}.template"),
    Mutant("RayCluster", f"{HEAD}.rayStartParams.num-cpus", 0),
    Mutant("RayCluster", f"{POD}.containers.0.img", "x"),
    Mutant("RayCluster", f"{POD}.containers.0.env", {"CAPSWEEP_STORAGE": "/x"}),
    Mutant("RayCluster", f"{POD}.containers.0.ports.0.containerPort", "gcs"),
    Mutant("RayCluster", f"{POD}.volumes.0.persistentVolumeClaim.claim", "x"),
    Mutant("RayCluster", f"{WORKERS}.groupName"),
    Mutant("RayCluster", f"{WORKERS}.maxReplicas", "4"),
    Mutant("RayCluster", f"{WORKERS}.template.spec.tolerations", {"operator": "Exists"}),
    Mutant("RayJob", "metadata.name"),
    Mutant("RayJob", "spec.submisionMode", "HTTPMode"),
    Mutant("RayJob", "spec.entrypoint", ["capsweep", "run"]),
    Mutant("RayJob", "spec.backoffLimit", "3"),
    Mutant("RayJob", "spec.shutdownAfterJobFinishes", "true"),
    Mutant("RayJob", "spec.rayClusterSpec.authOptions.mode", "Token"),
    Mutant("RayJob", "spec.rayClusterSpec.workerGroupSpecs.0.template"),
    Mutant("Deployment", f"{MLFLOW}.args", "mlflow server"),
    Mutant("Deployment", f"{MLFLOW}.readinessProbe.httpGet.port"),
    Mutant("Deployment", "spec.template.spec.securityContext.runAsNonRoot", "true"),
    Mutant("PersistentVolumeClaim", "spec.accessModes", "ReadWriteMany"),
    Mutant("Service", "spec.ports.0.port", "http"),
    Mutant("NetworkPolicy", "spec.ingress.0.from", {"podSelector": {}}),
)


@needs_definitions
@pytest.mark.parametrize(
    "mutant",
    MUTANTS,
    ids=lambda mutant: f"{mutant.kind}-{mutant.path.removeprefix('spec.')}={mutant.value}",
)
def test_a_mutant_of_a_file_is_refused(mutant: Mutant) -> None:
    document = deepcopy(documents()[mutant.kind])
    *way, last = mutant.path.split(".")
    place: Any = document
    for step in way:
        place = place[int(step) if step.isdecimal() else step]
    if mutant.value is None:
        del place[last]
    else:
        place[last] = mutant.value
    assert errors(document)


def test_the_cluster_of_a_job_is_that_of_the_file_but_for_what_the_job_asks_for() -> None:
    cluster, job = documents()["RayCluster"]["spec"], documents()["RayJob"]["spec"]
    cluster["workerGroupSpecs"][0]["maxReplicas"] = 3
    assert job["rayClusterSpec"] == cluster


def test_all_files_name_the_same_image_and_the_release_of_ray_that_is_installed_in_it() -> None:
    texts = [path.read_text(encoding="utf-8") for path in KUBE.iterdir()]
    images = {image for text in texts for image in re.findall(r"registry\.\S+", text)}
    assert len(images) == 1
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    version = documents()["RayCluster"]["spec"]["rayVersion"]
    assert f"\nray=={version} " in requirements


def test_mlflow_answers_to_its_services_name_and_to_the_port_that_kubectl_forwards() -> None:
    (line,) = documents()["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    (allowed,) = re.findall(r"--allowed-hosts='(\S+)'", line)
    hosts = allowed.split(",")
    service = documents()["Service"]["metadata"]["name"]
    for host in (f"{service}:5000", "127.0.0.1:40001", "localhost:40001"):
        assert is_allowed_host_header(hosts, host), host
    for host in ("evil.example.org", "evil.example.org:5000", f"{service}.evil.org:5000"):
        assert not is_allowed_host_header(hosts, host), host


def test_only_the_pods_of_sweeps_reach_mlflow_and_none_runs_as_root() -> None:
    by_kind = documents()
    (rule,) = by_kind["NetworkPolicy"]["spec"]["ingress"]
    labels = rule["from"][0]["podSelector"]["matchLabels"]
    cluster = by_kind["RayCluster"]["spec"]
    groups = (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
    for template in (group["template"] for group in groups):
        assert template["metadata"]["labels"] == labels
        assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    assert by_kind["Deployment"]["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"]
    assert by_kind["Service"]["spec"]["type"] == "ClusterIP"
    assert "\nUSER 1000\n" in (KUBE / "Dockerfile").read_text(encoding="utf-8")
