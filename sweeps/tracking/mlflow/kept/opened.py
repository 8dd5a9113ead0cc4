"""How the runs of a store are read, and its files: with what is kept of a server, or without."""

from sweeps.tracking.addresses import is_server
from sweeps.tracking.mlflow.artifacts import Artifacts
from sweeps.tracking.mlflow.kept.kept_artifacts import KeptArtifacts
from sweeps.tracking.mlflow.kept.kept_runs import KeptRuns
from sweeps.tracking.mlflow.reading.client_runs import ClientRuns
from sweeps.tracking.mlflow.reading.embedded_runs import runs_of
from sweeps.tracking.mlflow.reading.runs_read import Runs


def opened_runs(address: str, *, by_client: bool, keeps: bool) -> tuple[Runs, ClientRuns]:
    """Return how the runs of a store are read, and its client, which is not yet connected.

    Args:
        address: Of the store.
        by_client: Whether the client is asked also where SQL would be faster.
        keeps: Whether what a server says of final records is kept on this machine.
    """
    runs, client = runs_of(address, by_client=by_client)
    return (KeptRuns(client) if keeps and is_server(address) else runs), client


def with_kept(held: Artifacts, runs: Runs) -> Artifacts:
    """Return files of runs; where runs are kept, files of final ones are kept as well."""
    return KeptArtifacts(held, runs) if isinstance(runs, KeptRuns) else held
