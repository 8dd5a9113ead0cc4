"""What was found in a paper, as values."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["stale", "missing", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        kind: Stale is what the records no longer give, missing what they never gave. A warning
            fails nothing.
        place: File and line.
        sentence: What is wrong, and what to do.
    """

    kind: Kind
    place: str
    sentence: str


@dataclass(frozen=True)
class Verified:
    """What came of verifying papers.

    Attributes:
        findings: The stale first, then the missing, then warnings.
        num_macros: How many macros were looked at.
        num_tables: How many tables that a report wrote.
        num_files: Files of the papers.
        sweeps: Those whose records were asked.
    """

    findings: tuple[Finding, ...]
    num_macros: int
    num_tables: int
    num_files: int
    sweeps: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 where all follows from the records, 1 where something is stale or missing."""
        return int(any(finding.kind != "warning" for finding in self.findings))

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each finding, and the answer in the last."""
        found = (f"{one.kind}: {one.place}: {one.sentence}" for one in self.findings)
        return (*found, self.sentence)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        counts = {
            kind: sum(finding.kind == kind for finding in self.findings)
            for kind in ("stale", "missing", "warning")
        }
        tables = f" and {_number(self.num_tables, 'table')}" if self.num_tables else ""
        files = _number(self.num_files, "file")
        asked = f"{_number(self.num_macros, 'number')}{tables} in {files}"
        warned = f", {_number(counts['warning'], 'warning')}" if counts["warning"] else ""
        if not self.exit_code:
            return f"{asked}: all follow from the records of {', '.join(self.sweeps)}{warned}."
        return f"{asked}: {counts['stale']} stale, {counts['missing']} missing{warned}."


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
