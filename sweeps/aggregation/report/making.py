"""A sweep's report as a value."""

from collections.abc import Sequence
from dataclasses import replace

from search_spaces.tables import OwnTable
from sweeps.aggregation.makers.kinds import headlines, make
from sweeps.aggregation.makers.own import left_out
from sweeps.aggregation.makers.results import Results
from sweeps.aggregation.paper.making import (
    Style,
    paper_sections,
    paper_texts,
    why_not_in_style,
)
from sweeps.aggregation.rendering.contents import Report, Section
from sweeps.aggregation.report.asked import Asked
from sweeps.aggregation.report.background import background
from sweeps.aggregation.report.provenance import provenance, refuse_names
from sweeps.aggregation.report.runs import runs_section
from sweeps.aggregation.tables.cost import cost_table, mixtures
from sweeps.aggregation.tables.trials import trials_table


def make_report(
    results: Results, own: Sequence[type[OwnTable]] = (), style: Style = "default"
) -> Report:
    """Return a sweep's report as a value: nothing is rendered, drawn or written yet.

    Result sections hold only what trial keys decide; what trials took stands in one of its own.

    Args:
        results: What it is made from.
        own: Classes of the user's own kinds of tables. A table of another such kind is left out.
        style: "paper" adds the arms as a paper prints them, which a terminal is then shown.

    Raises:
        BadInput: If the name of a table is no slug, the plan has nothing for a table, or there is
            no such style.
        StoreUnreachable: If curves are asked for and the tracking store does not answer.
    """
    asked = Asked(results)
    results = replace(results, histories=asked.histories, find_predictions=asked.predictions)
    manifest, records = results.manifest, results.records
    refuse_names(manifest)
    made = [(declared, make(declared, results, own)) for declared in manifest.tables]
    sections = tuple(section for _, section in made if section)
    in_style = paper_sections(results, style)
    cost = cost_table(manifest, records)
    behind = background(results)
    return Report(
        provenance=provenance(manifest, records, asked.digest()),
        sections=(*sections, *in_style),
        trials=Section("trials", "trials", data=(trials_table(manifest, records),)),
        costs=Section("cost", "cost", tables=(cost,), formats=("markdown", "csv")),
        shown=headlines(in_style or sections),
        mixtures=mixtures(manifest, records),
        left_out=(
            *(left_out(table, manifest.sweep) for table, section in made if not section),
            *why_not_in_style(in_style, style),
        ),
        background=behind,
        runs=runs_section(manifest, records),
        texts=paper_texts(results),
    )
