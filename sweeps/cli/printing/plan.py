"""What `capsweep plan` prints: what a launch would do."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console

from sweeps.aggregation.tables.ablation_notes import design_notes
from sweeps.aggregation.tables.targets import target_words
from sweeps.cli.printing.console import console, table_of
from sweeps.cli.printing.plan_work import what_is_left
from sweeps.cli.printing.tuned_plan import print_tuned
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from sweeps.execution.survey.survey import Survey
    from sweeps.records.manifest_plan import ManifestDimension, ManifestSearch, RandomReference


def print_plan(survey: "Survey") -> None:
    """Print what a launch would do."""
    from sweeps.execution.view.live_view import clock

    out = console()
    if survey.definition.manifest.search:
        _print_search(survey, survey.definition.manifest.search, out)
    elif (own := survey.definition.manifest.plan) and own.tuned:
        print_tuned(survey, own, out)
    else:
        _print_arms(survey, out)
    for line in what_is_left(survey):
        out.print(line)
    if refusal := survey.refusal:
        out.print(f"run would refuse: {plain(refusal)}", soft_wrap=True)
    capacity = survey.capacity
    out.print(f"{_gpus(capacity.gpus_per_trial)} a trial, {capacity.num_concurrent} at once.")
    seconds = survey.estimate_seconds
    estimate = (
        "no estimate, as nothing like it was trained yet"
        if seconds is None
        else (f"{_about(survey)} {clock(seconds)}" if seconds else "nothing to train")
    )
    out.print(f"Estimate: {estimate}.")
    _print_disk(survey, out)


def _print_disk(survey: "Survey", out: Console) -> None:
    """Print what the launch takes on the disk, and warn where there is too little of it."""
    from sweeps.storage.disk_room import in_words

    disk = survey.disk
    if not disk.most_bytes:
        return
    out.print(
        f"Disk: about {in_words(disk.kept_bytes)} will stay, at most {in_words(disk.most_bytes)} "
        f"at once with the checkpoints; {in_words(disk.free_bytes)} are free."
    )
    if not disk.fits:
        out.print(
            f"The disk is too small: about {in_words(disk.most_bytes - disk.free_bytes)} are "
            f"missing in {plain(str(survey.storage.root))}, so that training would wait for room. "
            f"See what capsweep clean would free, or choose another --storage.",
            soft_wrap=True,
        )


def _about(survey: "Survey") -> str:
    """Return how good an estimate is: trainings with a target may end before their full length."""
    has_target = any(target_words(arm.config) for arm in survey.definition.manifest.arms)
    return "at most about" if has_target else "about"


def _print_arms(survey: "Survey", out: Console) -> None:
    """Print the arms of a design and where their cells stand."""
    manifest = survey.definition.manifest
    crossed = f"{len(manifest.arms)} arms x {len(manifest.seeds)} seeds = {len(survey.cells)} cells"
    if manifest.choosing_seeds:
        crossed = (
            f"{manifest.num_expected} trainings at most, those on the seeds "
            f"{_seeds(manifest.choosing_seeds)} only to choose by"
        )
    if manifest.splits:
        crossed += f", each seed on one of {manifest.num_splits} splits"
    out.print(f"{survey.name}: {crossed}")
    giving = ("parameters", "epochs", "seeds there")
    table = table_of("arm", *giving, "seeds to train", numbers=4, giving=giving)
    for arm in manifest.arms:
        own = [cell for cell in survey.cells if cell.cell.arm == arm.name]
        table.add_row(
            plain(arm.name) + (" (baseline)" if arm.name == manifest.baseline else ""),
            f"{arm.num_parameters:,}",
            ("up to " * bool(target_words(arm.config))) + str(survey.definition.epochs[arm.name]),
            _seeds(cell.cell.seed for cell in own if cell.is_filled),
            _seeds(cell.cell.seed for cell in own if not cell.is_filled),
        )
    out.print(table)
    for note in design_notes(manifest):
        out.print(plain(note), soft_wrap=True)
    if planned := manifest.planned_seeds:
        added = [seed for seed in manifest.seeds if seed not in planned]
        out.print(
            f"Seeds added after looking: {_seeds(added)}. What is bold then needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )


def _print_search(survey: "Survey", search: "ManifestSearch", out: Console) -> None:
    """Print what a search varies, how it proposes, and how far it is."""
    manifest = survey.definition.manifest
    word = "seed" if len(manifest.seeds) == 1 else "seeds"
    out.print(
        f"{survey.name}: {search.num_trials} proposals by {search.sampler}, "
        f"{len(manifest.seeds)} {word} each, scheduler {search.scheduler['kind']}; "
        f"{len(search.proposals)} were made."
        + " The base is trained beside them."
        * bool(search.base)
    )
    out.print(
        f"It has two objectives, {search.objective} and {search.cost}: its answer is a front.\n"
        * bool(search.cost),
        end="",
    )
    if search.limits:
        out.print(plain(f"All that is proposed keeps the limits: {', '.join(search.limits)}."))
    if search.beginning:
        out.print(plain(f"It {search.beginning}."), soft_wrap=True)
    if search.ending:
        out.print(plain(f"It {search.ending}."), soft_wrap=True)
    elif search.until:
        out.print(plain(f"It ends earlier at: {search.until}."), soft_wrap=True)
    table = table_of("setting", "values", "only with", giving=["only with"])
    for dimension in search.dimensions:
        conditions = [f"{name} = {kind}" for name, kind in dimension.conditions.items()]
        table.add_row(
            plain(dimension.name), plain(_values(dimension)), plain(", ".join(conditions))
        )
    out.print(table)
    if again := search.confirmation:
        seeds = ", ".join(map(str, again.seeds))
        beside = ", beside the base" * bool(search.base)
        best = f"{again.best} of the front" if search.cost else f"the best {again.best}"
        if again.random:
            out.print(_drawn(survey, search, again.random), soft_wrap=True)
            beside = f"{beside or ', beside'} and the best of these"
        out.print(f"Then {best} are run again on the fresh seeds {seeds}{beside}.")


def _drawn(survey: "Survey", search: "ManifestSearch", random: "RandomReference") -> str:
    """Say what random points at equal compute cost."""
    definition = survey.definition
    num_points = search.num_asked + bool(search.base)
    full = max(definition.epochs.values(), default=0) * len(definition.manifest.seeds)
    there = f"; {len(random.draws)} were drawn" if random.draws else ""
    return (
        f"It is held against random points at equal compute (drawn by seed {random.seed}): they "
        f"take as many epochs as the search, at most about {num_points * full:,}, on the same "
        f"seeds{there}."
    )


def _gpus(number: float) -> str:
    """Return a number of GPUs at a sentence's beginning: "1 GPU", "No GPU", "2 GPUs"."""
    return f"{number:g} GPU{'s' * (number > 1)}" if number else "No GPU"


def _values(dimension: "ManifestDimension") -> str:
    if dimension.kind == "choices":
        return ", ".join(map(str, dimension.choices))
    step = f", steps of {dimension.step}" if (dimension.step or 1) > 1 else ""
    return f"{dimension.low:g} to {dimension.high:g}{step}" + ", log scale" * dimension.log


def _seeds(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds)) or "-"
