"""What a storage folder and its MLflow database hold, read without MLflow."""

import json
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sweeps.records.sweep_log import entries_of, manifest_of


@dataclass(frozen=True)
class OutboxFacts:
    """What one outbox tells.

    Attributes:
        starts: Fence number of each start.
        epochs: (epoch, fence) in the order told.
    """

    starts: list[int]
    epochs: list[tuple[int, int]]

    def went_on(self) -> bool:
        """Return whether an attempt after the first went on where an earlier one had stopped."""
        later = [(epoch, fence) for epoch, fence in self.epochs if fence > self.starts[0]]
        return bool(later) and later[0][0] > 1


@dataclass(frozen=True)
class RunFacts:
    """One live MLflow run.

    Attributes:
        steps: Steps of each metric's history, in the order of writing.
        artifacts: Folder of its artifacts.
    """

    status: str
    tags: dict[str, str]
    steps: dict[str, list[int]]
    artifacts: Path

    @property
    def place(self) -> tuple[str, int]:
        """Arm and seed."""
        return self.tags["capsweep.arm"], int(self.tags["capsweep.seed"])

    @property
    def outcome(self) -> str:
        """The outcome as it is tagged."""
        return self.tags["capsweep.outcome"]


def outboxes(storage: Path) -> dict[str, OutboxFacts]:
    """Return what every cell's outbox tells, by trial key."""
    result: dict[str, OutboxFacts] = {}
    for path in storage.glob("cells/*/outbox.jsonl"):
        lines = _whole_lines(path)
        result[path.parent.name] = OutboxFacts(
            starts=[line["fence"] for line in lines if line["type"] == "start"],
            epochs=[
                (line["epoch"]["epoch"], line["fence"]) for line in lines if line["type"] == "epoch"
            ],
        )
    return result


def num_reported_epochs(storage: Path) -> int:
    """Return how many epochs all outboxes tell of."""
    return sum(len(facts.epochs) for facts in outboxes(storage).values())


def num_starts(storage: Path) -> int:
    """Return how many attempts at trials all outboxes tell of."""
    return sum(num_starts_by_key(storage).values())


def num_starts_by_key(storage: Path) -> dict[str, int]:
    """Return the same of each trial, by trial key."""
    return {key: len(facts.starts) for key, facts in outboxes(storage).items()}


def trial_runs(database: Path, artifacts: Path | None = None) -> list[RunFacts]:
    """Return the live runs of trials that were not replaced.

    Args:
        database: MLflow's SQLite file.
        artifacts: Of a server that keeps them itself.
    """
    return [
        run
        for run in _runs(database, artifacts)
        if run.tags.get("capsweep.type") == "trial" and "capsweep.replaced" not in run.tags
    ]


def parent_runs(database: Path) -> dict[str, RunFacts]:
    """Return the live runs of sweeps, by name; each name may have one."""
    runs = [run for run in _runs(database) if run.tags.get("capsweep.type") == "sweep"]
    names = Counter(run.tags["capsweep.sweep"] for run in runs)
    assert set(names.values()) <= {1}, names
    return {run.tags["capsweep.sweep"]: run for run in runs}


@dataclass(frozen=True)
class SearchFacts:
    """What two logs say of a search: that in the storage folder, and its copy in MLflow.

    Attributes:
        proposals: Number and params of each, as the log in the storage folder has them.
        stopped: Trial key -> epoch and value of the verdict that ended it, likewise.
        manifest: The current one.
    """

    proposals: list[tuple[int, dict[str, Any]]]
    stopped: dict[str, tuple[int, float]]
    manifest: dict[str, Any]


def search_facts(storage: Path, sweep: str) -> SearchFacts:
    """Return what is known of a search; its log may hold one definition only."""
    decisions = _decisions(storage, sweep)
    proposals: dict[int, dict[str, Any]] = {}
    for kind, content in decisions:
        for cell in content["cells"] if kind == "propose" else ():
            params = proposals.setdefault(int(cell["arm"].split()[-1]), cell["settings"])
            assert params == cell["settings"], "all cells of a proposal have its params"
    stops = [content for kind, content in decisions if kind == "stop"]
    parent = parent_runs(storage / "mlflow.db")[sweep]
    digest = parent.tags["capsweep.log_sha256"][:16]
    log = next(parent.artifacts.glob(f"sweep-logs/{digest}.jsonl")).read_bytes()
    manifest = manifest_of(entries_of(log))
    assert manifest
    return SearchFacts(
        proposals=sorted(proposals.items()),
        stopped={stop["trial_key"]: (stop["epoch"], stop["value"]) for stop in stops},
        manifest=manifest.model_dump(mode="json"),
    )


def num_published(storage: Path, sweep: str) -> int:
    """Return how many cells a search has by its log in MLflow; none before there is one."""
    with suppress(KeyError, StopIteration, OSError, sqlite3.Error, ValueError):
        return len(search_facts(storage, sweep).manifest["cells"])
    return 0


def decided(storage: Path, sweep: str, kind: str) -> list[tuple[str, int]]:
    """Return trial and epoch of a log's verdicts of a kind; none before there is a log."""
    if not (storage / "journals" / f"{sweep}.jsonl").exists():
        return []
    reported = [
        content for logged_kind, content in _decisions(storage, sweep) if logged_kind == kind
    ]
    return [(content["trial_key"], content["epoch"]) for content in reported]


def _decisions(storage: Path, sweep: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the log's decisions in their order, each with its kind."""
    lines = _whole_lines(storage / "journals" / f"{sweep}.jsonl")
    entries = [line["entry"] for line in lines if line["entry"]["type"] == "decided"]
    return [(entry["kind"], entry["decision"]) for entry in entries]


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    return [json.loads(line) for line in raw[: raw.rfind(b"\n") + 1].splitlines() if line.strip()]


def _runs(database: Path, artifacts: Path | None = None) -> list[RunFacts]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        rows = connection.execute(
            "select run_uuid, status, artifact_uri from runs where lifecycle_stage = 'active'"
        ).fetchall()
        return [
            RunFacts(
                status=status,
                tags=dict(
                    connection.execute("select key, value from tags where run_uuid = ?", (run,))
                ),
                steps=_steps(connection, run),
                artifacts=_folder(uri, artifacts or database.parent / "artifacts"),
            )
            for run, status, uri in rows
        ]


def _steps(connection: sqlite3.Connection, run: str) -> dict[str, list[int]]:
    steps: dict[str, list[int]] = {}
    rows = connection.execute("select key, step from metrics where run_uuid = ?", (run,))
    for key, step in rows:
        steps.setdefault(key, []).append(step)
    return {key: sorted(result) for key, result in steps.items()}


def _folder(uri: str, artifacts: Path) -> Path:
    parts = urlsplit(uri)
    is_served = parts.scheme == "mlflow-artifacts"
    return artifacts / parts.path.lstrip("/") if is_served else Path(parts.path)


def expect_each_epoch_trained_once(
    storage: Path, database: Path, num_cells: int, num_epochs: int
) -> None:
    """Check that each cell has one finished run, and was trained once from end to end."""
    runs = trial_runs(database)
    assert [run.status for run in runs] == ["FINISHED"] * num_cells
    assert len({run.tags["capsweep.trial_key"] for run in runs}) == num_cells
    for key, facts in outboxes(storage).items():
        assert [epoch for epoch, _ in facts.epochs] == list(range(1, num_epochs + 1)), key
