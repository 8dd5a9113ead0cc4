"""The agent: it does one thing on its machine for a command that was given on another.

`capsweep-agent` reads a request from standard input and answers by lines of JSON on standard
output. It ends with its input, as nobody waits for the answer then. Services that it starts stay.
"""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError

from sweeps.execution.channel import Channel, Message, Pulse, channel_to_parent
from sweeps.execution.periodic import every
from sweeps.records.errors import SweepError
from sweeps.remote import jobs, node, probes, slurm
from sweeps.remote.messages import REQUEST, Answer, Failed, Send

_PULSE_SECONDS = 5.0
CALLS: Mapping[str, Callable[[Any, Send], Message]] = {
    "facts": node.facts,
    "run": node.run_command,
    "running": node.running,
    "prepare_data": node.prepare_data,
    "start_head": node.start_head,
    "start_worker": node.start_worker,
    "stop": node.stop,
    "nodes": jobs.nodes,
    "submit": jobs.submit,
    "run_job": jobs.run_job,
    "stop_job": jobs.stop_job,
    "follow": jobs.follow,
    "hold_lock": probes.hold_lock,
    "probe": probes.probe,
    "slurm": slurm.facts,
    "submit_to_slurm": slurm.submit,
    "try_on_slurm": slurm.dry_run,
    "follow_slurm_job": slurm.follow,
    "stop_slurm_job": slurm.stop,
    "files": node.read_files,
}


def main() -> None:
    """Serve one request."""
    channel = channel_to_parent()
    line = channel.receive()
    assert line is not None
    threading.Thread(target=_end_with_input, args=(channel,), daemon=True).start()
    with every(_PULSE_SECONDS, lambda: channel.send(Pulse())):
        reply = _reply(line, channel)
    channel.send(reply)
    sys.stdout.flush()
    os._exit(0)  # threads of Ray may go on


def _reply(line: bytes, channel: Channel) -> Answer | Failed:
    try:
        request = REQUEST.validate_json(line)
    except ValidationError:
        return Failed(sentence=_other_release())
    if request.release != version("capsweep"):
        return Failed(sentence=_other_release(request.release))
    try:
        return Answer(value=CALLS[request.call](request, channel.send).model_dump(mode="json"))
    except SweepError as error:
        return Failed(sentence=str(error))


def _other_release(release: str = "another release") -> str:
    return (
        f"{os.uname().nodename} has capsweep {version('capsweep')} and this machine {release}: "
        f"install the same release on both."
    )


def _end_with_input(channel: Channel) -> None:
    try:
        while channel.receive() is not None:
            pass
    except EOFError:
        for call in node.AT_END:
            with suppress(OSError):
                call()
        os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
