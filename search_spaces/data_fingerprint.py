"""The fingerprint of a data set: declared by those of capsmodel, computed of a user's own.

A user's data are loaded, checked and hashed once a launch. Where their class lists its `files()`,
the facts are remembered in the user's cache, and hold while these files are the same.
"""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from capsmodel.data import (
    DataFacts,
    DataSet,
    DataSplits,
    NearDuplicates,
    check_repeatable,
    facts_of,
    load_checked,
    near_duplicate_notes,
    near_duplicates,
    num_images,
)
from capsmodel.data.archive import cache_folder
from capsmodel.settings.parts import is_built_in
from capsmodel.spelling import words_of
from capsmodel.whole_file import write_whole
from search_spaces.user_code import error_text, line_in_sweep_file

FileState = tuple[str, int, int, int, int]  # path, size, inode, times of content and of inode in ns


@dataclass(frozen=True)
class _Remembered:
    schema_version: int
    files: list[FileState]
    facts: DataFacts


@dataclass(frozen=True)
class _RememberedDuplicates:
    schema_version: int
    duplicates: tuple[NearDuplicates, ...]


_SCHEMA_VERSION = 3  # 1 and 2 had fewer notes
_DUPLICATES_VERSION = 1
_DUPLICATES_ADAPTER = TypeAdapter(_RememberedDuplicates)
_ADAPTER = TypeAdapter(_Remembered)
_LOADED: dict[DataSet, DataFacts] = {}


def data_fingerprint(data: DataSet) -> str:
    """Return the hash of a data set; it is part of a trial's key.

    Raises:
        ValueError: As in `facts_of_own_data`.
    """
    return facts_of_own_data(data).fingerprint if data.is_of_user else data.fingerprint


def facts_of_own_data(data: DataSet) -> DataFacts:
    """Return the facts of a user's data set; it is loaded if they are not known.

    It is loaded whole and with the default split seed, so that all splits and all shares of the
    training images have the same fingerprint, as those of the data sets of capsmodel have.

    Raises:
        ValueError: If it cannot be loaded, or is not what it declares. A bug in `load()` is named
            with its line.
    """
    data = _at_default_split(data)
    if data not in _LOADED:
        try:
            _LOADED[data] = _facts(data)
        except ValueError:
            raise
        except Exception as error:
            line = None if isinstance(error, OSError) else line_in_sweep_file(error)
            reason = words_of(error) if isinstance(error, OSError) else error_text(error)
            raise ValueError(
                f"The data '{data.kind}' cannot be loaded: {reason}{f' ({line})' if line else ''}."
            ) from error
    return _LOADED[data]


def check_unchanged(data: DataSet, splits: DataSplits, fingerprint: str) -> DataFacts:
    """Check that loaded data are those of a trial's key, and return their facts.

    Args:
        data: The data set.
        splits: What it loaded.
        fingerprint: What the trial's key was made with, "" if that is unknown.

    Raises:
        ValueError: If `load()` gives something else at each call, or if they have another
            fingerprint: it is forgotten, so that the next launch computes it anew.
    """
    declared, full_splits = _at_default_split(data), splits
    if data.is_of_user and declared != data:
        full_splits = load_checked(declared, "cpu")
    facts = with_near_duplicates(declared, full_splits, facts_of(declared, full_splits))
    facts = replace(facts, num_images=num_images(splits))
    if fingerprint and facts.fingerprint != fingerprint:
        _forget(declared)
        check_repeatable(declared, full_splits)
        raise ValueError(
            f"The data '{data.kind}' have changed: this trial is of data with the fingerprint "
            f"{fingerprint[:12]}, and those that were loaded have {facts.fingerprint[:12]}. Launch "
            f"again to train on the new data, or restore the old ones.{_own_load_text(data)}"
        )
    return facts


def _own_load_text(data: DataSet) -> str:
    """Return what to do where no file has changed, as `load()` gives the same twice here."""
    if is_built_in(type(data)):
        return ""
    return (
        " If none of their files has changed, load() gives something else in each process: sort "
        "the names of files, and use neither the order of a set, nor the clock."
    )


def with_near_duplicates(data: DataSet, splits: DataSplits, facts: DataFacts) -> DataFacts:
    """Return facts of loaded data with notes on copies across splits, of a user's data.

    They are sought once a fingerprint, as that takes some 14 seconds for 70,000 images.
    """
    if not data.is_of_user:
        return facts
    duplicates = _duplicates_remembered(facts.fingerprint)
    if duplicates is None:
        is_on_gpu = splits.train.labels.is_cuda
        duplicates = near_duplicates(load_checked(data, "cpu") if is_on_gpu else splits)
        place = _place_of_duplicates(facts.fingerprint)
        _write(
            place,
            _DUPLICATES_ADAPTER.dump_json(_RememberedDuplicates(_DUPLICATES_VERSION, duplicates)),
        )
    return replace(facts, notes=(*facts.notes, *near_duplicate_notes(data, splits, duplicates)))


def _at_default_split(data: DataSet) -> DataSet:
    fields = type(data).model_fields
    names = ("split_seed", "train_fraction")
    return data.model_copy(update={name: fields[name].get_default() for name in names})


def forget_loaded_data() -> None:
    """Forget the data that this process has loaded, as their files may have changed since."""
    _LOADED.clear()


def _facts(data: DataSet) -> DataFacts:
    before = _states(data)
    if (facts := _remembered(data, before)) is None:
        data.prepare()
        splits = load_checked(data, "cpu")
        facts = with_near_duplicates(data, splits, facts_of(data, splits))
        if before == _states(data):  # nothing was written meanwhile
            _remember(data, before, facts)
    return facts


# What is remembered in the user's cache.


def _states(data: DataSet) -> list[FileState]:
    """Return the state of each file that a data set lists.

    Raises:
        ValueError: If what it lists are not files.
    """
    listed: Any = data.files()
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise ValueError(
            f"files() of data '{data.kind}' must list the paths of files, got {listed!r}."
        )
    return [_state(data, path) for path in listed]


def _state(data: DataSet, path: Any) -> FileState:
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"files() of data '{data.kind}' must list the paths of files, got {path!r} among them."
        )
    place = Path(path).expanduser().absolute()
    if not place.is_file():
        raise ValueError(
            f"files() of data '{data.kind}' lists '{place}', which is no file: list each file that "
            f"load() reads."
        )
    state = place.stat()
    # who writes in place can restore the time of the content, but not that of the inode
    return str(place), state.st_size, state.st_ino, state.st_mtime_ns, state.st_ctime_ns


def _remembered(data: DataSet, states: list[FileState]) -> DataFacts | None:
    if not _is_rememberable(data, states):
        return None
    with suppress(OSError, ValueError, RuntimeError):  # none, another version's, or no home folder
        remembered = _ADAPTER.validate_json(_place(data).expanduser().read_bytes())
        if remembered.schema_version == _SCHEMA_VERSION and remembered.files == states:
            return remembered.facts
    return None


def _remember(data: DataSet, states: list[FileState], facts: DataFacts) -> None:
    if not _is_rememberable(data, states):
        return
    _write(_place(data), _ADAPTER.dump_json(_Remembered(_SCHEMA_VERSION, states, facts)))


def _forget(data: DataSet) -> None:
    """Forget the facts of a data set, as its files do not tell that they have changed."""
    _LOADED.pop(data, None)
    with suppress(OSError, RuntimeError):  # none, or no home folder
        _place(data).expanduser().unlink()


def _duplicates_remembered(fingerprint: str) -> tuple[NearDuplicates, ...] | None:
    with suppress(OSError, ValueError, RuntimeError):  # none, another version's, or no home folder
        content = _place_of_duplicates(fingerprint).expanduser().read_bytes()
        remembered = _DUPLICATES_ADAPTER.validate_json(content)
        if remembered.schema_version == _DUPLICATES_VERSION:
            return remembered.duplicates
    return None


def _write(place: Path, content: bytes) -> None:
    with suppress(OSError, RuntimeError):  # costs the next launch the same work
        place = place.expanduser()
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content)


def _is_rememberable(data: DataSet, states: list[FileState]) -> bool:
    """Return whether files and code are known; those of an installed package's class are not."""
    is_code_known = is_built_in(type(data)) or isinstance(data.protocol_version, str)
    return bool(states) and is_code_known


def _place(data: DataSet) -> Path:
    versions = data.protocol_version, *data.reader_versions
    text = f"{data.kind} {' '.join(map(str, versions))} {data.model_dump_json()}"
    name = hashlib.sha256(text.encode()).hexdigest()[:20]
    return cache_folder() / "fingerprints" / f"{name}.json"


def _place_of_duplicates(fingerprint: str) -> Path:
    return cache_folder() / "near_duplicates" / f"{fingerprint[:20]}.json"
