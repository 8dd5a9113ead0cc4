"""What every store checks alike: which record counts, what is valid, and the errors to raise."""

import logging
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from pydantic import ValidationError

from capsmodel.spelling import hint
from sweeps.records import trial_record as names
from sweeps.records.errors import BadInput, UnknownSweep
from sweeps.records.evaluation_names import EVALUATION_FILE
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import shortened
from sweeps.records.suggested_command import Advice, SuggestedCommand
from sweeps.records.sweep_log import Entry, declared_last, entries_of, manifest_of
from sweeps.records.trial_record import ConfigDocument, Json, TrialRecord
from sweeps.tracking.addresses import place_words

_logger = logging.getLogger(__name__)
_ARTIFACTS = frozenset(
    {
        names.ARTIFACT_CONFIG,
        names.ARTIFACT_PREDICTIONS,
        names.ARTIFACT_WEIGHTS,
        names.ARTIFACT_LOG,
        names.ARTIFACT_SOURCE,
    }
)


def counted_records(records: Iterable[TrialRecord | None]) -> dict[str, TrialRecord]:
    """Return the record of each trial key that counts: a final one, or the one that is first."""
    counting: dict[str, TrialRecord] = {}
    for record in records:
        keep(counting, record)
    return counting


def keep(counting: dict[str, TrialRecord], record: TrialRecord | None) -> None:
    """Add a record, unless its trial has an earlier one that is as final."""
    if record is None:
        return
    other = counting.get(record.trial_key)
    if other is None or (record.outcome.is_final and not other.outcome.is_final):
        counting[record.trial_key] = record


def warn_invalid(record_id: str, error: ValidationError) -> None:
    """Log a warning about a record that is not valid."""
    _logger.warning("Run %s is left out, no valid record: %s", record_id, first_error(error))


def warn_long(record_id: str, name: str) -> None:
    """Log a warning about a record with a text that none of ours is as long as."""
    _logger.warning(
        "Run %s is left out: its %s is longer than any text of a record. %s records the "
        "trial again.",
        record_id,
        shortened(name, 80),
        SuggestedCommand("repair"),
    )


def single_record(records: Mapping[str, TrialRecord], prefix: str, address: str) -> TrialRecord:
    """Return the only record of a prefix of a trial key.

    Raises:
        BadInput: If there is none, or several.
    """
    if not records:
        raise BadInput(
            f"There is no trial '{prefix}' in {place_words(address)}: "
            "give the first characters of its trial key, as in trials.csv, or its run id."
        )
    if len(records) > 1:
        shown = ", ".join(sorted(records)[:5]) + (", ..." if len(records) > 5 else "")
        raise BadInput(f"'{prefix}' is the beginning of {len(records)} trial keys: {shown}.")
    return next(iter(records.values()))


def unknown_sweep(sweep: str, known: Sequence[str], address: str) -> UnknownSweep:
    """Return the error for a sweep that does not exist, with the nearest known name."""
    if of_data_sets := [name for name in known if name.startswith(f"{sweep}--")]:
        return UnknownSweep(
            f"'{sweep}' is a sweep across data sets: give the sweep of one of them: "
            f"{', '.join(of_data_sets)}.",
            "",  # no file defines it better
            has_hint=True,
        )
    near = hint(str(sweep), known)
    return UnknownSweep(
        f"There is no sweep '{sweep}' in {place_words(address)}.{near}"
        + (f" Known: {', '.join(known)}." if known else " It holds no sweeps yet."),
        str(sweep),
        has_hint=bool(near),
    )


def deleted_sweep(sweep: str, address: str) -> BadInput:
    """Return the error for a sweep whose own record somebody has deleted."""
    return BadInput(
        f"The sweep '{sweep}' was deleted in MLflow, in {place_words(address)}: "
        f"`{SuggestedCommand('repair', sweep)}` records it again, from the storage folder that "
        f"trained it."
    )


def deleted_trial(prefix: str, address: str) -> BadInput:
    """Return the error for a trial whose record somebody has deleted."""
    return BadInput(
        f"The run of trial '{prefix}' was deleted in MLflow, in {place_words(address)}: "
        f"`{SuggestedCommand('repair')}` records it again, from the storage folder that trained it."
    )


def deleted_trials_text(num_deleted: int, sweep: str) -> Advice | None:
    """Return the sentence for trials of a sweep whose records somebody has deleted."""
    if not num_deleted:
        return None
    if num_deleted == 1:
        subject, them = f"1 trial of '{sweep}' has no record, as its run was", "it"
    else:
        subject, them = (
            f"{num_deleted} trials of '{sweep}' have no record, as their runs were",
            "them",
        )
    repair = SuggestedCommand("repair", sweep)
    return Advice(f"{subject} deleted in MLflow: `", repair, f"` records {them} again.")


def unknown_name(name: str, known: Sequence[str]) -> UnknownSweep:
    """Return the error for a name that is neither a sweep nor a prefix of a trial key."""
    near = hint(str(name), known)
    return UnknownSweep(
        f"'{shortened(str(name), 80)}' is neither a sweep nor the beginning of a trial key."
        f"{near} Sweeps here: {', '.join(known) or 'none'}; report-runs.html and "
        f"sweeps.trials() have the trials' keys.",
        str(name),
        has_hint=bool(near),
    )


def valid_names(sweeps: Iterable[str]) -> list[str]:
    """Return the valid names of sweeps, each once, sorted."""
    return sorted(name for name in set(sweeps) if names.SLUG.fullmatch(name))


def valid_log(sweep: str, content: bytes) -> list[Entry]:
    """Return the entries of a sweep's log from its artifact.

    Raises:
        BadInput: If it is not valid, or another sweep's.
    """
    with _of_log(sweep):
        entries = entries_of(content)
        declared = declared_last(entries)
        if declared is None:
            raise ValueError("it declares no sweep.")
        if declared.manifest.sweep != sweep:
            raise ValueError(f"it is that of '{declared.manifest.sweep}'.")
        return entries


def valid_manifest(sweep: str, content: bytes) -> Manifest:
    """Return the manifest that a sweep's log comes to, from its artifact.

    Raises:
        BadInput: If it is not valid, or another sweep's.
    """
    entries = valid_log(sweep, content)
    with _of_log(sweep):
        manifest = manifest_of(entries)
        assert manifest
        return manifest


@contextmanager
def _of_log(sweep: str) -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError) as error:
        reason = first_error(error) if isinstance(error, ValidationError) else str(error)
        raise BadInput(f"The log of sweep '{sweep}' is not valid: {reason}") from error


def valid_config(record: TrialRecord, content: bytes) -> Json:
    """Return a trial's config from its artifact.

    Raises:
        BadInput: If it is not valid.
    """
    try:
        return ConfigDocument.model_validate_json(content).config
    except ValidationError as error:
        raise BadInput(
            f"The config of trial {record.trial_key} is not valid: {first_error(error)}"
        ) from error


def check_artifact_name(name: str) -> None:
    """Check that an artifact's name is one that a trial's record may hold.

    Raises:
        BadInput: Naming those that there are.
    """
    if name not in _ARTIFACTS and not EVALUATION_FILE.fullmatch(name):
        allowed = ", ".join(sorted(_ARTIFACTS))
        raise BadInput(f"Records hold no artifact '{name}'. Known: {allowed}.")


def missing_artifact(record_id: str, name: str) -> BadInput:
    """Return the error for an artifact that a record does not hold."""
    return BadInput(f"Run {record_id} holds no {name}: it was not recorded, or was deleted.")


def first_error(error: ValidationError) -> str:
    """Return the first of pydantic's errors as one line."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return " ".join(f"{place}: {first['msg']}".removeprefix(": ").split())[:300]
