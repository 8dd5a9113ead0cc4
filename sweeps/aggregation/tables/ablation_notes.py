"""The notes below an ablation table: how to read it, and what cannot be concluded."""

import math
from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import PLUS_MINUS, Needed
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.coverage import covered, not_covered, span, split_sentence
from sweeps.aggregation.results.design_sentences import (
    alias_sentences,
    left_out_sentences,
    path_sentences,
    same_row_sentences,
    size_sentences,
    tuning_sentences,
)
from sweeps.aggregation.tables import notes
from sweeps.aggregation.tables.columns import is_of_objects
from sweeps.aggregation.tables.look_notes import look_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened
from sweeps.tracking.record_facts import flat_settings

_LONGEST = 600
_LEARNING_RATE = "optimiser.learning_rate"


def ablation_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison], csv: str
) -> Iterator[str]:
    """Yield what the figures cover and what they do not, the most needed first.

    Args:
        manifest: The sweep's purpose and design.
        arms: Arms with their trials.
        compared: Each group of arms with the baseline.
        csv: Name of the file that has intervals over seeds alone as well; "" for none.
    """
    yield from notes.ill_notes(arms)
    yield from _covered(manifest, arms, compared)
    yield from look_notes(manifest, compared)
    yield from notes.alone_notes(compared)
    yield from notes.near_limit_notes(compared)
    yield from _untuned(manifest)
    yield from tuning_sentences(manifest)
    yield from slack_notes(manifest, compared)
    is_of_looks = bool(manifest.plan and manifest.plan.seeds_at_looks)
    yield notes.tested_note(arms, are_looked_at=is_of_looks)
    yield from _spread(manifest, compared)
    yield from notes.matched_notes(manifest, arms, compared)
    if any(is_of_objects(comparison) for comparison in compared):
        yield notes.OBJECTS_NOTE
    yield from path_sentences(manifest)
    yield from size_sentences(manifest)
    yield from length_notes(arms)
    yield from notes.seeds_alone_notes(compared)
    yield from notes.added_notes(manifest, compared)
    yield from notes.diverged_notes(arms)
    yield from notes.judged_notes(compared)
    yield from notes.failed_notes(arms)
    yield from notes.gap_notes(arms)
    yield from notes.machine_notes(arms)
    yield from notes.target_notes(arms)
    yield from _elsewhere(compared, csv)
    yield from notes.identical_notes(arms)
    yield from same_row_sentences(manifest)
    yield from left_out_sentences(manifest)
    yield from alias_sentences(manifest)
    yield from notes.health_notes(arms)
    yield from notes.reason_notes(arms)


def _covered(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    counts = [len(arm.counted) for arm in arms if len(arm.counted) > 1]
    if counts:
        on = f" on {manifest.num_splits} splits" * bool(manifest.splits)
        yield Needed(f"sd: the standard deviation over {span(counts)} seeds{on}, a description.")
    elif len(manifest.seeds) == 1:
        yield "Each arm has one seed, so there is no spread over seeds."
    else:
        yield "No arm has two finished trials, so there is no spread."
    if any(comparison.way for comparison in compared):
        at_looks = ", at all looks together" * bool(manifest.plan and manifest.plan.seeds_at_looks)
        yield Needed(
            f"{PLUS_MINUS}: half of the 95 % interval of this row alone{at_looks}, for "
            f"{covered(compared)}; {not_covered(compared)}."
        )
        yield Needed(
            f"{notes.bold_text(compared, 'all comparisons of this table')}; "
            f"{notes.margin_text(manifest)}"
        )


def _spread(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield from what the spread over seeds is estimated."""
    if any(comparison.way for comparison in compared):
        yield from notes.shared_notes(manifest, compared)
        if sentence := split_sentence(manifest):
            yield sentence


def slack_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Yield how much tuning may still improve each arm, and how bold allows for that."""
    if not manifest.plan or not manifest.plan.tuned or not compared:
        return
    slacks = {comparison.arm.arm.name: comparison.slack[0] for comparison in compared}
    slacks[manifest.baseline] = compared[0].slack[1]
    if unknown := [one_line(name) for name, slack in slacks.items() if math.isinf(slack)]:
        yield shortened(
            f"How far tuning is from the best is not known for {', '.join(unknown)}, as it takes "
            f"two tuning seeds and predictions of the validation images: nothing is bold in these "
            f"rows.",
            _LONGEST,
        )
    known = [
        f"{one_line(name)} {shown_value(slack, TEST_ERROR) or 0:.2f}"
        for name, slack in slacks.items()
        if math.isfinite(slack)
    ]
    if known:
        yield shortened(
            f"What tuning has left open, in points: {', '.join(known)}. Another of the points "
            f"tried may be better by so much; bold holds though the worse arm be better by it.",
            _LONGEST,
        )


def length_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield which arms were declared with other numbers of epochs than the baseline."""
    for baseline in (arm for arm in arms if arm.is_baseline):
        others = [
            f"{arm.shown_name} {_epochs(arm)}"
            for arm in arms
            if arm.arm.config.get("stopping") != baseline.arm.config.get("stopping")
            and _epochs(arm) not in {"", _epochs(baseline)}
        ]
        if others and (usual := _epochs(baseline)):
            yield shortened(f"Epochs differ: the baseline has {usual}, {', '.join(others)}.", 400)


def _epochs(arm: ArmResults) -> str:
    numbers = sorted({trial.epochs for trial in arm.counted.values()})
    return " to ".join(dict.fromkeys(map(str, (numbers[0], numbers[-1])))) if numbers else ""


def _elsewhere(compared: Sequence[Comparison], csv: str) -> Iterator[str]:
    if csv and any(comparison.way for comparison in compared):
        yield (
            f"For new seeds and these very test images, see seeds_alone_points in {csv}: intervals "
            f"without a verdict."
        )


def _untuned(manifest: Manifest) -> Iterator[str]:
    """Yield that untuned arms inherit all other settings from the baseline."""
    plan, design = manifest.plan, manifest.design
    if (plan and (plan.tuned or plan.adds_up)) or (design and design.factors):
        return
    if len(manifest.arms) > 1:
        is_varied = any(_LEARNING_RATE in flat_settings(arm.changes) for arm in manifest.arms)
        such = "that it does not change" if is_varied else "such as the learning rate"
        yield f"No arm is tuned: settings {such} are inherited from the baseline."
