"""The lines above and below a table of arms by data sets: what bold says, and of what."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR, Metric, percent
from search_spaces.tables import DataSetsTable
from sweeps.aggregation.rendering.measured import p_cell, shown_value
from sweeps.aggregation.rendering.table import ALONE_MARK, PLUS_MINUS, Needed, number_text
from sweeps.aggregation.results.arms import gap_text
from sweeps.aggregation.results.comparisons import MOST_WITH_ADDED, Comparison
from sweeps.aggregation.results.coverage import span
from sweeps.aggregation.results.data_set_results import (
    DataSetColumn,
    DataSetResults,
    OverallComparison,
)
from sweeps.aggregation.results.evaluation_comparisons import mean_of_measured
from sweeps.aggregation.results.health import alarms_in_short, alarms_of
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.results.targets import missed
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.looks import ONLY_LOOK, SHARE_ALONE
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.all_pairs_notes import EQUIVALENT
from sweeps.aggregation.tables.columns import ILL_MARK, MISSED_MARK
from sweeps.aggregation.tables.notes import reason_notes
from sweeps.records.plain_text import listed, one_line, points_text, shortened

NOTHING = "\N{EN DASH}"
"""Where an arm has no figure."""

_ALONE = (
    f"As one arm is compared alone, it has {percent(SHARE_ALONE):.0f} % of the level; p allows for "
    f"that."
)
_LONGEST = 600
_MOST_NAMED = 5


def compared_text(declared: DataSetsTable, metric: Metric) -> str:
    """Return what arms are compared by, as a title names it.

    Args:
        declared: What the sweep declares of the table.
        metric: The primary figure's, where that stands in place of the test error.
    """
    if not declared.primary_of:
        return "test error"
    figure = "primary figure" if metric == TEST_ERROR else metric.text
    turned = "1 minus " * (metric.direction == "larger")  # as arms are compared by costs
    return f"{turned}{figure} of {one_line(declared.primary_of)}"


def data_sets_lead(results: DataSetResults) -> str:
    """Return what holds over all data sets, and of which arms nothing is known."""
    if len({name for column in results.columns for name in column.arms}) == 1:
        return "There is one arm: nothing to compare it with."
    if results.why_no_overall:
        return f"There is no verdict over all data sets: {_clause(results.why_no_overall)}."
    known = _known(results)
    parts = {
        "different from the baseline": [name_with_size(o) for o in known if o.is_different],
        "equivalent to it": [_names(o) for o in known if o.verdict == "equivalent"],
        "undecided": [_names(o) for o in known if o.verdict == "undecided"],
        "identical to it": [*map(one_line, results.identical)],
        "without an interval on each of them": [
            _names(o) for o in results.overall if o.difference is None
        ],
    }
    found = [f"{text}: {listed(names, _MOST_NAMED)}" for text, names in parts.items() if names]
    num = len(results.columns) - len(results.without_baseline)
    return f"Over {num} data sets, {'; '.join(found)}." if found else ""


def _known(results: DataSetResults) -> list[OverallComparison]:
    """Return the comparisons that have a difference over all data sets."""
    return [overall for overall in results.overall if overall.difference is not None]


def name_with_size(overall: OverallComparison) -> str:
    """Return an arm with its difference over all data sets: `CNN (errs 10.2 % less)`."""
    mean = (overall.difference.mean if overall.difference else None) or 0.0
    if overall.scale == "points":
        points = number_text(shown_value(mean, TEST_ERROR) or 0.0, sign="+")
        return f"{_names(overall)} ({points} points)"
    by = number_text(abs(percent(mean)), 1)
    return f"{_names(overall)} (errs {by} % {'less' if mean < 0 else 'more'})"


def is_alone_overall(overall: OverallComparison) -> bool:
    """Whether an overall interval leaves out 0, but not the one that holds for all arms at once."""
    alone, together = overall.difference, overall.simultaneous
    if overall.verdict != "undecided" or alone is None or together is None:
        return False
    return alone.excludes_zero and not together.excludes_zero


def data_sets_notes(
    results: DataSetResults, declared: DataSetsTable, margin_points: float | None
) -> Iterator[str]:
    """Yield what the figures cover and what they do not, the most needed first.

    Args:
        results: The arms compared.
        declared: What the sweep declares of the table.
        margin_points: The margin of "equivalent", None where none was declared.
    """
    measured = [each for column in results.columns for each in column.arms.values()]
    yield from _marks(results)
    yield from _means([each for each in measured if each.errors])
    tested = _tested(results)
    yield from _bold(results, tested, margin_points)
    yield from _left_out(results, tested)
    yield from _by_divergence(results)
    yield from _overall(results, declared, tested, margin_points)
    yield from _missing(results)
    yield from _undecided(results)
    yield from _published(declared)
    yield from _seeds(results, measured, tested, margin_points)
    yield from _identical(results)
    yield from _ranks(results)
    for column in results.columns:
        for reason in reason_notes([each.arm for each in column.arms.values()]):
            yield f"{one_line(column.name)}: {reason}"


def _marks(results: DataSetResults) -> Iterator[str]:
    """Yield what marks in cells mean, where any cell has one."""
    arms = {
        one_line(column.name): [each.arm for each in column.arms.values()]
        for column in results.columns
    }
    alarms = {name: alarms_in_short(alarms_of(of_column)) for name, of_column in arms.items()}
    ill = "; ".join(f"{name}: {note}" for name, note in alarms.items() if note)
    late = [f"{arm.shown_name} on {name}" for name in arms for arm in arms[name] if missed(arm)]
    marks = [f"{ILL_MARK} {shortened(ill, _LONGEST)}"] if ill else []
    if late:
        marks.append(f"{MISSED_MARK} Some trials never reached their target: {', '.join(late)}.")
    if marks:
        yield Needed(" ".join(marks))


def _means(measured: Sequence[MeasuredArm]) -> Iterator[str]:
    if measured:
        yield from notes.mean_notes(map(mean_of_measured, measured), measured[0].split)


def _tested(results: DataSetResults) -> list[Comparison]:
    """Return the comparisons on all data sets that could be tested."""
    cells = [each for column in results.columns for each in column.cells.values()]
    return [comparison for comparison in cells if comparison.p_value is not None]


def _bold(
    results: DataSetResults, tested: Sequence[Comparison], margin_points: float | None
) -> Iterator[str]:
    """Yield what a verdict on one data set means, and of which family it is."""
    if not tested:
        return
    rule = notes.bold_text(tested, "")
    is_added = any(comparison.log_e is not None for comparison in tested)
    most = MOST_WITH_ADDED if is_added else SIGNIFICANCE
    sentences = [
        f"In a cell, {rule[0].lower()}{rule[1:].replace(':', ' is', 1)}{_family(tested)}.",
        *([_ALONE] if _is_alone(results, tested) else []),
        f"Where no arm differs, any cell is bold in at most {percent(most):.0f} % of tables.",
    ]
    if is_added:
        sentences.append(
            "Seeds were added after looking: bold needs half the level, and evidence that repeated "
            "looks do not inflate (an e-process over seeds)."
        )
    if margin_points is not None:
        sentences.append(
            f"Equivalent ({EQUIVALENT}): shown to differ by less than {points_text(margin_points)},"
            f" the margin declared."
        )
    yield Needed(" ".join(sentences))


def _family(tested: Sequence[Comparison]) -> str:
    """Return over which comparisons p on a data set is adjusted, "" where there is one alone."""
    num = max(cell.num_together * cell.look.num_data_sets for cell in tested)
    text = f" over all {num} comparisons of arms on data sets" * (num > 1)
    if not _has_looks(tested):
        return f"{text} together (Holm)" * (num > 1)
    num_data_sets = max(cell.look.num_data_sets for cell in tested)
    share = f": each of the {num_data_sets} data sets has 1/{num_data_sets} of the level"
    of_holm = " (Holm over its arms)" * (num > num_data_sets)
    at_looks = f"{text}{',' * (num > 1)} at all looks together"
    return f"{at_looks}{share * (num_data_sets > 1)}{of_holm}"


def _has_looks(tested: Sequence[Comparison]) -> bool:
    """Whether verdicts on data sets are taken at planned looks."""
    return any(cell.look != ONLY_LOOK for cell in tested)


def _is_alone(results: DataSetResults, tested: Sequence[Comparison]) -> bool:
    """Whether one arm is compared alone, so that cells have a part of the level only."""
    if _has_looks(tested):
        return all(cell.look.is_alone for cell in tested)
    arms = [
        {cell.arm.arm.name for cell in column.cells.values() if cell.p_value is not None}
        for column in results.columns
    ]
    return all(len(names) <= 1 for names in arms)


def _left_out(results: DataSetResults, tested: Sequence[Comparison]) -> Iterator[str]:
    """Yield which trials no mean counts, the diverged ones first, and what bold allows for."""
    fewer = [
        (each.arm, f"{each.arm.shown_name} on {one_line(column.name)} ({_why_fewer(each)})")
        for column in results.columns
        for each in column.arms.values()
        if len(each.errors) < len(each.arm.trials)
    ]
    if not fewer:
        return
    fewer.sort(key=lambda each: [not each[0].count(state) for state in ("diverged", "failed")])
    names = ", ".join(text for _, text in fewer)
    sentences = [shortened(f"Trials left out of the means: {names}.", _LONGEST)]
    if tested and any(arm.count("diverged") for arm, _ in fewer):
        sentences.append(
            "Diverged: the loss became infinite or NaN. Bold also holds if diverged trials count "
            "as networks that guess."
        )
    if tested and any(map(_fails_unequally, results.columns)):
        sentences.append(
            "If bad trainings fail, those that are left look too good: bold also holds if failed "
            "trials count as networks that guess."
        )
    yield Needed(" ".join(sentences))


def _by_divergence(results: DataSetResults) -> Iterator[str]:
    """Yield which verdicts are on how often arms diverge."""
    judged = [
        f"{one_line(name)} on {one_line(column.name)}"
        for column in results.columns
        for name, cell in column.cells.items()
        if cell.way is None and cell.is_different
    ]
    if judged:
        yield Needed(
            f"{listed(judged, _MOST_NAMED)}: as divergence leaves fewer than three seeds, the "
            f"verdict is on how often both arms diverge (Boschloo)."
        )


def _why_fewer(measured: MeasuredArm) -> str:
    """Return why a mean is over fewer seeds than planned: `1 diverged, 1 without a value`."""
    num_without = len(measured.arm.counted) - len(measured.errors)
    without = f"{num_without} without a value" * (num_without > 0)
    return ", ".join(text for text in (gap_text(measured.arm), without) if text)


def _fails_unequally(column: DataSetColumn) -> bool:
    """Whether an arm has more or fewer failed trials than the baseline."""
    return bool(column.baseline) and len({o.arm.count("failed") for o in column.arms.values()}) > 1


def _overall(
    results: DataSetResults,
    declared: DataSetsTable,
    tested: Sequence[Comparison],
    margin_points: float | None,
) -> Iterator[str]:
    """Yield what is said of all data sets together, and of others."""
    known = _known(results)
    why = _clause(results.why_not_like_these) if declared.other_data_sets else ""
    nothing = f"Nothing is said of other data sets{f': {why}' * bool(why)}."
    if not known:
        if why and results.overall:
            yield nothing
        return
    together = " over all arms together (Holm)" * (len(known) > 1)
    has_others = any(overall.like_these for overall in known)
    sentences = [
        *_overall_sentences(results, known, together),
        *(["Overall is judged once, after the last look."] if _has_looks(tested) else []),
    ]
    if results.scale == "percent" and margin_points is not None:
        sentences.append(
            "Equivalence is judged on each data set and not over all: the margin is in points."
        )
    yield Needed(" ".join([*sentences, *([] if has_others else [nothing])]))
    if has_others:
        yield Needed(
            f"Like these: the error relative to the baseline's on other data sets, with its 95 % "
            f"interval. These data sets are taken to be a random sample of them. Bold is p < .05"
            f"{together}, a family apart."
        )


def _overall_sentences(
    results: DataSetResults, known: Sequence[OverallComparison], together: str
) -> Iterator[str]:
    """Yield what a figure over all data sets is, and when it is bold.

    Args:
        results: The arms compared.
        known: Those that have a difference over all data sets.
        together: Over what p is adjusted.
    """
    if results.scale == "points":
        yield (
            f"Overall: the error minus the baseline's in points, averaged over data sets, "
            f"{PLUS_MINUS} half of its 95 % interval."
        )
    else:
        yield (
            "Overall: the error relative to the baseline's, averaged over data sets, with its 95 % "
            "interval. It is in percent as the baseline's errors differ threefold or more."
        )
    yield (
        "The interval is for new seeds and new images of these data sets, which all have the same "
        "weight."
    )
    is_added = any(overall.log_e is not None for overall in known)
    level = f"{SIGNIFICANCE / (2 if is_added else 1):g}".removeprefix("0")
    yield f"Bold is p < {level}{together}, a family apart from the cells."
    if len(known) == 1:
        yield _ALONE
    if any(map(is_alone_overall, known)):
        other = "simultaneous one for all arms" if together else "one of the verdict"
        yield (
            f"{ALONE_MARK} By itself the interval of this arm leaves out 0, but not the {other}: "
            f"it is no finding."
        )


def _missing(results: DataSetResults) -> Iterator[str]:
    """Yield why cells have no figure or no interval, and which data sets no Overall counts."""
    has_overall = bool(_known(results))
    missing: dict[str, list[str]] = {}
    for column in results.columns:
        for name, why in column.missing.items():
            cell = f"{one_line(name)} on {one_line(column.name)}"
            missing.setdefault(_clause(why), []).append(cell)
    if missing:
        text = "; ".join(f"{', '.join(cells)} ({why})" for why, cells in missing.items())
        apart = ", and no part in Overall" * has_overall
        yield shortened(f"{NOTHING} or no {PLUS_MINUS}{apart}: {text}.", _LONGEST)
    without = [*map(one_line, results.without_baseline)]
    if without and has_overall:
        yield f"Overall leaves out {', '.join(without)}: the baseline has no result there."


def _undecided(results: DataSetResults) -> Iterator[str]:
    """Yield why arms have no verdict over all data sets, unless the lead says it of all."""
    if results.why_no_overall:
        return
    undecided: dict[str, list[str]] = {}
    for overall in results.overall:
        if overall.why_undecided and not overall.missing_on:
            undecided.setdefault(_clause(overall.why_undecided), []).append(_names(overall))
    for reason, names in undecided.items():
        yield f"No verdict over all data sets on {listed(names, _MOST_NAMED)}: {reason}."


def _published(declared: DataSetsTable) -> Iterator[str]:
    if any(declared.published.values()):
        where = one_line(declared.published_in).rstrip(".")
        yield (
            f"Published: test errors in percent{f', from {where}' * bool(where)}. No difference "
            f"from ours is tested, as the published trials are not at hand."
        )


def _seeds(
    results: DataSetResults,
    measured: Sequence[MeasuredArm],
    tested: Sequence[Comparison],
    margin_points: float | None,
) -> Iterator[str]:
    planned = [len(each.arm.trials) for each in measured]
    if max(planned, default=0) > 1:
        has_gaps = any(len(each.errors) < len(each.arm.trials) for each in measured)
        yield f"A mean is over {span(planned)} seeds{', fewer where a cell says n' * has_gaps}."
    elif planned:
        yield "Each arm has one seed, so there is no spread over seeds."
    if tested:
        unequal = " Undecided does not mean equal: no margin was declared."
        yield (
            f"Better, undecided and worse count data sets by the verdicts of their cells."
            f"{unequal * (margin_points is None)}"
        )
    if _known(results):
        yield from _dependence(results)
    if results.scale == "percent" and tested:
        yield (
            "The figure divides differences by the baseline's mean error on the data set, whose "
            "uncertainty its lines leave out."
        )


def _dependence(results: DataSetResults) -> Iterator[str]:
    """Yield what Overall takes to go together on data sets."""
    yield (
        "The data sets have the same seeds, so that Overall averages over data sets within a seed "
        "first."
        if results.shares_seeds
        else "Seeds are other numbers on each data set: what a seed does on one tells nothing of "
        "another."
    )
    for names in results.same_images:
        yield (
            f"{listed(names, len(names))} show the same images: Overall takes errors on them to go "
            f"together, which makes its interval as wide as it can be."
        )


def _identical(results: DataSetResults) -> Iterator[str]:
    """Yield which arms err exactly as others do."""
    some = [
        f"{one_line(name)} on {one_line(column.name)}"
        for column in results.columns
        for name in column.identical
        if name not in results.identical
    ]
    if some:
        yield shortened(f"Equal to the baseline on every seed: {', '.join(some)}.", _LONGEST)
    for names in (("the baseline", *results.identical), *(each.arms for each in results.overall)):
        if len(names) > 1:
            arms = " and ".join(map(one_line, names))
            yield f"{arms}: losses and errors are exactly equal on every data set and seed."


def _ranks(results: DataSetResults) -> Iterator[str]:
    if (ranks := results.ranks) is None:
        return
    named = [one_line(name) for name, p_value in ranks.adjusted_p.items() if p_value < SIGNIFICANCE]
    found = f"{listed(named, _MOST_NAMED)} (p < .05, Holm; bold in the figure)"
    left_out = f" Left out: {', '.join(map(one_line, ranks.left_out))}."
    p_text = p_cell(ranks.friedman_p).text
    yield (
        f"Average rank: over {ranks.num_data_sets} data sets, 1 for the smallest mean error. "
        f"Other than that of the baseline: {found if named else 'none is shown to be'}. Friedman's "
        f"test of no difference at all: p {'' if p_text.startswith('<') else '= '}{p_text}."
        f"{left_out * bool(ranks.left_out)}"
    )


def _names(overall: OverallComparison) -> str:
    return " = ".join(map(one_line, overall.arms))


def _clause(why: str) -> str:
    return one_line(why).removesuffix(".")
