"""A report as a value: sections of tables, figures and notes, before any of them is a file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sweeps.aggregation.rendering.figure_style import ImageFormat, drawn
from sweeps.aggregation.rendering.notebook_pieces import block, facts, line, summary
from sweeps.aggregation.rendering.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_PARTS = ("table", "figure")


@dataclass(frozen=True)
class Figure:
    """A drawing.

    Attributes:
        name: A slug: the name of its files.
        draw: Draws it, in the house's style where it is called by a renderer.
        images: Those drawn so far, by format.
    """

    name: str
    draw: Callable[[], "Drawing"]
    images: dict[ImageFormat, bytes] = field(
        default_factory=dict[ImageFormat, bytes], compare=False, repr=False
    )

    def image(self, image_format: ImageFormat) -> bytes:
        """Return the figure in a format, drawn once for all files."""
        if image_format not in self.images:
            self.images[image_format] = drawn(self.draw, image_format)
        return self.images[image_format]


@dataclass(frozen=True)
class Section:
    """A part of a report: the result of one declared table or figure.

    Attributes:
        name: The declared name.
        kind: The declared kind.
        tables: For readers and programs.
        data: Tables for programs alone, such as the numbers behind a figure.
        notes: Sentences that belong to none of its tables.
        formats: Names of the renderers that its tables go to; none stands for all.
        title: What stands over it on a page; "" where its tables say so.
        is_folded: Whether a page shows its title alone until it is asked for more.
    """

    name: str
    kind: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    data: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    title: str = ""
    is_folded: bool = False


@dataclass(frozen=True)
class TextFile:
    """A file that is neither a table nor a figure.

    Attributes:
        name: With its ending.
        content: All of it.
    """

    name: str
    content: str


@dataclass(frozen=True)
class Provenance:
    """What a report was made from.

    Attributes:
        sweep: Its name.
        description: Its purpose.
        departures: What its launch changed of it as declared, in a sentence, usually "".
        trial_keys: Trial keys of its cells, each once, in the manifest's order.
        num_records: How many of these have a record.
        data: Alarms about splits, how many images each has, what is unusual in them, which code no
            trial key covers, and the sweep's tags and note, a sentence each.
        digest: SHA-256 of all that the results were made from: manifest, records, curves and
            predictions.
    """

    sweep: str
    description: str
    departures: str
    trial_keys: tuple[str, ...]
    num_records: int
    data: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, repr=False)
class Report:
    """A sweep's report.

    Attributes:
        provenance: What it was made from.
        sections: Those that the sweep declares, in its order.
        trials: One row per trial, for programs.
        costs: What its trials took.
        shown: What a terminal is shown of the tables.
        mixtures: What the sweep mixes that costs depend on, such as devices; usually nothing.
        health: A sentence for each of the first arms whose trials have alarms; usually nothing.
        left_out: A sentence for each declared table that could not be made here.
        background: Sections that a page shows below those of the sweep and that are no files:
            curves where the sweep declares none, health, definition, data. As the sweep's own
            they hold only what trial keys decide.
        runs: A section that only the page of costs shows: what each trial ran on.
        texts: Files that are neither tables nor figures.
        paths: All files, in the order in which they were written; none before that.
    """

    provenance: Provenance
    sections: tuple[Section, ...]
    trials: Section
    costs: Section
    shown: tuple[Table, ...] = ()
    mixtures: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    background: tuple[Section, ...] = ()
    runs: Section = Section("runs", "runs")
    texts: tuple[TextFile, ...] = ()
    paths: tuple[Path, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        counts = (len(self.tables), sum(len(section.figures) for section in self.sections))
        counted = (f"{n} {word}{'s' * (n != 1)}" for n, word in zip(counts, _PARTS, strict=True))
        records = f"{self.provenance.num_records} records"
        return summary("Report", self.provenance.sweep, *counted, records)

    def _repr_html_(self) -> str:
        return self.html

    @property
    def answers(self) -> tuple[str, ...]:
        """What the tables with answers say above all else."""
        return tuple(table.lead for table in self.answering)

    @property
    def answering(self) -> tuple[Table, ...]:
        """The tables with the answers: of a search, the first one, and those of evaluations.

        Those in which something is decided come first.
        """
        first = [table for table in (*self.tables, *self.shown) if table.lead][:1]
        found, evaluated = (self._of_kind(kind) for kind in ("sensitivity", "evaluations"))
        once = {table.lead: table for table in (*found, *first, *evaluated)}
        return tuple(sorted(once.values(), key=lambda table: not table.is_decided))

    @property
    def has_several_families(self) -> bool:
        """Whether several sections have answers: the error rate of verdicts is each one's own."""
        return sum(any(table.lead for table in section.tables) for section in self.sections) > 1

    def _of_kind(self, kind: str) -> list[Table]:
        sections = [section for section in self.sections if section.kind == kind]
        return [table for section in sections for table in section.tables if table.lead]

    @property
    def headline(self) -> str:
        """The first answer in a few words, or what the sweep asks, or that there is none."""
        no_answer = self.provenance.description or "There is no table with an answer in it."
        answers = (
            table.headline.text if table.headline else table.lead for table in self.answering
        )
        return next(answers, no_answer)

    @property
    def html(self) -> str:
        """Return it for a notebook: the tables that a terminal shows, and the files."""
        tables = (table.html for table in self.shown or (self.table,))
        said = (line(sentence) for sentence in (*self.health, *self.mixtures, *self.left_out))
        where = facts([("files", str(self.paths[0].parent))]) if self.paths else ""
        return block(f"report of {self.provenance.sweep}", *tables, *said, where)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that the sweep declares, in its order."""
        return tuple(table for section in self.sections for table in section.tables)

    @property
    def cost(self) -> Table:
        """The cost table."""
        return self.costs.tables[0]

    @property
    def table(self) -> Table:
        """The first table, that of costs where the sweep declares figures only."""
        return (*self.tables, self.cost)[0]

    def all_sections(self) -> Iterator[Section]:
        """Yield every section in the order of the files."""
        yield from self.sections
        yield self.trials
        yield self.costs
