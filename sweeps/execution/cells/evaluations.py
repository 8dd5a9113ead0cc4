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

from sweeps.records.errors import BadInput
from sweeps.records.evaluation_names import EVALUATION_KEY
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.storage.folder import Folder


class CellEvaluations:
    """The evaluations of one cell. Whoever writes holds the cell's lease."""

    def __init__(self, folder: Path) -> None:
        """Name the folder of a cell, which need not exist."""
        cells = folder.parent
        self._folder = Folder(cells.parent, cells.name, folder.name, "evaluations")

    def keys(self) -> set[str]:
        """Return the keys of the evaluations.

        Raises:
            BadInput: If the folder leads elsewhere or is a stranger's.
        """
        stems = {
            name.removesuffix(".json") for name in self._folder.names() if name.endswith(".json")
        }
        return set(filter(EVALUATION_KEY.fullmatch, stems))

    def read(self, key: str) -> EvaluationRecord | None:
        """Return the record of an evaluation, None if it does not exist.

        Raises:
            BadInput: If it is damaged, or of a later version.
        """
        path = self._path(key, "json")
        try:
            return EvaluationRecord.model_validate_json(self._folder.read(path.name))
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
        folder, fenced = self._folder.make(), f"{record.evaluation_key}-{record.fence}"
        if numbers:
            folder.write(f"{fenced}.safetensors", numbers)
        for name, content in pictures.items():
            folder.write(f"{fenced}.{name}.png", content)
        if folder.write_first(f"{record.evaluation_key}.json", record.model_dump_json().encode()):
            return record
        for name in [name for name in folder.names() if name.startswith(f"{fenced}.")]:
            folder.remove(name)
        return self.read(record.evaluation_key) or record

    def files(self, record: EvaluationRecord) -> dict[str, Path]:
        """Return the files of an evaluation by the names that they are recorded under.

        The record itself is the last.
        """
        key = record.evaluation_key
        endings = ["safetensors"] if record.images or record.arrays else []
        endings += [f"{name}.png" for name in record.pictures]
        files = {f"{key}.{ending}": self._file(record, ending) for ending in endings}
        return files | {f"{key}.json": self._path(key, "json")}

    def _file(self, record: EvaluationRecord, ending: str) -> Path:
        """Return one of its files, whose name has no fence in an earlier store."""
        fenced = self._path(f"{record.evaluation_key}-{record.fence}", ending)
        early = self._path(record.evaluation_key, ending)
        return early if early.exists() and not fenced.exists() else fenced

    def _path(self, stem: str, ending: str) -> Path:
        return self._folder.path / f"{stem}.{ending}"
