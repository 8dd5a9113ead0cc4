"""`capsweep limit`."""

import re
from typing import Annotated

import typer

from sweeps.cli.options import NameArgument, StorageOption
from sweeps.cli.terminal import say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.remote.submissions import check_known, submission_of

_NO_LIMIT = "none"


def limit(
    name: NameArgument,
    number: Annotated[
        str, typer.Argument(help="Trials at once from now on; 'none' for as many as fit.")
    ],
    storage: StorageOption = None,
) -> None:
    """Change how many trials a running launch trains at once; those that run go on."""
    most = _read_number(number)
    if submission := submission_of(name, storage):
        from sweeps.cli.remote_sweeps import set_concurrency_there

        set_concurrency_there(submission, number)
        return
    check_known(name, storage)
    from sweeps.execution.launch_process.concurrency import request_concurrency

    request_concurrency(name, most, storage)
    if not is_quiet():
        trials = "as many trials as fit" if most is None else f"{most:,} trial{'s' * (most != 1)}"
        say(f"The launch of '{name}' runs {trials} at once from now on, within some seconds.")


def _read_number(text: str) -> int | None:
    if text == _NO_LIMIT:
        return None
    if not re.fullmatch("[0-9]{1,9}", text) or not int(text):
        raise BadInput(
            f"The number of trials at once must be a whole number of at least 1, or '{_NO_LIMIT}' "
            f"for as many as fit, got '{text}'."
        )
    return int(text)
