"""The notes below an ablation table: how to read it, and what cannot be concluded."""

import math
import string
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from capsmodel.metrics import TEST_ERROR, non_finite_words, percent
from capsmodel.spelling import names_by_reason, short_names
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.rendering.table import ALONE_MARK, Cell, Column
from sweeps.aggregation.results.arms import ArmResults, identical_groups
from sweeps.aggregation.results.comparisons import (
    MOST_WITH_ADDED,
    Comparison,
    diverged_share,
)
from sweeps.aggregation.tables.ablation_lead import (
    NO_SPREAD,
    ablation_lead,
    covered_notes,
    few_splits_notes,
    named,
    seeds_alone_notes,
)
from sweeps.aggregation.tables.data_notes import OBJECTS_NOTE
from sweeps.aggregation.tables.machines import machine_notes
from sweeps.aggregation.tables.targets import matched_notes, target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, health_notes, reason_notes
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestDesign, ManifestPlan
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import Outcome
from sweeps.tracking.record_facts import flat_settings

_MOST_NAMED = 3
_MOST_CHAINS = 4
_ALIAS_LONGEST = 800
_MOST_LEFT_OUT = 20
_LEFT_OUT_LONGEST = 2000
_MAIN_EFFECTS_CLEAR, _PAIRS_CLEAR = 4, 5
_NUMERALS = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII", 8: "VIII", 9: "IX", 10: "X"}
_LETTERS = string.ascii_uppercase.replace("I", "")
_TUNING_LONGEST = 600
_MOST_EDGES = 6
_LEARNING_RATE = "optimiser.learning_rate"
DIVERGED_COLUMN = Column(
    "Diverged",
    ("num_diverged", "diverged_share_low", "diverged_share_high"),
    align="left",
    hide_if_empty=True,
)


def diverged_cell(arm: ArmResults) -> Cell:
    """Return `2 of 5 (5 % to 85 %)`, nothing where none diverged. Values: count, low, high."""
    diverged = diverged_share(arm)
    values = (int(diverged.count), diverged.low, diverged.high)
    if not diverged.count:
        return Cell("", values)
    ends = f"({diverged.low:.0%} to {diverged.high:.0%})".replace("%", " %")
    return Cell(f"{diverged.count:.0f} of {diverged.total} {ends}", values)


def ablation_words(
    manifest: Manifest,
    arms: Sequence[ArmResults],
    compared: Sequence[Comparison],
    csv: str = "",
) -> tuple[str, tuple[str, ...]]:
    """Return what stands above a table, and the notes below it.

    Args:
        manifest: The sweep's purpose and design.
        arms: Arms with their trials.
        compared: Each group of arms with the baseline.
        csv: Name of the file that has intervals over seeds alone as well; "" for none.
    """
    notes = _notes(manifest, arms, compared, csv)
    return ablation_lead(manifest, compared, arms), tuple(notes)


def _notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison], csv: str
) -> Iterator[str]:
    """Say what the figures cover and what not, the most needed first."""
    yield from covered_notes(manifest, arms, compared)
    yield from matched_notes(manifest, arms, compared)
    if any(one.way and one.way.num_clusters < one.num_images for one in compared):
        yield OBJECTS_NOTE
    yield from alone_notes(compared)
    yield from path_notes(manifest)
    yield from size_notes(manifest)
    yield from tuning_notes(manifest)
    yield from slack_notes(manifest, compared)
    yield from length_notes(arms)
    yield from seeds_alone_notes(compared)
    yield from without_spread_notes(compared)
    yield from added_notes(manifest, compared)
    yield from diverged_notes(arms)
    yield from diverging_notes(compared)
    yield from failed_notes(arms)
    yield from gap_notes(arms)
    yield from machine_notes(arms)
    yield from target_notes(arms)
    yield from _untuned_notes(manifest)
    yield from _these_images_notes(compared, csv)
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: it is given "
        "validation figures only."
    )
    yield from identical_notes(arms)
    yield from same_row_notes(manifest)
    yield from left_out_notes(manifest)
    yield from alias_notes(manifest)
    yield from health_notes(arms)
    yield from reason_notes(arms)


def _these_images_notes(compared: Sequence[Comparison], csv: str) -> Iterator[str]:
    """Say where the figures for the test images of this benchmark are."""
    if csv and any(one.way for one in compared):
        yield (
            f"For new seeds and these very test images, see seeds_alone_points in {csv}: intervals "
            f"without a verdict."
        )


def is_alone(one: Comparison) -> bool:
    """Whether only the interval of this arm leaves out 0, and not that for all comparisons."""
    together = one.simultaneous
    is_within = together is not None and not together.excludes_zero
    return one.verdict == "undecided" and is_within and one.difference.excludes_zero


def alone_notes(compared: Iterable[Comparison]) -> Iterator[str]:
    """Say what the mark behind an interval means, where any has it."""
    if num := max((one.num_together for one in compared if is_alone(one)), default=0):
        yield (
            f"{ALONE_MARK} The interval of this arm alone leaves out 0, but not the simultaneous "
            f"one for all {num} comparisons."
        )


def path_notes(manifest: Manifest) -> Iterator[str]:
    """Say how the rows of a path follow each other, and what their order rests on."""
    if manifest.plan and manifest.plan.adds_up:
        seeds = ", ".join(map(str, manifest.choosing_seeds))
        yield shortened(
            f"A path: each row has the changes of all rows above it and one more, the best on "
            f"validation of those left (seeds {seeds}, which are in no row). The order is one that "
            f"was found greedily; differences are from the baseline, not from the row above.",
            600,
        )


def size_notes(manifest: Manifest) -> Iterator[str]:
    """Say how near an arm whose width was matched comes to the size of the other."""
    sizes = {arm.name: arm.num_parameters for arm in manifest.arms}
    for arm in manifest.arms:
        if not arm.matched_to:
            continue
        other = sizes[arm.matched_to]
        share = percent(abs(arm.num_parameters - other) / other)
        order = "fewer" if arm.num_parameters < other else "more"
        difference = f"{share:.1f} % {order} than" if share >= 0.05 else "within 0.05 % of"
        yield (
            f"{arm.name}: its width was chosen for {arm.num_parameters:,} parameters, {difference} "
            f"{arm.matched_to} ({other:,})."
        )


def _untuned_notes(manifest: Manifest) -> Iterator[str]:
    """Say that arms which differ in one factor have all else as it suits the baseline."""
    plan, design = manifest.plan, manifest.design
    if (plan and (plan.tuned or plan.adds_up)) or (design and design.factors):
        return
    if len(manifest.arms) > 1:
        is_varied = any(_LEARNING_RATE in flat_settings(arm.changes) for arm in manifest.arms)
        such = "that it does not change" if is_varied else "such as the learning rate"
        yield f"No arm is tuned: settings {such} are inherited from the baseline."


def tuning_notes(manifest: Manifest) -> Iterator[str]:
    """Say how arms were tuned, what each has by that, and where the best lies at an end."""
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return
    yield tuning_cost(manifest)
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = {
        name: arms[one]
        for name, tried in plan.tuned.items()
        for one in tried
        if one in (plan.chosen or ()) and one in arms
    }
    if chosen:
        words = (f"{one_line(name)}: {_values(plan, arm)}" for name, arm in chosen.items())
        yield shortened(f"Chosen on validation: {'; '.join(words)}.", _TUNING_LONGEST)
    edges = [edge for name, arm in chosen.items() for edge in _edges(plan, name, arm)]
    yield from edges[:_MOST_EDGES]
    if (more := len(edges) - _MOST_EDGES) > 0:
        yield f"{more} more chosen values lie at an end of those that were tried."


def tuning_cost(manifest: Manifest) -> str:
    """Return what tuning takes, the same for every arm, in a sentence; "" where none is tuned."""
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return ""
    points = max(map(len, plan.tuned.values()))
    seeds = len(plan.choosing_seeds)
    trainings = sum(map(len, plan.tuned.values())) * seeds
    names = ", ".join(map(one_line, short_names(tuple(plan.factors)).values()))
    word = "seed" if seeds == 1 else "seeds"
    return (
        f"Every arm was tuned alike: {points} points of {shortened(names, 200)}, on {seeds} {word} "
        f"that only choose; these {trainings:,} trainings chose, and are in no row."
    )


def _values(plan: ManifestPlan, arm: ManifestArm) -> str:
    names = short_names(tuple(plan.factors))
    changed = [path for path in plan.factors if path in arm.changes]
    return ", ".join(f"{one_line(names[path])} {_text(arm.changes[path])}" for path in changed)


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else shortened(one_line(str(value)), 60)


def _edges(plan: ManifestPlan, name: str, arm: ManifestArm) -> Iterator[str]:
    """Yield where an arm has the largest or smallest number that was tried: more may be better."""
    names = short_names(tuple(plan.factors))
    for path, values in plan.factors.items():
        value, numbers = arm.changes.get(path), _numbers(values)
        if len(numbers) < 2 or value not in (numbers[0], numbers[-1]):
            continue
        end = "smallest" if value == numbers[0] else "largest"
        beyond = "smaller" if value == numbers[0] else "larger"
        yield (
            f"The best {one_line(names[path])} of {one_line(name)} is the {end} that was tried "
            f"({_text(value)}): a {beyond} one may be better, so that this arm may be undersold."
        )


def _numbers(values: Sequence[Any]) -> list[float]:
    """Return values in order where all of them are numbers, none where there is any other."""
    is_number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return sorted(values) if is_number else []


def slack_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Say how much better arms may be at what they were not given, and what bold makes of it."""
    if not manifest.plan or not manifest.plan.tuned or not compared:
        return
    left = {one.arm.arm.name: one.slack[0] for one in compared}
    left[manifest.baseline] = compared[0].slack[1]
    if unknown := [one_line(name) for name, slack in left.items() if math.isinf(slack)]:
        yield shortened(
            f"How far tuning is from the best is not known for {', '.join(unknown)}, as it takes "
            f"two tuning seeds and predictions of the validation images: nothing is bold in these "
            f"rows.",
            _TUNING_LONGEST,
        )
    known = {name: slack for name, slack in left.items() if math.isfinite(slack)}
    if known:
        words = (f"{one_line(name)} {_points(slack)}" for name, slack in known.items())
        yield shortened(
            f"What tuning has left open, in points: {', '.join(words)}. Another of the points "
            f"tried may be better by so much; bold holds though the worse arm be better by it.",
            _TUNING_LONGEST,
        )


def _points(slack: float) -> str:
    return f"{shown_value(slack, TEST_ERROR) or 0:.2f}"


def length_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say which arms were trained for other numbers of epochs than the baseline, as declared."""
    baseline = next((arm for arm in arms if arm.is_baseline), None)
    if baseline is None:
        return
    usual = _epochs(baseline)
    others = [
        f"{one_line(arm.arm.name)} {_epochs(arm)}"
        for arm in arms
        if arm.arm.config.get("stopping") != baseline.arm.config.get("stopping")
        and _epochs(arm) not in {"", usual}
    ]
    if others and usual:
        yield shortened(f"Epochs differ: the baseline has {usual}, {', '.join(others)}.", 400)


def _epochs(arm: ArmResults) -> str:
    numbers = sorted({trial.epochs for trial in arm.counted.values()})
    if not numbers:
        return ""
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"


def without_spread_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say of which arms all differences are equal."""
    alike = [one for one in compared if one.way and not one.has_spread]
    if undecided := [one for one in alike if one.verdict == "undecided"]:
        yield f"{named(undecided)}: {NO_SPREAD}, which proves nothing: no verdict is given."


def added_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Say that seeds were added after looking, and what a verdict then needs."""
    if any(one.log_e is not None for one in compared):
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking: bold here needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds). With the "
            f"first look, which had the whole level, arms without a difference have anything bold "
            f"in at most {MOST_WITH_ADDED:.0%} of tables.".replace("%", " %")
        )


def diverged_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what the count means where any trial diverged."""
    wild = [one_line(arm.arm.name) for arm in arms if arm.count("diverged")]
    if wild:
        yield (
            f"Diverged: trials of {', '.join(wild)} whose loss became {_what_losses_became(arms)}, "
            f"with the exact 95 % interval of that share. They are left out of the means; bold "
            f"also holds if they count as networks that guess."
        )


def diverging_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say which verdicts are on how often arms diverge."""
    if judged := [one for one in compared if one.way is None and one.is_different]:
        yield (
            f"{named(judged)}: as divergence leaves fewer than three seeds, the verdict is on how "
            f"often both arms diverge (Boschloo)."
        )


def failed_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say what failed trials do to verdicts where an arm has other ones than the baseline."""
    usual = sum(arm.count("failed") for arm in arms if arm.is_baseline)
    counts = {one_line(arm.arm.name): arm.count("failed") for arm in arms}
    differing = {
        "More": {name: number for name, number in counts.items() if number > usual},
        "Fewer": {name: number for name, number in counts.items() if number < usual},
    }
    sentences = [
        f"{order} trials failed in {', '.join(f'{name} ({n})' for name, n in found.items())} than "
        f"in the baseline ({usual})."
        for order, found in differing.items()
        if found
    ]
    if sentences:
        yield (
            f"{' '.join(sentences)} If bad trainings fail, those that are left look too good: bold "
            f"also holds if failed trials count as networks that guess."
        )


def _what_losses_became(arms: Sequence[ArmResults]) -> str:
    """Return what the losses of diverged trials became: "NaN", "infinite or NaN"."""
    trials = [trial for arm in arms for trial in arm.trials.values()]
    losses = [
        loss
        for trial in trials
        if trial and trial.outcome is Outcome.DIVERGED
        for loss in (trial.train_loss, trial.validation_loss)
        if loss is not None and not math.isfinite(loss)
    ]
    words = sorted({non_finite_words(loss) for loss in losses}, key=str.lower)
    return " or ".join(words) or "infinite or NaN"


def identical_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say which arms stand in one row, as their results are the same."""
    for group in identical_groups(arms):
        if len(group) > 1:
            names = " and ".join(one_line(arm.arm.name) for arm in group)
            yield f"{names}: losses and errors of the last epoch are exactly equal on every seed."


def same_row_notes(manifest: Manifest) -> Iterator[str]:
    """Say which arms stand for rows of the design that are the same configuration."""
    same = manifest.design.same if manifest.design else {}
    for name, rows in list(same.items())[:_MOST_NAMED]:
        yield shortened(
            f"{one_line(name)} stands for {' and '.join(map(one_line, rows))} of the design, which "
            f"{'is' if len(rows) == 1 else 'are'} the same configuration.",
            400,
        )
    if (more := len(same) - _MOST_NAMED) > 0:
        word = "arms stand" if more > 1 else "arm stands"
        yield f"{more} more {word} for rows of the design that are the same configuration."


def left_out_notes(manifest: Manifest) -> Iterator[str]:
    """Say which combinations a design does without, as their networks cannot be built."""
    left_out = manifest.design.left_out if manifest.design else {}
    if left_out:
        are = "combination is" if len(left_out) == 1 else "combinations are"
        yield shortened(
            f"{len(left_out)} {are} left out, without a network that can be built: "
            f"{names_by_reason(left_out, _MOST_LEFT_OUT)}.",
            _LEFT_OUT_LONGEST,
        )


def alias_notes(manifest: Manifest) -> Iterator[str]:
    """Yield which fraction of all combinations a design is, and which effects it aliases."""
    design = manifest.design
    if design is None or design.resolution is None:
        return
    part = (
        f"{len(manifest.arms)} of {2 ** len(design.factors):,} combinations, resolution "
        f"{_NUMERALS.get(design.resolution, design.resolution)}"
    )
    yield (
        f"{part}: {_mixed(design)} Interactions of three and more factors are taken to be nothing."
    )
    if not design.is_partly_aliased and (chains := _chains(design)):
        more = len(chains) - _MOST_CHAINS
        named = "; ".join(chains[:_MOST_CHAINS]) + (f"; and {more} more sums" if more > 0 else "")
        yield shortened(f"Found only as a sum: {named}.", _ALIAS_LONGEST)


def _mixed(design: ManifestDesign) -> str:
    resolution = design.resolution or 0
    if design.is_partly_aliased:
        return (
            "each main effect takes on a part of the interactions of two others, so that an "
            "interaction can pass for a main effect, and none can be found itself."
        )
    if resolution < _MAIN_EFFECTS_CLEAR:
        return (
            "a main effect cannot be distinguished from interactions of two other factors, "
            "whatever the number of seeds."
        )
    if resolution < _PAIRS_CLEAR:
        return (
            "main effects are clear of interactions of two factors, which cannot be distinguished "
            "from each other."
        )
    return "main effects and interactions of two factors are clear of each other."


def _chains(design: ManifestDesign) -> list[str]:
    """Return the sets of effects that are aliased, each once, those of main effects first."""
    names = short_names(tuple(design.factors))
    chains: list[str] = []
    seen: set[str] = set()
    for effect, others in design.aliases.items():
        if effect not in seen:
            seen |= {effect, *others}
            chains.append(" = ".join(_short(one, names) for one in (effect, *others)))
    return chains


def _short(effect: str, names: dict[str, str]) -> str:
    return one_line(" x ".join(names.get(path, path) for path in effect.split(" x ")))


def design_notes(manifest: Manifest) -> Iterator[str]:
    """Yield what is known of a design before training."""
    yield from same_row_notes(manifest)
    yield from left_out_notes(manifest)
    yield from alias_notes(manifest)
    yield from generator_notes(manifest)
    yield from few_splits_notes(manifest)


def generator_notes(manifest: Manifest) -> Iterator[str]:
    """Yield the generators of a fraction, with the letters of its factors."""
    design = manifest.design
    if design and design.generators:
        names = short_names(tuple(design.factors)).values()
        letters = ", ".join(
            f"{letter} {one_line(name)}" for letter, name in zip(_LETTERS, names, strict=False)
        )
        generators = ", ".join(map(one_line, design.generators))
        yield shortened(f"Made by {generators}, where the factors are {letters}.", _ALIAS_LONGEST)
