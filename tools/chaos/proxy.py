"""A proxy before a server, which can err, be silent, or lose what the server answers."""

import http.client
import threading
import time
from contextlib import suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

_PATIENCE_SECONDS = 60.0
_HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


class Trouble(StrEnum):
    """What becomes of a request."""

    NONE = "none"
    ERRS = "errs"
    """It is answered with status 500."""
    ERRS_NOW_AND_THEN = "errs now and then"
    """Every fifth is."""
    SILENT = "silent"
    """It is never answered."""
    LOSES_ANSWERS = "loses answers"
    """Every third is obeyed, and the answer does not arrive."""


class Proxy(ThreadingHTTPServer):
    """Listens on a port of its own and passes requests on; start it by a `with`.

    Attributes:
        upstream: Host and port of the server.
        trouble: What becomes of requests from now on.
        num_requests: That have come so far.
        address: Its own.
    """

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(upstream).netloc
        self.trouble = Trouble.NONE
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self._lock = threading.Lock()
        self.num_requests = 0

    def trouble_of_next(self) -> Trouble:
        """Decide what happens to the request that has just come."""
        with self._lock:
            self.num_requests += 1
            number, trouble = self.num_requests, self.trouble
        if trouble is Trouble.ERRS_NOW_AND_THEN:
            return Trouble.NONE if number % 5 else Trouble.ERRS
        if trouble is Trouble.LOSES_ANSWERS and number % 3:
            return Trouble.NONE
        return trouble

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.trouble = Trouble.NONE
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One request a connection, as HTTP/1.0 has it."""

    server: Proxy  # pyright: ignore[reportIncompatibleVariableOverride]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # GET, POST and so on, all the same to a proxy
            return self._answer
        raise AttributeError(name)

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client was killed
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def _answer(self) -> None:
        body = _body(self)
        trouble = self.server.trouble_of_next()
        if trouble is Trouble.ERRS:
            self.send_error(500)
        elif trouble is Trouble.SILENT:
            while self.server.trouble is Trouble.SILENT:
                time.sleep(0.2)
        elif (answer := self._passed_on(body)) and trouble is Trouble.NONE:
            self._hand_back(*answer)

    def _passed_on(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes] | None:
        """Return the server's answer, None if it is away: then the connection just ends."""
        connection = http.client.HTTPConnection(self.server.upstream, timeout=_PATIENCE_SECONDS)
        forwarded = {k: v for k, v in self.headers.items() if k.lower() not in _HOP_BY_HOP}
        replaced = {"Host": self.server.upstream, "Content-Length": str(len(body))}
        try:
            connection.request(self.command, self.path, body, forwarded | replaced)
            answer = connection.getresponse()
            return answer, answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def _hand_back(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in request.headers.get("Transfer-Encoding", ""):
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))
    chunks = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        chunks.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(chunks)
