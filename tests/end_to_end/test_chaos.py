"""A sweep to which much is done leaves what an undisturbed one leaves: a short run of the tool."""

import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Generator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_SECONDS, wait_until
from tools.chaos.event_plan import DESIGN, SEARCH, SHORT, plan
from tools.chaos.proxy import Proxy, Trouble

pytestmark = pytest.mark.nightly  # the files of kills and of lost servers have each event alone

CHECKOUT = Path(__file__).parents[2]
SEED = 5
_LONGEST_MINUTES = 60


@pytest.mark.timeout(_LONGEST_MINUTES * 60)  # two quiet cores take about 2
def test_tables_records_and_machine_are_as_after_an_undisturbed_run(tmp_path: Path) -> None:
    figures = tmp_path / "figures.jsonl"
    arguments = ["--short", f"--seed={SEED}", f"--folder={tmp_path}", f"--figures={figures}"]
    arguments.append(f"--minutes={_LONGEST_MINUTES - 10}")
    ran = subprocess.run(
        [sys.executable, "-m", "tools.chaos", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(figures.read_text())["events"] == SHORT


@pytest.mark.parametrize("counts", [DESIGN, SEARCH], ids=["design", "search"])
def test_a_plan_hangs_on_its_seed_alone_and_has_each_event_as_often_as_asked(
    counts: Mapping[str, int],
) -> None:
    drawn = list(plan(SEED, counts, 192))
    assert drawn == list(plan(SEED, counts, 192))
    assert drawn != list(plan(SEED + 1, counts, 192))
    assert Counter(event.kind for event in drawn) == counts
    times = [event.after_epochs for event in drawn]
    assert times == sorted(times)
    assert times[0] > 0
    assert times[-1] < 192


def test_a_seed_has_the_faults_that_a_week_on_spot_machines_has() -> None:
    both = Counter(DESIGN) + Counter(SEARCH)
    assert both["driver killed"] >= 3
    assert both["worker killed"] >= 3
    assert both["node lost"] >= 2
    assert both["server away"] >= 2
    assert both["raylet killed"] >= 1
    assert both["Ray's head killed"] >= 1


class Echo(BaseHTTPRequestHandler):
    heard: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.heard.append(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def heard() -> list[bytes]:
    return []


@pytest.fixture
def proxy(heard: list[bytes]) -> Generator[Proxy]:
    handler = type("Handler", (Echo,), {"heard": heard})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Proxy(f"http://127.0.0.1:{server.server_address[1]}") as made:
            yield made
        server.shutdown()


def answers(proxy: Proxy, count: int) -> list[object]:
    return [answer(proxy, b"%d" % number) for number in range(count)]


def answer(proxy: Proxy, body: bytes) -> object:
    try:
        with urllib.request.urlopen(proxy.address, body, timeout=PATIENCE_SECONDS) as response:
            return response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return None


def test_a_proxy_passes_on_errs_now_and_then_or_always(proxy: Proxy, heard: list[bytes]) -> None:
    assert answers(proxy, 3) == [b"0", b"1", b"2"]
    proxy.trouble = Trouble.ERRS_NOW_AND_THEN
    assert Counter(isinstance(answer, bytes) for answer in answers(proxy, 10)) == {
        True: 8,
        False: 2,
    }
    proxy.trouble = Trouble.ERRS
    assert answers(proxy, 2) == [500, 500]
    assert len(heard) == 11


def test_a_proxy_loses_answers_to_what_was_obeyed(proxy: Proxy, heard: list[bytes]) -> None:
    proxy.trouble = Trouble.LOSES_ANSWERS
    assert answers(proxy, 6).count(None) == 2
    assert heard == [b"%d" % number for number in range(6)]


def test_a_proxy_is_silent_until_it_is_not(proxy: Proxy, heard: list[bytes]) -> None:
    proxy.trouble = Trouble.SILENT
    got: list[object] = []
    asking = threading.Thread(target=lambda: got.append(answer(proxy, b"x")), daemon=True)
    asking.start()
    wait_until(lambda: proxy.num_requests == 1)
    assert not got
    proxy.trouble = Trouble.NONE
    asking.join(PATIENCE_SECONDS)
    assert got == [None]
    assert not heard
