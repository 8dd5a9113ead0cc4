"""What every declared table and figure is: a kind, a name, and what it shows."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

FileName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Declared(BaseModel):
    """Frozen values that refuse names they do not know and numbers that are not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class DeclaredTable(Declared):
    """One table or figure that a sweep is for.

    Attributes:
        kind: What it is: each class narrows it to a Literal of its own.
        name: Of its files.
    """

    kind: Any
    name: FileName

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it names, each once, in its order."""
        return ()

    @property
    def curves(self) -> tuple[str, ...]:
        """The metrics that it shows over the epochs."""
        return ()

    @property
    def errors(self) -> tuple[str, ...]:
        """The metrics that it shows in percent, each once, in its order."""
        return ()
