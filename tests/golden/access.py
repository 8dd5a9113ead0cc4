"""The one way of the golden tests into modules that may move: only this file moves with them.

All else that they use is what people use: the command line, and what README and docs import.
"""

from collections.abc import Sequence
from pathlib import Path

from capsmodel import TrainingConfig
from search_spaces.catalogue import named_sweeps
from search_spaces.trial_key import trial_key
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.records.cell_contents import FinalRecord, OutboxLine
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import entries_of
from sweeps.records.sweep_log import text_of as log_lines


def names() -> list[str]:
    """Return the names of the named sweeps."""
    return [entry.name for entry in named_sweeps()]


def definition_of(which: str | Path) -> SweepDefinition:
    """Return the definition of a named sweep, or of one in a file, as its first launch has it."""
    return define(which, Changes(), ())


def text_of(definition: SweepDefinition) -> str:
    """Return a definition's manifest as a launch would write it under the first rule of verdicts.

    The pinned commit had no other and did not name it.
    """
    manifest = definition.manifest.model_copy(update={"verdict_rule": "own seeds"})
    return manifest.model_dump_json(indent=1)


def keys_of(config: TrainingConfig, seeds: Sequence[int]) -> dict[str, str]:
    """Return the trial key of each seed, by the seed as text."""
    return {str(seed): trial_key(config, seed) for seed in seeds}


def rewritten_log(text: str) -> str:
    """Return a sweep's log, read and written."""
    return log_lines(entries_of(text.encode())).decode()


def rewritten_manifest(text: str) -> str:
    """Return a manifest's text, read and written."""
    return Manifest.model_validate_json(text).model_dump_json(indent=1)


def rewritten_outbox_line(line: str) -> str:
    """Return a line of an outbox, read and written as a trial tells it."""
    return OutboxLine.model_validate_json(line).model_dump_json(exclude_defaults=True)


def rewritten_final(text: str) -> str:
    """Return a final record, read and written as a trial leaves it."""
    return FinalRecord.model_validate_json(text).model_dump_json()
