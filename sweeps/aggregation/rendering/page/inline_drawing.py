"""A drawing as a part of a page: several stand in one page and share no id, style or address."""

import io
import re
from collections.abc import Mapping
from typing import Any, cast
from xml.sax import handler, make_parser
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_LEFT_OUT = ("metadata", "style", "title", "script")
_OF_THE_ROOT = ("width", "height", "version")  # how large it is drawn is the page's affair


def inline_drawing(svg: bytes, prefix: str, label: str) -> str:
    """Return a drawing's element for a page.

    Its ids get a prefix. What it says of itself, its declarations and its style, which would hold
    for the whole page, are left out, and so are comments, which repeat its texts.

    Args:
        svg: As matplotlib writes it.
        prefix: Of every id, of its own in the page.
        label: What a reader who does not see it is told.
    """
    text = io.StringIO()
    parser = make_parser()
    parser.setFeature(handler.feature_external_ges, False)
    parser.setContentHandler(cast(Any, _Inlined(text, prefix, label)))  # its types differ in names
    parser.parse(io.BytesIO(svg))
    return text.getvalue()


class _Inlined(XMLGenerator):
    def __init__(self, out: io.StringIO, prefix: str, label: str) -> None:
        super().__init__(out, encoding="utf-8", short_empty_elements=True)
        self._prefix = prefix
        self._label = label
        self._left_out = 0

    def startDocument(self) -> None:  # noqa: N802 - the name is the interface's
        """Begin without a declaration: it stands inside of a page."""

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        """Write a tag with its ids prefixed, or pass over all of an element."""
        if self._left_out or name in _LEFT_OUT:
            self._left_out += 1
            return
        given = {str(key): str(attrs[key]) for key in attrs.getNames()}
        kept = {
            key.removeprefix("xlink:"): self._renamed(key, value)
            for key, value in given.items()
            if not key.startswith("xmlns")
        }
        super().startElement(name, AttributesImpl(self._of_root(kept) if name == "svg" else kept))

    def endElement(self, name: str) -> None:  # noqa: N802
        """Write the end of a tag that was begun."""
        if self._left_out:
            self._left_out -= 1
            return
        super().endElement(name)

    def characters(self, content: str) -> None:
        """Write text; of what is between tags nothing but lines' ends is ever drawn."""
        if not self._left_out:
            super().characters(content)

    def _renamed(self, key: str, value: str) -> str:
        if key == "id":
            return f"{self._prefix}{value}"
        if key.endswith("href"):
            return f"#{self._prefix}{value.removeprefix('#')}" if value.startswith("#") else ""
        return _REFERENCE.sub(rf"url(#{self._prefix}\1)", value)

    def _of_root(self, given: Mapping[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in given.items() if key not in _OF_THE_ROOT}
        joins = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
        return {**kept, **joins, "role": "img", "aria-label": self._label}
