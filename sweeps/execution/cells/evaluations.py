"""The evaluations in a cell's folder, each under its key, apart from the trial's files.

evaluations/KEY-F.safetensors    values by image and other arrays, if any
evaluations/KEY-F.NAME.png       its pictures
evaluations/KEY.json             written last and once: the evaluation exists and does not change

F is the fence of the lease that it was written under, as in the cell's folder. Names in earlier
stores have none.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from capsmodel.whole_file import write_first, write_whole
from sweeps.records.errors import BadInput
from sweeps.records.evaluation_names import EVALUATION_KEY
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.storage.regular_files import (
    check_owner,
    open_regular,
    opened_folder,
    read_descriptor,
)


class CellEvaluations:
    """The evaluations of one cell. Whoever writes holds the cell's lease."""

    def __init__(self, folder: Path) -> None:
        """Name the folder of a cell, which need not exist."""
        self._folder = folder / "evaluations"

    def keys(self) -> set[str]:
        """Return the keys of the evaluations.

        Raises:
            BadInput: If the folder leads elsewhere or is a stranger's.
        """
        check_owner(self._folder.parent)
        check_owner(self._folder)
        return {
            path.stem for path in self._folder.glob("*.json") if EVALUATION_KEY.fullmatch(path.stem)
        }

    def read(self, key: str) -> EvaluationRecord | None:
        """Return the record of an evaluation, None if it does not exist.

        Raises:
            BadInput: If it is damaged, or of a later version.
        """
        path = self._path(key, "json")
        check_owner(self._folder.parent)
        try:
            with opened_folder(path.parent) as folder:
                content = read_descriptor(open_regular(path, folder=folder), path)
            return EvaluationRecord.model_validate_json(content)
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise BadInput(
                f"The evaluation {path} cannot be read: it is damaged, or of a later version. "
                f"Move it away to have it made again."
            ) from error

    def write(
        self, record: EvaluationRecord, numbers: bytes, pictures: Mapping[str, bytes]
    ) -> EvaluationRecord:
        """Store an evaluation, unless one with its key exists.

        Args:
            record: Record of the evaluation.
            numbers: A safetensors file of its images and arrays, empty where there are none.
            pictures: Name -> a PNG file.

        Returns:
            The record that is stored.
        """
        if earlier := self.read(record.evaluation_key):
            return earlier
        check_owner(self._folder.parent)
        self._folder.mkdir(parents=True, exist_ok=True)
        check_owner(self._folder)
        fenced = f"{record.evaluation_key}-{record.fence}"
        if numbers:
            write_whole(self._path(fenced, "safetensors"), numbers)
        for name, content in pictures.items():
            write_whole(self._path(fenced, f"{name}.png"), content)
        content = record.model_dump_json().encode()
        if write_first(self._path(record.evaluation_key, "json"), content):
            return record
        for path in self._folder.glob(f"{fenced}.*"):
            path.unlink(missing_ok=True)
        return self.read(record.evaluation_key) or record

    def files(self, record: EvaluationRecord) -> dict[str, Path]:
        """Return the files of an evaluation by the names that they are recorded under.

        The record itself is the last.
        """
        key = record.evaluation_key
        endings = ["safetensors"] if record.images or record.arrays else []
        endings += [f"{name}.png" for name in record.pictures]
        found = {f"{key}.{ending}": self._file(record, ending) for ending in endings}
        return found | {f"{key}.json": self._path(key, "json")}

    def _file(self, record: EvaluationRecord, ending: str) -> Path:
        """Return one of its files, whose name has no fence in an earlier store."""
        fenced = self._path(f"{record.evaluation_key}-{record.fence}", ending)
        early = self._path(record.evaluation_key, ending)
        return early if early.exists() and not fenced.exists() else fenced

    def _path(self, stem: str, ending: str) -> Path:
        return self._folder / f"{stem}.{ending}"
