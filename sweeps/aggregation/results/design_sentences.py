"""A design in sentences: what its manifest tells before any training, and what cannot be found."""

import json
import string
from collections.abc import Iterator, Sequence
from typing import Any

from capsmodel.metrics import percent
from capsmodel.settings.profiles import KIND
from capsmodel.spelling import names_by_reason, short_names
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestDesign, ManifestPlan
from sweeps.records.plain_text import one_line, shortened

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


def design_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield what is known of a design before training."""
    yield from same_row_sentences(manifest)
    yield from left_out_sentences(manifest)
    yield from alias_sentences(manifest)
    yield from generator_sentences(manifest)
    num_splits = manifest.num_splits
    if 0 < num_splits < FEWEST_SPLITS:
        fewest = num_splits + FEWEST_SEEDS - 1
        too_few = f", and {fewest} seeds on {num_splits} splits for an interval, or for bold"
        yield (
            f"Differences over {num_splits} splits speak of these alone: it takes {FEWEST_SPLITS} "
            f"to speak of others{too_few * (len(manifest.seeds) < fewest)}."
        )


def path_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield how the rows of a path follow each other, and what their order rests on."""
    if manifest.plan and manifest.plan.adds_up:
        seeds = ", ".join(map(str, manifest.choosing_seeds))
        yield shortened(
            f"A path: each row has the changes of all rows above it and one more, the best on "
            f"validation of those left (seeds {seeds}, which are in no row). The order is one that "
            f"was found greedily; differences are from the baseline, not from the row above.",
            600,
        )


def size_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield how near an arm whose width was matched comes to the size of the other."""
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
            f"{arm.matched_to} ({other:,}). It has {_changes_text(arm)}."
        )


def _changes_text(arm: ManifestArm) -> str:
    """Return what sets an arm apart from the base, parts with all their settings."""
    texts: list[str] = []
    for path, value in arm.changes.items():
        if isinstance(value, dict):
            settings = [f"{name} {json.dumps(value[name])}" for name in value if name != KIND]
            texts.append(f"{path} {value.get(KIND, '')} ({', '.join(settings)})")
        else:
            texts.append(f"{path} {value}")
    return one_line("; ".join(texts))


def tuning_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield how arms were tuned, what each has by that, and where the best lies at an end."""
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return
    yield _tuning_cost(plan)
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = {
        name: arms[point]
        for name, tried in plan.tuned.items()
        for point in tried
        if point in (plan.chosen or ()) and point in arms
    }
    if chosen:
        values = (f"{one_line(name)}: {_values(plan, arm)}" for name, arm in chosen.items())
        yield shortened(f"Chosen on validation: {'; '.join(values)}.", _TUNING_LONGEST)
    edges = [edge for name, arm in chosen.items() for edge in _edges(plan, name, arm)]
    yield from edges[:_MOST_EDGES]
    if (more := len(edges) - _MOST_EDGES) > 0:
        yield f"{more} more chosen values lie at an end of those that were tried."


def _tuning_cost(plan: ManifestPlan) -> str:
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
    are_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    return sorted(values) if are_numbers else []


def same_row_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield which arms stand for rows of the design that are the same configuration."""
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


def left_out_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield which combinations a design does without, as their networks cannot be built."""
    left_out = manifest.design.left_out if manifest.design else {}
    if left_out:
        are = "combination is" if len(left_out) == 1 else "combinations are"
        yield shortened(
            f"{len(left_out)} {are} left out, without a network that can be built: "
            f"{names_by_reason(left_out, _MOST_LEFT_OUT)}.",
            _LEFT_OUT_LONGEST,
        )


def alias_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield which fraction of all combinations a design is, and which effects it aliases."""
    design = manifest.design
    if design is None or design.resolution is None:
        return
    yield (
        f"{len(manifest.arms)} of {2 ** len(design.factors):,} combinations, resolution "
        f"{_NUMERALS.get(design.resolution, design.resolution)}: {_aliasing(design)} Interactions "
        f"of three and more factors are taken to be nothing."
    )
    if not design.is_partly_aliased and (chains := _chains(design)):
        more = len(chains) - _MOST_CHAINS
        sums = "; ".join(chains[:_MOST_CHAINS]) + (f"; and {more} more sums" if more > 0 else "")
        yield shortened(f"Found only as a sum: {sums}.", _ALIAS_LONGEST)


def _aliasing(design: ManifestDesign) -> str:
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
            chains.append(" = ".join(_short(alias, names) for alias in (effect, *others)))
    return chains


def _short(effect: str, names: dict[str, str]) -> str:
    return one_line(" x ".join(names.get(path, path) for path in effect.split(" x ")))


def generator_sentences(manifest: Manifest) -> Iterator[str]:
    """Yield the generators of a fraction, with the letters of its factors."""
    design = manifest.design
    if design and design.generators:
        names = short_names(tuple(design.factors)).values()
        letters = ", ".join(
            f"{letter} {one_line(name)}" for letter, name in zip(_LETTERS, names, strict=False)
        )
        generators = ", ".join(map(one_line, design.generators))
        yield shortened(f"Made by {generators}, where the factors are {letters}.", _ALIAS_LONGEST)
