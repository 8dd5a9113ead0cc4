"""The page of a report in a browser: no complaint, no wider than a phone, A4 on paper."""

import base64
import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sweeps.aggregation.report import write_report
from tests.sweeps.aggregation.known_sweep import known_sweep, put_sweep

pytestmark = pytest.mark.slow
A4_POINTS = (595, 842)
PHONE_PIXELS = 390
FRAMED = """<body style="margin:0"><iframe src="{page}" onload="tell(this)"
style="width:{width}px;height:800px;border:0"></iframe><p id="told">nothing</p><script>
function tell(frame) {{
  const inside = frame.contentDocument, root = inside.documentElement;
  const empty = [...inside.querySelectorAll("figure svg")].filter(
    drawing => drawing.getBoundingClientRect().height < 50);
  const cut = [...inside.querySelectorAll("clipPath > rect")].filter(
    shape => !(shape.width.baseVal.value > 0));
  document.getElementById("told").textContent =
    [root.scrollWidth, empty.length, cut.length].join(" ");
}}
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    pytest.skip("no Chromium is installed")


def png_of(rows) -> bytes:
    """Return the PNG file of a grey picture."""
    file = io.BytesIO()
    Image.fromarray(np.array(rows, np.uint8)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def folder(store, tmp_path) -> Path:
    manifest, records = known_sweep()
    put_sweep(store, manifest, records.values())
    write_report(store, "known", tmp_path / "reports")
    return tmp_path / "reports" / "known"


def asked(browser: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    common = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    common.append("--allow-file-access-from-files")
    return subprocess.run(
        [browser, *common, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


@pytest.mark.parametrize("page", ["report.html", "report-runs.html"])
def test_a_page_is_shown_without_a_complaint(page, browser, folder):
    arguments = ["--enable-logging=stderr", "--dump-dom", (folder / page).as_uri()]
    completed = asked(browser, folder, *arguments)

    assert "CONSOLE" not in completed.stderr
    assert "three rounds" in completed.stdout


def test_pictures_in_a_figure_are_shown(browser, folder):
    page = folder / "report.html"
    dot = base64.b64encode(png_of([[0]])).decode()
    picture = f'<svg><image width="9" height="9" href="data:image/png;base64,{dot}"/></svg>'
    page.write_text(page.read_text().replace("</main>", f"{picture}</main>"))
    arguments = ["--enable-logging=stderr", "--dump-dom", page.as_uri()]

    assert "CONSOLE" not in asked(browser, folder, *arguments).stderr


@pytest.mark.parametrize("page", ["report.html", "report-runs.html"])
@pytest.mark.parametrize("width", [PHONE_PIXELS, 1200])
def test_nothing_but_a_box_of_its_own_is_wider_than_the_screen(width, page, browser, folder):
    frame = folder / "frame.html"
    frame.write_text(FRAMED.format(page=(folder / page).as_uri(), width=width))
    arguments = ["--virtual-time-budget=10000", "--dump-dom", frame.as_uri()]
    match = re.search(r'id="told">([^<]*)<', asked(browser, folder, *arguments).stdout)

    assert match is not None
    assert match[1].split() == [str(width), "0", "0"]


def test_on_paper_a_page_is_a4(browser, folder):
    paper = folder / "page.pdf"
    arguments = ["--no-pdf-header-footer", f"--print-to-pdf={paper}"]
    asked(browser, folder, *arguments, (folder / "report.html").as_uri())
    boxes = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", paper.read_bytes())

    assert boxes
    for box in boxes:
        assert tuple(round(float(side)) for side in box) == A4_POINTS
