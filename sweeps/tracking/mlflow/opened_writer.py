"""MLflow opened for writing."""

from pathlib import Path

from mlflow.exceptions import MlflowException

from sweeps.records.errors import StoreUnreachable
from sweeps.records.plain_text import one_line
from sweeps.tracking.addresses import public
from sweeps.tracking.mlflow.database import create_database
from sweeps.tracking.mlflow.writer import MlflowWriter


def open_writer(tracking_uri: str, artifacts: Path) -> MlflowWriter:
    """Open MLflow for writing; the database and the experiment are made if need be.

    Raises:
        StoreUnreachable: If it does not answer.
    """
    try:
        create_database(tracking_uri)
        return MlflowWriter(tracking_uri, artifacts)
    except (MlflowException, OSError) as error:
        raise StoreUnreachable(
            f"The tracking store {public(tracking_uri)} does not answer: "
            f"{one_line(public(str(error)))[:200]}"
        ) from error
