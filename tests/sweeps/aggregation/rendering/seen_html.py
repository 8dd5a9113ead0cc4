"""What a browser makes of the HTML that a notebook is shown."""

from html.parser import HTMLParser

TAGS = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"}


class Seen(HTMLParser):
    """What a browser would make of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {*attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def checked(value: object) -> Seen:
    """Return what a notebook shows of a value, which is sound and runs nothing."""
    assert "\n" not in repr(value)
    assert repr(value).isprintable()
    assert len(repr(value)) < 400
    html = value._repr_html_()  # type: ignore[attr-defined]
    seen = Seen(html)
    assert {*seen.tags} <= TAGS
    assert seen.attributes <= {("style", "text-align: left"), ("style", "text-align: right")}
    assert not seen.open
    assert len(html) < 40_000
    return seen
