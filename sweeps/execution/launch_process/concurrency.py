"""Changes how many trials a running launch trains at once, from another shell.

The request is a file beside the launch's lock, which the launch reads every few seconds: so it
also reaches a launch on another machine of the same storage. It names the process that it is for,
and counts for no later launch.
"""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sweeps.execution.launch_process.launch_lock import LaunchProcess, process_of
from sweeps.execution.launch_process.stop import check_runs
from sweeps.records.errors import BadInput
from sweeps.storage.folder import in_storage
from sweeps.storage.locations import resolve_storage

_MOST_BYTES = 2000


class ConcurrencyRequest(BaseModel):
    """A request to a launch.

    Attributes:
        launch: The process that it is for.
        max_concurrent: Trials at once at most; None for as many as fit.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")  # a later release may say more

    launch: LaunchProcess
    max_concurrent: Annotated[int, Field(ge=1)] | None


def request_concurrency(
    sweep: str, max_concurrent: int | None, storage_folder: str | Path | None = None
) -> None:
    """Ask the running launch of a sweep to train so many trials at once from now on.

    Args:
        sweep: Its name.
        max_concurrent: How many at most; None for as many as fit.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.

    Raises:
        BadInput: If no launch runs, or it does not say which process it is.
    """
    storage = resolve_storage(storage_folder)
    check_runs(sweep, storage, "nothing was changed")
    if (launch := process_of(storage.journals, sweep)) is None:
        raise BadInput(
            f"'{sweep}' is locked by a process that does not identify itself: clean, repair or "
            f"delete, or a launch that begins. Give the command again when it trains."
        )
    request = ConcurrencyRequest(launch=launch, max_concurrent=max_concurrent)
    content = request.model_dump_json().encode()
    in_storage(storage.journals).write(concurrency_file(sweep), content)


def requested_concurrency(journals: Path, sweep: str) -> ConcurrencyRequest | None:
    """Return what the running launch of a sweep was asked for last, None for nothing."""
    launch = process_of(journals, sweep)
    try:
        content = in_storage(journals).read(concurrency_file(sweep), _MOST_BYTES)
        request = ConcurrencyRequest.model_validate_json(content)
    except (OSError, BadInput, ValidationError):  # none, or not one of ours
        return None
    return request if request.launch == launch else None


def withdraw_request(journals: Path, sweep: str) -> None:
    """Remove what a launch was asked for, as it has ended. What stays counts for no other one."""
    with suppress(OSError, BadInput):
        in_storage(journals).remove(concurrency_file(sweep))


def concurrency_file(sweep: str) -> str:
    """Return the name of the file with a sweep's request."""
    return f"{sweep}.concurrency"
