"""The GPUs of this machine, and how much of their memory is free."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache

from pydantic import BaseModel, ConfigDict, TypeAdapter

_PROBE_SECONDS = 120.0
_PROBE = """
import json, torch

def describe(number):
    has = torch.cuda.get_device_properties(number)
    free, total = torch.cuda.mem_get_info(number)
    uuid = str(getattr(has, "uuid", ""))
    return {"uuid": uuid, "name": has.name, "total_bytes": total, "free_bytes": free}

print(json.dumps([describe(number) for number in range(torch.cuda.device_count())]))
"""


class Card(BaseModel):
    """A GPU of this machine.

    Attributes:
        number: Its place in CUDA's order, as this process sees it.
        visible_as: What `CUDA_VISIBLE_DEVICES` is to say for a process to see it alone.
        name: Its product name.
        total_bytes: Its memory.
        free_bytes: What other programs left of it when the launch began.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    visible_as: str
    name: str
    total_bytes: int
    free_bytes: int

    @property
    def label(self) -> str:
        """Its number for `CUDA_VISIBLE_DEVICES`, where that is known; else its place."""
        return self.visible_as if self.visible_as.isdigit() else str(self.number)

    @property
    def is_shared(self) -> bool:
        """Whether other programs use much of it."""
        return self.free_bytes < _MOST_IDLE_USE * self.total_bytes

    def described(self) -> str:
        """Return it in words: NVIDIA H100 (79.1 of 79.6 GiB free)."""
        free, total = (f"{size / 2**30:.1f}" for size in (self.free_bytes, self.total_bytes))
        others = "; other programs use the rest" if self.is_shared else ""
        return f"{self.name} ({free} of {total} GiB free{others})"


_MOST_IDLE_USE = 0.9  # a driver, a desktop and the context of the probe take some memory


@cache
def cards_here() -> tuple[Card, ...]:
    """Return the GPUs that this process sees, in CUDA's order, as they were at the first call.

    A process of its own asks CUDA, which takes memory of each GPU until the process ends. That
    takes seconds, so the answer is kept; `cards_here.cache_clear()` has it asked again.

    Raises:
        OSError: If CUDA cannot be asked, in one sentence.
    """
    visible_devices = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"CUDA did not answer within {_PROBE_SECONDS:g} seconds") from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().rpartition("\n")[2]
        raise OSError(f"CUDA does not work here: {reason}") from error
    return cards_of(done.stdout, visible_devices)


def cards_of(answer: str, visible_devices: str | None) -> tuple[Card, ...]:
    """Return the cards of the probe's answer.

    Args:
        answer: A JSON list, in CUDA's order.
        visible_devices: `CUDA_VISIBLE_DEVICES` of this process, None if it is not set. Where it is
            set, its names are used, as they may name parts of a card.
    """
    probed = TypeAdapter(list[dict[str, str | int]]).validate_python(json.loads(answer))
    names: Sequence[str] = visible_devices.split(",") if visible_devices else ()
    return tuple(
        Card(
            number=number,
            visible_as=_visible_as(number, str(card["uuid"]), names),
            name=str(card["name"]),
            total_bytes=int(card["total_bytes"]),
            free_bytes=int(card["free_bytes"]),
        )
        for number, card in enumerate(probed)
    )


def _visible_as(number: int, uuid: str, names: Sequence[str]) -> str:
    if number < len(names):
        return names[number].strip()
    return f"GPU-{uuid.removeprefix('GPU-')}" if uuid else str(number)
