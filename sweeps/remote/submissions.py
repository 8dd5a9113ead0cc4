"""Where sweeps were submitted from this machine, so that later commands find them by name."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from capsmodel.spelling import hint
from sweeps.records.errors import BadInput
from sweeps.storage.folder import PRIVATE, Folder
from sweeps.storage.locations import resolve_storage, resolve_tracking_uri
from sweeps.tracking.validation import valid_names


class Submission(BaseModel):
    """A sweep that was submitted to a cluster.

    Attributes:
        sweep: Its name.
        job_id: The scheduler's id of its job, "" before it has one.
        to: Which scheduler takes it.
        on: The cluster's file, None where only an address was given; for Slurm the login node as
            ssh takes it, None for this machine; for Kubernetes the context of kubectl.
        namespace: Of Kubernetes, None for that of the context.
        address: Address of the cluster's dashboard, None where there is a file.
        words: The options of the launch, after `capsweep run SWEEP`.
        file: The sweep's own file on this machine, None for a sweep of the package.
        storage: The storage folder there; None for the cluster's own.
        tracking_uri: The tracking store; None for the cluster's own.
        folder: Where the command was given: its reports go there.
        resume: The command that submits it again, and follows it while it runs.
        submitted_at: In seconds since 1970.
        is_reported: Whether the report of the ended sweep was written here.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    sweep: str
    job_id: str = ""
    to: Literal["ray", "slurm", "k8s"] = "ray"
    on: str | None = None
    namespace: str | None = None
    address: str | None = None
    words: tuple[str, ...] = ()
    file: str | None = None
    storage: str | None = None
    tracking_uri: str | None = None
    folder: str
    resume: str = ""
    submitted_at: float = Field(default_factory=time.time)
    is_reported: bool = False

    def write(self) -> None:
        """Note it, in place of an earlier one of that name.

        Raises:
            BadInput: If it cannot be written.
        """
        content, notes = self.model_dump_json(indent=1).encode(), _notes()
        try:
            notes.make(0o700).write(f"{self.sweep}.json", content, PRIVATE)
        except OSError as error:
            raise BadInput(
                f"Where '{self.sweep}' was submitted cannot be noted in {notes.path} "
                f"({error.strerror}): later commands do not find it by its name."
            ) from error


def submission_of(
    sweep: str, storage: str | Path | None = None, tracking_uri: str | None = None
) -> Submission | None:
    """Return where a sweep was submitted, None if it was not or a place is given.

    A sweep that was launched later over the storage folder here is that one, unless it was
    submitted over that folder.
    """
    if storage or tracking_uri or not valid_names([sweep]):
        return None
    try:
        noted = Submission.model_validate_json(_notes().read(f"{sweep}.json"))
    except (OSError, BadInput, ValidationError):
        return None
    here = resolve_storage()
    if noted.storage == str(here.root):
        return noted
    try:
        launched_at = (here.journals / f"{sweep}.jsonl").stat().st_mtime
    except OSError:  # it was not launched here
        return noted
    return noted if noted.submitted_at > launched_at else None


def submissions() -> list[Submission]:
    """Return what was submitted from this machine, by name; what cannot be read is left out."""
    notes, noted, names = _notes(), list[Submission](), list[str]()
    with suppress(OSError, BadInput):
        names = notes.names()
    for name in [name for name in names if name.endswith(".json")]:
        with suppress(OSError, BadInput, ValidationError):
            noted.append(Submission.model_validate_json(notes.read(name)))
    return noted


def submitted_only(
    storage: str | Path | None = None, tracking_uri: str | None = None
) -> list[Submission]:
    """Return what was submitted from this machine, if no place is named and nothing is here."""
    here = resolve_storage()
    if storage or tracking_uri or resolve_tracking_uri() != here.default_tracking_uri:
        return []
    is_empty = not (here.root / "mlflow.db").exists() and not here.journals.exists()
    return submissions() if is_empty else []


def check_known(
    sweep: str, storage: str | Path | None = None, tracking_uri: str | None = None
) -> None:
    """Make sure that a sweep that was not submitted may be here.

    Raises:
        BadInput: Naming what was submitted, if nothing is here.
    """
    if known := [submission.sweep for submission in submitted_only(storage, tracking_uri)]:
        raise BadInput(
            f"No sweep '{sweep}' is known here.{hint(sweep, known)} Submitted from this machine: "
            f"{', '.join(known)}."
        )


def check_trials(storage: str | Path | None = None, tracking_uri: str | None = None) -> None:
    """Make sure that trials may be here.

    Raises:
        BadInput: Naming what was submitted, if nothing is here.
    """
    if known := [submission.sweep for submission in submitted_only(storage, tracking_uri)]:
        raise BadInput(
            f"No trial is known here. Submitted from this machine: {', '.join(known)}. Their "
            f"trials are shown on the head of their cluster."
        )


def _notes() -> Folder:
    """Return the folder of the notes, one file per sweep.

    Raises:
        BadInput: If the user has no home.
    """
    try:
        folder = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    except RuntimeError as error:
        raise BadInput("There is no home folder to note submitted sweeps in: set HOME.") from error
    return Folder(folder, "capsweep", "submitted")
