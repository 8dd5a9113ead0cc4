"""A file of weights that a network starts from, known by its contents."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from capsmodel.launch_folder import from_launch_folder
from capsmodel.settings.parts import Part


class WeightsFile(Part):
    """A file of weights that a network starts from: `weights: PretrainedWeights`.

    Its contents are in the trial key, its path is not. The file has to lie at its path wherever a
    trial runs; there it is checked before the first step.

    Attributes:
        path: Where it lies, absolute once it is read; a relative one counts from the folder of the
            launch.
        sha256: Of its bytes; computed where it is left out.
    """

    family: ClassVar[str] = "weights file"
    not_in_key: ClassVar[frozenset[str]] = frozenset({"path"})
    kind: Literal["file"] = "file"
    path: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @model_validator(mode="before")
    @classmethod
    def _hash_file(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "path" in fields and "sha256" not in fields:
            path = from_launch_folder(str(fields["path"]))
            return {**fields, "path": str(path), "sha256": _hash_of(path)}
        return fields

    def __fspath__(self) -> str:
        """Return the path, so that a constructor may pass it to `torch.load` or `open`."""
        return self.path

    def check(self) -> None:
        """Check that the file has the contents that the sweep was declared with.

        Raises:
            ValueError: If it is not there, or has others.
        """
        digest = _hash_of(Path(self.path))
        if digest != self.sha256:
            raise ValueError(
                f"The weights file '{self.path}' has other contents than the sweep was declared "
                f"with (SHA-256 {digest[:12]}..., not {self.sha256[:12]}...): put the file back, "
                f"or declare the sweep anew."
            )


def _hash_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        if not path.is_file():
            raise FileNotFoundError(2, "there is no such file")
        facts = path.stat()
        return _hash_as_it_is(path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    except OSError as error:
        raise ValueError(
            f"The weights file '{path}' cannot be read: {error.strerror or error}. It has "
            f"to lie there on each machine that runs a trial."
        ) from error


@lru_cache(maxsize=64)
def _hash_as_it_is(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_path(value: Any) -> Any:
    is_path = isinstance(value, str | Path)
    return WeightsFile.model_validate({"path": str(value)}) if is_path else value


PretrainedWeights = Annotated[WeightsFile, BeforeValidator(_of_path)]
"""An argument that takes the path of a file of weights."""
