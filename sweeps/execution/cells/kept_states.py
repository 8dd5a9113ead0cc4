"""The states of finished trainings, from which longer trainings go on.

A state is the whole of a training after its last epoch, as its checkpoint holds it. It lies outside
of the cell's folder, below a key that trainings of all lengths share, where a longer one finds it:

    states/KEY/EPOCHS-LENGTH-STEPS-MACHINE-DIGEST.safetensors

EPOCHS were trained of LENGTH, in STEPS each. MACHINE stands for all that may change the last bits
of a number. DIGEST is of the content: a file that a disk or a stranger has changed is not used.
The file of a training whose rates or margins follow its length is empty: it says only that there
was one, so that a longer one can say why it does not go on from it.
Nothing needs a state: without it the longer training begins anew.
"""

import hashlib
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.storage.folder import in_storage

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig

_NAME = re.compile(
    r"(?P<num_epochs>\d{1,6})-(?P<length>\d{1,6})-(?P<steps_per_epoch>\d{1,9})"
    r"-(?P<machine>[0-9a-f]{8})-(?P<digest>[0-9a-f]{32})\.safetensors"
)


class KeptState(NamedTuple):
    """The state of a training, by the name of its file.

    Attributes:
        num_epochs: Epochs that were trained.
        length: Epochs of the training if nothing had ended it earlier.
        steps_per_epoch: Steps of each epoch.
        machine: As `machine_of` returns it.
        digest: Of the file's content.
    """

    num_epochs: int
    length: int
    steps_per_epoch: int
    machine: str
    digest: str

    @property
    def file_name(self) -> str:
        """The name of its file."""
        return f"{'-'.join(map(str, self))}.safetensors"


class KeptStates:
    """The states of trainings that differ in their length alone.

    Args:
        states: The folder of all states.
        config: Settings of one of them.
        seed: Their seed.
        fingerprint: Of the data that it was or will be trained on.
    """

    def __init__(self, states: Path, config: "TrainingConfig", seed: int, fingerprint: str) -> None:
        from capsmodel.training.longer import of_length  # here: torch, which launches load late
        from search_spaces.trial_key import trial_keys

        self._config = config
        self._files = in_storage(states) / trial_keys(of_length(config, 1), fingerprint)(seed)

    def keep(
        self, content: bytes, spec: TrialSpec, *, num_epochs: int, steps_per_epoch: int
    ) -> None:
        """Keep the state of a training; an empty file where no longer training can go on from it.

        Args:
            content: Of its checkpoint.
            spec: Says on what machine it was trained.
            num_epochs: Epochs that were trained.
            steps_per_epoch: Steps of each epoch.
        """
        from capsmodel.training.longer import of_length, what_follows_length

        length = self._config.stopping.num_epochs
        longer = of_length(self._config, 2 * length)
        if what_follows_length(longer, length, steps_per_epoch):
            content = b""
        machine = machine_of(spec)
        state = KeptState(num_epochs, length, steps_per_epoch, machine, _digest(content))
        self._files.make().write(state.file_name, content)
        for other in self.all():
            if other[:-1] == state[:-1] and other != state:
                self._files.remove(other.file_name)  # of an attempt that was killed at its end

    def all(self) -> list[KeptState]:
        """Return all that are kept, the shortest training first."""
        matches = map(_NAME.fullmatch, self._files.names())
        found = [match.groupdict() for match in matches if match]
        return sorted(
            KeptState(
                int(parts["num_epochs"]),
                int(parts["length"]),
                int(parts["steps_per_epoch"]),
                parts["machine"],
                parts["digest"],
            )
            for parts in found
        )

    def to_go_on_from(self, machine: str | None = None) -> tuple[KeptState | None, str]:
        """Return the longest shorter one that the training can go on from, and why not from others.

        Args:
            machine: As `machine_of` returns it; None for any.
        """
        from capsmodel.training.longer import what_follows_length

        reason = ""
        for state in reversed(self.all()):
            if state.length >= self._config.stopping.num_epochs:
                continue
            if machine not in {None, state.machine}:
                reason = reason or "it was trained on another kind of machine or version of PyTorch"
            elif other := what_follows_length(self._config, state.length, state.steps_per_epoch):
                reason = reason or other
            else:
                return state, reason
        return None, reason

    def read(self, state: KeptState) -> bytes | None:
        """Return the content of a state, None if it is gone or damaged."""
        with suppress(FileNotFoundError, BadInput):
            content = self._files.read(state.file_name, most_bytes=2**40)
            if _digest(content) == state.digest:
                return content
        return None

    def remove(self) -> None:
        """Remove all of them."""
        for state in self.all():
            self._files.remove(state.file_name)


def machine_of(spec: TrialSpec) -> str:
    """Return what stands for all that may change the last bits of a trial's numbers.

    Args:
        spec: Of the trial, with what its worker has found.
    """
    parts = (spec.device, spec.hardware, spec.threads, spec.versions.get("torch", ""))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
