"""Answers to a conference's checklist on error bars and compute, from the records."""

from collections.abc import Iterator, Sequence
from itertools import chain

from sweeps.aggregation.rendering.markdown import escape_markdown
from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import CellState
from sweeps.aggregation.results.compared_arms import ComparedArms
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.coverage import covered, not_covered, span, split_sentence
from sweeps.aggregation.results.design_sentences import tuning_sentences
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import points_text

_SAME_SPLIT = ", and the split of the others into training and validation images,"
_NOT_COUNTED: tuple[CellState, ...] = ("diverged", "failed", "missing", "unfinished")


def checklist(results: Results, arms: ComparedArms) -> str:
    """Return paragraphs in Markdown, to be pasted: every number in them is from the records.

    Args:
        results: The sweep's results.
        arms: Those that the paper prints.
    """
    manifest = results.manifest
    paragraphs = {
        "What varies between runs": _varying(manifest, arms),
        "How the intervals are made": chain(
            _means(manifest, arms), _differences(manifest, arms), _earlier(results, arms)
        ),
        "How many runs": _counts(manifest, arms),
        "Compute": _compute(results, arms),
    }
    parts = [f"# Checklist for {escape_markdown(manifest.sweep)}"]
    for heading, sentences in paragraphs.items():
        parts += [f"## {heading}", escape_markdown(" ".join(sentences))]
    return "\n\n".join(parts) + "\n"


def _varying(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    seeds = list(dict.fromkeys(seed for arm in arms.arms for seed in arm.trials))
    trained = f"Each of {_number(len(arms.arms), 'arm')} was trained with {_seeds(seeds)}"
    if manifest.plan and (looks := manifest.plan.seeds_at_looks):
        trained = (
            f"{_number(len(arms.arms), 'arm')} were trained with {looks[0]} to {len(seeds)} seeds: "
            f"verdicts were planned at {', '.join(map(str, looks))} seeds, and a decided arm got "
            f"no more"
        )
    if search := manifest.search:
        num_confirmed = len(arms.arms)
        yield (
            f"A search of {_number(search.num_asked, 'proposal')} (sampler {search.sampler}) "
            f"chose arms by {' and '.join(filter(None, (search.objective, search.cost)))} on "
            f"{_seeds(manifest.seeds)}."
        )
        if not num_confirmed:
            yield "None of them was run again on fresh seeds, so that no test figure is given."
            return
        trained = (
            f"{_number(num_confirmed, 'arm')} ran again on {_seeds(seeds)}, which chose nothing"
        )
    by_it = " and, by it, in the split" * bool(manifest.splits)
    yield f"{trained}; runs of one arm differ in the seed{by_it or ' alone'}."
    yield from tuning_sentences(manifest)
    yield (
        "A seed decides the initial weights, the order of the training images and all else that a "
        f"training draws; the test images{'' if by_it else _SAME_SPLIT} do not change with it."
    )
    if sentence := split_sentence(manifest):
        yield sentence
    if len({tuple(arm.trials) for arm in arms.arms}) == 1:
        yield "All arms have the same seeds."


def _means(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    if arms.arms:
        epoch = epoch_of_test_text(arm.arm.config for arm in arms.arms)
        yield (
            f"Errors are of {epoch}. Where a mean has {PLUS_MINUS}, that is half of its "
            f"95 % interval, which covers new seeds and new images; else the standard deviation "
            f"over seeds stands in brackets, (sd), which is not an interval. In a table in a "
            f"paper's style, {PLUS_MINUS} is the standard deviation, as its heading says."
        )
    if manifest.search:
        yield (
            f"{PLUS_MINUS} of a mean over the proposals with some value of a setting is half of "
            f"its 95 % t interval over these proposals, which differ in other settings too."
        )


def _differences(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    compared = (*arms.compared, *arms.against_random)
    if tested := [comparison for comparison in compared if comparison.way]:
        num_together = sum(comparison.p_value is not None for comparison in compared)
        seeds = span([comparison.difference.n for comparison in tested])
        images = span([comparison.num_images for comparison in tested])
        random = ", and from the best random point," * bool(arms.against_random)
        yield (
            f"Differences of test errors from '{arms.baseline}'{random} are paired by seed, their "
            f"95 % intervals two-way, over {seeds} seeds and {images} test images"
            f"{_objects(tested)}, with Satterthwaite's degrees of freedom and no narrower than "
            f"over images alone{_spread_text(tested)}; they are for {covered(compared)}, "
            f"{not_covered(compared)}."
        )
        yield (
            f"p values are two-sided and adjusted for {_number(num_together, 'comparison')} by "
            f"Holm's method, arms of identical results counted once; a difference counts, and is "
            f"bold, below 0.05."
        )
    if alone := sum(comparison.way is None for comparison in compared):
        reasons = dict.fromkeys(
            comparison.why_seeds_alone for comparison in compared if comparison.why_seeds_alone
        )
        why = f" ({'; '.join(reasons)})" if reasons else ""
        untested = f"{_number(alone, 'comparison')} could not be tested in this way"
        yield f"{untested}{why}: no claim is made."
    if any(comparison.log_e is not None for comparison in compared):
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking, so that a difference counts "
            f"below 0.025, and needs an e-process over seeds as well; with the first look, arms "
            f"without a difference have any that counts in at most 0.1 of tables."
        )
    if manifest.margin_points is not None:
        yield f"Equivalent means within {points_text(manifest.margin_points)}, declared beforehand."


def _spread_text(tested: Sequence[Comparison]) -> str:
    """Return the phrase that says from what the spread over seeds is estimated."""
    if any(comparison.way and comparison.way.shared for comparison in tested):
        return ", the variance over seeds estimated from all comparisons of a table together"
    return " or seeds alone"


def _earlier(results: Results, arms: ComparedArms) -> Iterator[str]:
    """Yield how many sweeps had looked at the same test images."""
    num = results.num_earlier_sweeps if arms.arms else None
    if num:
        yield (
            f"{_number(num, 'earlier sweep')} in this store looked at the same test images; the "
            f"verdicts of this one do not allow for that."
        )
    elif num == 0:
        yield "No earlier sweep in this store looked at the same test images."


def _counts(manifest: Manifest, arms: ComparedArms) -> Iterator[str]:
    planned = sum(len(arm.trials) for arm in arms.arms)
    counted = sum(arm.count("counted") for arm in arms.arms)
    others = [f"{sum(arm.count(s) for arm in arms.arms)} {s}" for s in _NOT_COUNTED]
    if arms.arms:
        yield f"Of {_number(planned, 'planned run')} {counted} count; {', '.join(others)}."
    if manifest.search:
        keys = {cell.trial_key for cell in manifest.cells}
        yield f"The search as a whole has {_number(len(keys), 'run')}."
    if diverged := [arm for arm in arms.arms if arm.count("diverged")]:
        names = ", ".join(f"'{arm.arm.name}'" for arm in diverged)
        yield (
            f"Diverged runs (of {names}) are left out of the means; their share has an exact "
            f"interval."
        )


def _compute(results: Results, arms: ComparedArms) -> Iterator[str]:
    trials = [trial for arm in arms.arms for trial in arm.counted.values()]
    sizes = [arm.arm.num_parameters for arm in arms.arms]
    if trials:
        epochs = span([trial.epochs for trial in trials])
        word = "epoch" if epochs == "1" else "epochs"
        yield f"A counted run has {epochs} {word}."
    if sizes:
        yield f"The networks have {span(sizes)} trained parameters."
    keys = {cell.trial_key for cell in results.manifest.cells}
    total = sum(results.records[key].epochs for key in keys if key in results.records)
    yield (
        f"All runs of the sweep together, including those that do not count, took "
        f"{_number(total, 'epoch')}."
    )
    yield (
        "The kind of device changes results by rounding alone and is no part of a run's key; "
        "cost.md lists it, with time and memory."
    )


def _seeds(seeds: Sequence[int]) -> str:
    listed = ", ".join(str(seed) for seed in seeds)
    return f"{_number(len(seeds), 'seed')} ({listed})" if seeds else "no seed"


def _objects(tested: Sequence[Comparison]) -> str:
    """Return of how many objects, writers or sources the test images are, where it is known."""
    counts = [comparison.way.num_clusters for comparison in tested if comparison.way]
    is_of_views = any(
        count < comparison.num_images for count, comparison in zip(counts, tested, strict=True)
    )
    return f" of {span(counts)} objects (or writers, or sources)" if is_of_views else ""


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
