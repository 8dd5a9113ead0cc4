"""A real MLflow server in a thread of this process, whose answers can be made to fail."""

import importlib
import shutil
import threading
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mlflow
import pytest
from mlflow.server import app, handlers
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wsgi import ClosingIterator

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class FaultyServer:
    """A server that answers some requests with an error. It keeps artifacts too.

    Attributes:
        every: Each request whose number this divides is answered 500; 0 for none.
        is_done_all_the_same: Whether the server does what such a request asks.
        num_requests: All requests so far.
        num_faults: Answers 500 so far.
    """

    def __init__(self, folder: Path, empty_database: Path) -> None:
        self.every = 0
        self.is_done_all_the_same = False
        self.num_requests = 0
        self.num_faults = 0
        self.database = folder / "server.db"
        self._empty = empty_database
        self._wsgi: Wsgi = app.wsgi_app
        self._lock = threading.Lock()
        self._server = make_server("127.0.0.1", 0, self._answer, True, request_handler=_Silent)
        self.address = f"http://127.0.0.1:{self._server.port}"
        self.come_back_empty()

    def come_back_empty(self) -> None:
        """Have it lose its database, as if it had been started anew over another."""
        shutil.copy(self._empty, self.database.with_suffix(".new"))
        self.database.with_suffix(".new").replace(self.database)
        handlers._tracking_store = None
        handlers._model_registry_store = None

    @contextmanager
    def serving(self) -> Generator[None]:
        """Answer while the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            self.num_requests += 1
            is_fault = self.every and self.num_requests % self.every == 0
            self.num_faults += bool(is_fault)
        if not is_fault:
            return self._wsgi(environ, start)
        if self.is_done_all_the_same:
            ClosingIterator(self._wsgi(environ, lambda *_: None)).close()
        start("500 Internal Server Error", [("Content-Length", "0")])
        return [b""]


class _Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - as it is called there
        """Tell nobody."""


@contextmanager
def faulty_server(folder: Path, empty_database: Path) -> Generator[FaultyServer]:
    """Serve from a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is MLflow's own, in the middle of its first answer
        importlib.import_module("mlflow.server.fastapi_app")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("_MLFLOW_SERVER_FILE_STORE", f"sqlite:///{folder / 'server.db'}")
        patch.setenv("_MLFLOW_SERVER_ARTIFACT_ROOT", "mlflow-artifacts:/")
        patch.setenv("_MLFLOW_SERVER_ARTIFACT_DESTINATION", str(folder / "served"))
        patch.setenv("_MLFLOW_SERVER_SERVE_ARTIFACTS", "true")
        server = FaultyServer(folder, empty_database)
        with server.serving():
            yield server
        handlers._tracking_store = None
        mlflow.set_tracking_uri(None)  # which the server has set for all of this process
