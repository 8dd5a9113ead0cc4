"""Lines for prompts and pieces of HTML for notebooks.

The HTML is small, escaped, and without scripts, styles or names that others share.

Every text that comes in is untrusted: it is made one line, and markup in it is shown as it stands.
"""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from capsmodel.metrics import Metric
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import Json
from sweeps.tracking.record_facts import flat_settings

MINUS = "\N{MINUS SIGN}"
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"
MOST_ROWS = 30
_LONGEST_TEXT = 300


class Shown(NamedTuple):
    """A cell's text for a reader."""

    text: str
    is_bold: bool = False


@dataclass(frozen=True)
class Grid:
    """Headings and rows of texts.

    Attributes:
        numbers: Places of the columns that stand at their right edge.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Shown]]
    numbers: Sequence[int] = ()

    @property
    def html(self) -> str:
        """A table of the first rows, with a line on how many more there are."""
        edges = ["right" if n in self.numbers else "left" for n in range(len(self.headings))]
        head = "".join(_cell("th", Shown(t), e) for t, e in zip(self.headings, edges, strict=True))
        body = "".join(
            f"<tr>{''.join(_cell('td', c, e) for c, e in zip(row, edges, strict=True))}</tr>"
            for row in self.rows[:MOST_ROWS]
        )
        more = len(self.rows) - MOST_ROWS
        rest = line(f"and {more} more rows") if more > 0 else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table + rest


def block(title: str, *parts: str) -> str:
    """Return a title with pieces of HTML below it."""
    return f"<div><strong>{text(title)}</strong>{''.join(parts)}</div>"


def line(content: str) -> str:
    """Return a line of text."""
    return f"<div>{text(content)}</div>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and their values. Names without a value are left out."""
    rows = "".join(
        f"<tr>{_cell('th', Shown(name), 'left')}{_cell('td', Shown(value), 'left')}</tr>"
        for name, value in pairs
        if value
    )
    return f"<table><tbody>{rows}</tbody></table>"


def settings(config: Json) -> str:
    """Return a config's settings, a row each, folded away."""
    return folded("all settings", facts(flat_settings(config).items()))


def folded(title: str, part: str) -> str:
    """Return a piece of HTML that opens when its title is clicked."""
    return f"<details><summary>{text(title)}</summary>{part}</details>"


def text(content: str) -> str:
    """Return a text on one line, shortened and escaped for HTML."""
    return html.escape(shortened(content, _LONGEST_TEXT))


def summary(kind: str, name: str, *details: str) -> str:
    """Return what `repr` gives: `<Plan quickstart: 9 cells, 3 to train>`, on one line."""
    listed = ", ".join(one_line(detail) for detail in details if detail)
    return f"<{kind} {shortened(name, 60)}{': ' * bool(listed)}{listed}>"


def mean_text(interval: Interval, metric: Metric) -> str:
    """Return a mean with half its interval, `4.25 % ± 0.31 %`, or else `4.25 % (sd 0.31 %)`."""
    if interval.mean is None:
        return "no value"
    half, deviation = interval.half_width, interval.deviation
    spread = "" if deviation is None else f" (sd {metric.written(deviation)})"
    more = spread if half is None else f" {PLUS_MINUS} {metric.written(half)}"
    return metric.written(interval.mean) + more


def value_text(value: float, metric: Metric) -> str:
    """Return a value of a metric: `4.25 %`."""
    return metric.written(value)


def difference_text(difference: float, metric: Metric) -> str:
    """Return a signed difference of two values of a metric, of fractions in points."""
    shown = metric.shown(difference)
    text = f"{shown:+.2f} points" if metric.is_fraction else f"{shown:+.5g}"
    return text.replace("-", MINUS)


def _cell(tag: str, shown: Shown, edge: str) -> str:
    inside = f"<strong>{text(shown.text)}</strong>" if shown.is_bold else text(shown.text)
    return f'<{tag} style="text-align: {edge}">{inside}</{tag}>'
