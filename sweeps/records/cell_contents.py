"""What a trial tells: the values that its cell's folder holds, and records are filled from."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from capsmodel.metrics import EXTRA_TEST_ERROR, TEST_ERROR, EpochMetrics
from capsmodel.settings.parts import later
from sweeps.records.bounds import Count, Json, Seconds, Whole
from sweeps.records.trial_record import SCHEMA_VERSION, Outcome, Slug, Target


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class TrialSpec(_Frozen):
    """What is known of a trial when it starts.

    Attributes:
        source: Text of the user's own file, None for parts of the package.
        source_name: The name of that file.
        device: What torch is told: "cpu" or "cuda".
        hardware: The device by its name, as the worker found it.
        versions: Versions of packages, Python and platform, as the worker found them.
        gradient_checkpointing: Whether the launch asked for memory to be spared at the cost of
            time, which changes no result.
        plan: Hash of all that determines the decisions of the sweep's plan, "" for a design.
        code: What the user's parts reach outside of their file: the digest of each module, and the
            version of each distribution that capsweep itself does not require.
    """

    schema_version: Literal[1] = SCHEMA_VERSION
    trial_key: str
    sweep: str
    arm: str
    seed: Whole
    config: Json
    source: str | None = None
    source_name: str = later("")
    data_fingerprint: str = ""
    num_parameters: Count = 0
    device: str = "cpu"
    hardware: str = ""
    threads: Count = 1
    git_revision: str = ""
    versions: dict[str, str] = {}
    gradient_checkpointing: bool = False
    plan: str = later("")
    code: dict[str, str] = later({})


class OutboxLine(_Frozen):
    """One line of the outbox.

    Attributes:
        time: Milliseconds since 1970; a re-sent metric keeps it, so that a store drops the copy.
        fence: Number of the lease it was written under.
        peak_memory_bytes: Peak memory of an epoch's attempt so far.
        warnings: What is unsound in the training after an epoch, a sentence each.
        is_out_of_memory: Whether a failed trial ran out of memory.
        is_out_of_gpu_memory: Whether that was its GPU's.
        is_deterministic: Whether a failed trial raised an error that another attempt would raise.
    """

    type: Literal["start", "epoch", "failed", "pruned"]
    time: Whole
    fence: Count
    head: TrialSpec | None = None
    epoch: EpochMetrics | None = None
    peak_memory_bytes: Count | None = None
    reason: str = ""
    warnings: tuple[str, ...] = later(())
    is_out_of_memory: bool = False
    is_out_of_gpu_memory: bool = False
    is_deterministic: bool = False


class SealedFile(_Frozen):
    """A file of a cell's folder, as it was when the final record was written."""

    size: Count
    sha256: str


class FinalRecord(_Frozen):
    """What fills a cell.

    Attributes:
        head: Spec of the last attempt.
        extra_test_errors: Name of an extra test -> its error.
        target: Whether a finished trial reached what its stopping asks for, None if nothing.
        warnings: What was found unsound in it, a sentence each.
        num_images: Split -> number of its images.
        data_notes: What is unusual in the data, a sentence each.
        duration_seconds: Duration of the last attempt, and of the epochs it took over.
        peak_memory_bytes: The largest of all attempts; None where the machine cannot tell.
        files: Name -> size and hash of each file that belongs to it.
    """

    head: TrialSpec
    outcome: Outcome
    reason: str = ""
    curve: tuple[EpochMetrics, ...]
    test_error: float | None = None
    extra_test_errors: dict[Slug, float] = {}
    target: Target | None = None
    warnings: tuple[str, ...] = ()
    num_images: dict[str, Count] = later({})
    data_notes: tuple[str, ...] = later(())
    duration_seconds: Seconds
    peak_memory_bytes: Count | None = None
    time: Whole
    fence: Count
    files: dict[str, SealedFile] = later({})

    @property
    def tested(self) -> EpochMetrics | None:
        """The epoch whose weights were tested, of any other trial the last; None without epochs."""
        if not self.curve:
            return None
        last = self.curve[-1]
        return self.curve[last.tested_epoch - 1] if self.outcome is Outcome.FINISHED else last

    def test_errors(self) -> dict[str, float]:
        """Return the errors on test splits by the names of their metrics."""
        if self.test_error is None:
            return {}
        extra = {EXTRA_TEST_ERROR + name: error for name, error in self.extra_test_errors.items()}
        return {TEST_ERROR.name: self.test_error} | extra
