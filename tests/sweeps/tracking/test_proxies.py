"""A proxy of the environment is not asked for this machine, and named in errors about others."""

import http.server
import threading
from collections.abc import Generator

import pytest
from requests import RequestException

from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.tracking.mlflow.connection import connect, mlflow_errors_as_ours
from sweeps.tracking.mlflow.experiment import client_for_writing
from sweeps.tracking.proxies import address_and_proxy, bypass_proxies_on_loopback

CLOSED = "http://me:secret@127.0.0.1:9"  # discard: nobody listens


class Healthy(http.server.BaseHTTPRequestHandler):
    """Answers as a tracking server without experiments."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def _answer(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")


@pytest.fixture
def port() -> Generator[int]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Healthy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, CLOSED)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("no_proxy", "example.org")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_is_asked_without_a_proxy(host: str, port: int) -> None:
    client = connect(f"http://{host}:{port}")
    assert client.search_experiments() == []


def test_the_recorder_writes_to_a_server_on_this_machine_without_a_proxy(port: int) -> None:
    assert client_for_writing(f"http://127.0.0.1:{port}").search_experiments() == []


@pytest.mark.parametrize("host", ["[::1]:5000", "127.0.0.3:5000", "localhost", "example.org"])
def test_an_address_without_a_proxy_is_shown_as_it_is(host: str) -> None:
    bypass_proxies_on_loopback(f"http://{host}")
    assert address_and_proxy(f"http://{host}") == f"http://{host}"


def test_errors_about_a_server_elsewhere_name_the_proxy_without_its_password() -> None:
    with pytest.raises(StoreUnreachable) as error:
        connect("http://tracking.invalid:5000")
    assert str(error.value).startswith(
        "The tracking server at http://tracking.invalid:5000, asked through the proxy "
        "http://127.0.0.1:9 (to ask it directly, add tracking.invalid to no_proxy), does not "
        "answer ("
    )
    refusal = pytest.raises(StoreRefused, match=r"proxy http://127\.0\.0\.1:9 .* cannot be read")
    with refusal, mlflow_errors_as_ours("http://tracking.invalid:5000"):
        raise RequestException("no")
