"""The headline of a table: its answer in at most fifteen words, for the head of a page.

What differs comes before what is undecided. Where names leave no room, the headline counts.
"""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import Headline, number_text
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.data_set_results import DataSetResults
from sweeps.aggregation.results.evaluation_comparisons import ComparedEvaluation
from sweeps.aggregation.results.factor_effects import Effects
from sweeps.aggregation.sensitivity.sensitivity import Sensitivity
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.data_sets_notes import name_with_size
from sweeps.aggregation.tables.evaluations_notes import axis_text
from sweeps.aggregation.tables.reach_sentences import ERRORS, FIGURES, Wording
from sweeps.aggregation.tables.search_answer import setting_with_share, settings_that_matter
from sweeps.records.plain_text import counted, one_line, points_text

MOST_WORDS = 15
_NONE = "no arm is shown to differ from the baseline."
_NONE_BY_TEST_ERROR = "No arm's test error is shown to differ from the baseline's."
_FROM_BASELINE = " from the baseline"


def comparison_headline(
    compared: Sequence[Comparison],
    margin_points: float | None,
    words: Wording = ERRORS,
    *,
    by: str = "",
) -> Headline | None:
    """Return which arms differ from the baseline, or are equivalent to it; None without a verdict.

    Args:
        compared: Each group of arms with the baseline.
        margin_points: The sweep's margin.
        words: How the table speaks of differences.
        by: What the arms are compared by, where that is not the test error.
    """
    paired = [comparison for comparison in compared if comparison.difference.n]
    if not paired:
        return None
    start = f"{by}: " if by else ""
    different = [comparison for comparison in paired if comparison.is_different]
    if different:
        return _first_short(start, _that_differ(different, len(paired), words), is_decided=True)
    equivalent = [comparison for comparison in paired if comparison.verdict == "equivalent"]
    if equivalent:
        within = f"to the baseline within {points_text(margin_points or 0.0)}"
        names = _joined([_name(comparison) for comparison in equivalent])
        is_or_are = "is" if len(equivalent) == 1 else "are"
        counts = f"{len(equivalent)} of {_arms(len(paired))} {is_or_are} equivalent {within}."
        named = f"{names} {is_or_are} equivalent {within}."
        return _first_short(start, [named, counts], is_decided=True)
    none = _untestable(paired) or (_NONE if by else _NONE_BY_TEST_ERROR)
    return _first_short(start, [none], is_decided=False)


def _untestable(compared: Sequence[Comparison]) -> str:
    """Return that too few seeds allow no test, "" if any comparison is tested or lacks no seeds."""
    nums = {comparison.difference.n for comparison in compared}
    if max(nums) >= FEWEST_SEEDS or any(each.p_value is not None for each in compared):
        return ""
    seeds = counted(nums.pop(), "seed") if len(nums) == 1 else "fewer than three seeds"
    return f"no difference can be tested with {seeds}."


def _that_differ(
    different: Sequence[Comparison], num_compared: int, words: Wording
) -> Iterator[str]:
    means = [shown_value(each.difference.mean, TEST_ERROR) for each in different]
    if len(different) == 1 and means[0] is not None:
        does = (words.less if means[0] < 0 else words.more).format(f"{abs(means[0]):.2f} points")
        yield f"{_name(different[0])} {does} than the baseline."
    if all(mean is not None for mean in means):
        signed = [number_text(mean or 0.0, sign="+") for mean in means]
        units = [" points", *[""] * (len(signed) - 1)]
        with_means = [
            f"{_name(each)} ({number}{unit})"
            for each, number, unit in zip(different, signed, units, strict=True)
        ]
        verb = _verb([mean or 0.0 for mean in means], words)
        yield f"{_joined(with_means)} {verb} {'from' if verb == 'differ' else 'than'} the baseline."
        yield f"{_joined(with_means)} {verb}."
    verb = "differs" if len(different) == 1 else "differ"
    yield f"{len(different)} of {_arms(num_compared)} {verb}{_FROM_BASELINE}."


def _verb(means: Sequence[float], words: Wording) -> str:
    """Return what arms with these differences do: `err less`, `lie higher`, `differ`."""
    if len({mean < 0 for mean in means}) > 1:
        return "differ"
    does = (words.less if means[0] < 0 else words.more).format("").split()
    return " ".join(does if len(means) == 1 else [does[0].removesuffix("s"), *does[1:]])


def evaluation_headline(
    evaluated: ComparedEvaluation, margin_points: float | None
) -> Headline | None:
    """Return what `comparison_headline` does, of an evaluation's primary figure."""
    primary = evaluated.primary
    words = ERRORS if primary.figure.is_error else FIGURES
    figures = [primary.figure, *(point.figure for point in evaluated.points)]
    at = next((figure.metric.at for figure in figures if figure.metric.at), None)
    by = f"over {axis_text(at)}" if at else evaluated.evaluation.kind.replace("_", " ")
    return comparison_headline(primary.compared, margin_points, words, by=by)


def confirmation_headline(compared: Sequence[Comparison], num_chosen: int) -> Headline | None:
    """Return whether fresh seeds show that an arm of the search is better than its base."""
    paired = [comparison for comparison in compared if comparison.difference.n]
    if not paired:
        return None
    better = [each for each in paired if each.is_different and (each.difference.mean or 0.0) < 0]
    if better:
        mean = shown_value(better[0].difference.mean, TEST_ERROR) or 0.0
        less = f"{abs(mean):.2f} points less than the base"
        named = f"Fresh seeds confirm {_name(better[0])}: it errs {less}."
        counts = f"Fresh seeds confirm {_arms(len(better))} of the search."
        return _first_short("", [named, counts][len(better) > 1 :], is_decided=True)
    which = "the best" if num_chosen == 1 else f"any of the best {num_chosen}"
    return Headline(f"Fresh seeds do not show that {which} beats the base.", is_decided=False)


def search_headline(sensitivity: Sensitivity) -> Headline | None:
    """Return which settings matter; None before any proposal counts."""
    if not sensitivity.sample.values:
        return None
    if sensitivity.sample.is_chosen:
        return Headline("There is no verdict on what matters.", is_decided=False)
    shares = [setting_with_share(setting) for setting in settings_that_matter(sensitivity)]
    if not shares:
        return Headline("No setting is shown to matter.", is_decided=False)
    matter = "matters" if len(shares) == 1 else "matter"
    of_all = f"{len(shares)} of {len(sensitivity.settings)} settings {matter}"
    sentences = [f"What matters: {_joined(shares)}.", f"{of_all}, {shares[0]} most.", f"{of_all}."]
    return _first_short("", sentences, is_decided=True)


def effects_headline(effects: Effects) -> Headline | None:
    """Return which effects are found; None without an estimate."""
    if not effects.crossed.arms or not effects.estimated:
        return None
    clear = [effect for effect in effects.estimated if effect.is_significant]
    if not clear:
        return Headline("No effect is found.", is_decided=False)
    count = f"{len(clear)} of {len(effects.estimated)} effects"
    return Headline(f"{count} {'is' if len(clear) == 1 else 'are'} found.", is_decided=True)


def data_sets_headline(results: DataSetResults) -> Headline | None:
    """Return which arms differ over all data sets."""
    num = len(results.columns) - len(results.without_baseline)
    if results.why_no_overall:
        return Headline("There is no verdict over all data sets.", is_decided=False)
    known = [overall for overall in results.overall if overall.difference is not None]
    if not known:
        return None
    start = f"Over {num} data sets, "
    if different := [overall for overall in known if overall.is_different]:
        verb = "differs" if len(different) == 1 else "differ"
        named = f"{_joined([name_with_size(overall) for overall in different])} {verb}."
        counts = f"{len(different)} of {_arms(len(known))} {verb}{_FROM_BASELINE}."
        return _first_short(start, [named, counts], is_decided=True)
    equivalent = [overall for overall in known if overall.verdict == "equivalent"]
    if equivalent:
        is_or_are = "is" if len(equivalent) == 1 else "are"
        counts = f"{len(equivalent)} of {_arms(len(known))} {is_or_are} equivalent to the baseline."
        return Headline(f"{start}{counts}", is_decided=True)
    return Headline(f"{start}no arm is shown to differ from the baseline.", is_decided=False)


def _first_short(
    start: str, sentences: Iterator[str] | Sequence[str], *, is_decided: bool
) -> Headline:
    """Return the first sentence of at most fifteen words, else the last."""
    text = ""
    for sentence in sentences:
        text = f"{start}{sentence}"
        if len(text.split()) <= MOST_WORDS:
            break
    return Headline(text[0].upper() + text[1:], is_decided)


def _name(comparison: Comparison) -> str:
    return one_line(comparison.shown_name)


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _arms(num: int) -> str:
    return f"{num} arm{'s' * (num != 1)}"
