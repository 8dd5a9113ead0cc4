"""`capsweep plan`: what a launch would do."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from sweeps.cli.declared_options import ONLY_RUN, launch_fields, with_options
from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import SweepArgument
from sweeps.cli.terminal import console, plain, table_of
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.cli.answers import PlanAnswer, PlannedArm, PlannedSettings, PlannedUnbuildable
    from sweeps.cli.commands.planned_importances import PlannedImportances
    from sweeps.execution.engine.capacity import Capacity
    from sweeps.execution.launch.across.launch_across import PlanAcross
    from sweeps.execution.survey.survey import Survey
    from sweeps.records.manifest import Manifest
    from sweeps.records.manifest_plan import (
        ManifestDimension,
        ManifestPlan,
        ManifestSearch,
        RandomReference,
    )

_POWER = 0.8
_MOST_ARMS = 40  # in the table of a terminal
_SECONDS_OF_HOUR = 3600
ENOUGH_SEEDS = 5
SHARE_MISSED = {3: "about half of the differences", 4: "about a fifth of the differences"}
"""Number of seeds -> what five show in bold and so many leave undecided.

By `sweeps/aggregation/statistics/power.py`, where seeds decide more than images do.
"""
EFFECTS_MISSED = {3: "most of the effects", 4: "a fifth or more of the effects"}
"""The same of three effects or more."""


@with_options(launch_fields(without=ONLY_RUN))
def plan(
    sweep: SweepArgument,
    options: Mapping[str, Any],
    *,
    effect: Annotated[
        float | None,
        typer.Option(
            "--effect",
            metavar="POINTS",
            help="Show how many seeds and test images it takes to find a difference of so many "
            "points of test error in every arm; below 0, in arms that err less alone.",
        ),
    ] = None,
    power: Annotated[
        float | None,
        typer.Option(
            "--power", help="With --effect: the probability of finding it [default: 0.8]."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what `run` would do: existing cells, cells to train and why, and an estimate."""
    if effect is not None or power is not None:
        _print_seeds(sweep, options, effect, power, as_json=as_json)
        return
    from sweeps.execution.launch.run import plan as plan_launch

    planned = plan_launch(sweep, **options)
    if hasattr(planned, "surveys"):
        _print_across(cast("PlanAcross", planned), as_json=as_json)
    elif as_json:
        print_json(_answer(cast("Survey", planned)))
    else:
        print_plan(cast("Survey", planned))
    if planned.refusal:
        raise typer.Exit(BadInput.exit_code)


def _print_across(planned: "PlanAcross", *, as_json: bool) -> None:
    """Print what a launch would do on each data set, and on all."""
    from sweeps.cli.answers import PlanAcrossAnswer
    from sweeps.records.plain_text import duration_text

    if as_json:
        answers = {name: _answer(survey) for name, survey in planned.surveys.items()}
        print_json(PlanAcrossAnswer.of(planned, data_sets=answers))
        return
    out = console()
    for name, survey in planned.surveys.items():
        out.print(f"Data set {plain(name)}", style="bold")
        print_plan(survey)
        for line in planned.notes_on(name):
            out.print(plain(line), soft_wrap=True)
        out.print()
    if planned.num_to_come:
        out.print(
            f"The search's best will be judged on the other data sets: {planned.num_to_come:,} "
            f"more trainings.",
            soft_wrap=True,
        )
    seconds = planned.estimate_seconds
    takes = "unknown, as nothing like it was trained yet"
    takes = takes if seconds is None else f"about {duration_text(seconds)}"
    out.print(
        f"{plain(planned.sweep)}: {planned.num_cells:,} cells on {len(planned.surveys)} data sets, "
        f"trained one data set after the other. Estimate of all: {takes}."
    )


def _print_seeds(
    sweep: str,
    options: Mapping[str, Any],
    effect: float | None,
    power: float | None,
    *,
    as_json: bool,
) -> None:
    """Print how many seeds and images a difference takes."""
    if as_json:
        raise BadInput("--json has no answer for planned seeds: leave it out, or --effect.")
    if effect is None:
        raise BadInput(
            "--power belongs to --effect: give the difference that is to be found, in points of "
            "test error, such as --effect 0.5."
        )
    from sweeps.cli.commands.planned_seeds import print_seed_plan
    from sweeps.cli.hints import launch_command
    from sweeps.execution.launch.seed_plan import plan_seeds

    planned = plan_seeds(sweep, effect, _POWER if power is None else power, **options)
    print_seed_plan(planned, launch_command())


def _answer(survey: "Survey") -> "PlanAnswer":
    from sweeps.cli.answers import ExpectedCells, PlanAnswer, PlannedDisk
    from sweeps.records.expected_cells import expected_cells

    manifest = survey.definition.manifest
    is_tuned = bool(manifest.plan and manifest.plan.tuned)
    expected = expected_cells(manifest)
    return PlanAnswer.of(
        survey,
        survey.capacity,
        sweep=survey.name,
        kind="search" if manifest.search else "tuned" if is_tuned else "design",
        num_cells=manifest.num_expected,
        expected=tuple(
            ExpectedCells(what=group.what, num_cells=group.number) for group in expected
        ),
        counts=Counter(cell.state.value for cell in survey.cells),
        arms=_planned_arms(survey),
        disk=PlannedDisk.of(survey.disk),
        unbuildable=_unbuildable(manifest),
        importances=_planned_settings(survey) if manifest.search else None,
    )


def _planned_settings(survey: "Survey") -> "PlannedSettings":
    from sweeps.cli.answers import PlannedSetting, PlannedSettings

    importances = _importances(survey)
    return PlannedSettings.of(
        importances,
        settings=tuple(
            PlannedSetting(
                setting=name, expected_trials=number, needed_trials=importances.needed[name]
            )
            for name, number in importances.expected.items()
        ),
    )


def _unbuildable(manifest: "Manifest") -> "PlannedUnbuildable | None":
    from sweeps.cli.answers import PlannedUnbuildable

    if manifest.search and manifest.search.unbuildable:
        return PlannedUnbuildable.of(manifest.search.unbuildable)
    left_out = manifest.design.left_out if manifest.design else {}
    if not left_out:
        return None
    num_tried, reason = len(manifest.arms) + len(left_out), next(iter(left_out.values()))
    return PlannedUnbuildable(number=len(left_out), num_tried=num_tried, reason=reason)


def _planned_arms(survey: "Survey") -> "tuple[PlannedArm, ...]":
    from sweeps.cli.answers import PlannedArm

    manifest = survey.definition.manifest
    filled: dict[str, list[int]] = {arm.name: [] for arm in manifest.arms}
    empty: dict[str, list[int]] = {arm.name: [] for arm in manifest.arms}
    for cell in survey.cells:
        (filled if cell.is_filled else empty)[cell.cell.arm].append(cell.cell.seed)
    return tuple(
        PlannedArm.of(
            arm,
            arm=arm.name,
            is_baseline=arm.name == manifest.baseline,
            epochs=survey.definition.epochs[arm.name],
            seeds_there=tuple(filled[arm.name]),
            seeds_to_train=tuple(empty[arm.name]),
        )
        for arm in manifest.arms
    )


def print_plan(survey: "Survey") -> None:
    """Print what a launch would do."""
    from sweeps.aggregation.results.design_sentences import size_sentences

    out = console()
    if survey.definition.manifest.search:
        _print_search(survey, survey.definition.manifest.search, out)
    elif (plan := survey.definition.manifest.plan) and plan.tuned:
        _print_tuned(survey, plan, out)
    else:
        _print_arms(survey, out)
    few_seeds = [*_few_seeds(survey.definition.manifest), *_looks(survey)]
    sizes = size_sentences(survey.definition.manifest)
    for line in (*_own_data(survey), *sizes, *_what_is_left(survey), *few_seeds):
        out.print(line)
    if survey.seeds_sentence:
        out.print(survey.seeds_sentence, soft_wrap=True)
    if refusal := survey.refusal:
        out.print(f"run would refuse: {plain(refusal)}", soft_wrap=True)
    if place := survey.why_not_here:
        out.print(f"run needs another place: {plain(place)}", soft_wrap=True)
    for line in gpu_lines(survey.capacity):
        out.print(plain(line), soft_wrap=True)
    out.print(f"Estimate: {_estimate(survey)}.")
    _print_disk(survey, out)


def _print_disk(survey: "Survey", out: Console) -> None:
    """Print what the launch takes on the disk, and warn where there is too little of it."""
    from sweeps.storage.disk_room import size_text

    disk = survey.disk
    if not disk.most_bytes:
        return
    states = f", {size_text(disk.state_bytes)} more for longer trainings" * bool(disk.state_bytes)
    out.print(
        f"Disk: about {size_text(disk.kept_bytes)} will stay{states}, at most "
        f"{size_text(disk.most_bytes)} at once with the checkpoints; {size_text(disk.free_bytes)} "
        f"are free.",
        soft_wrap=True,
    )
    if not disk.fits:
        out.print(
            f"The disk is too small: about {size_text(disk.most_bytes - disk.free_bytes)} are "
            f"missing in {plain(str(survey.storage.root))}, so that training would wait for room. "
            f"See what {SuggestedCommand('clean')} would free, or choose another --storage.",
            soft_wrap=True,
        )


def _about(survey: "Survey") -> str:
    """Return "at most about" where trainings can end early; else "about"."""
    from sweeps.aggregation.results.targets import most_epochs

    may_end_early = any(most_epochs(arm.config) for arm in survey.definition.manifest.arms)
    return "at most about" if may_end_early else "about"


def _print_arms(survey: "Survey", out: Console) -> None:
    """Print the arms of a design and where their cells stand."""
    from sweeps.aggregation.results.design_sentences import design_sentences
    from sweeps.aggregation.results.targets import most_epochs

    manifest = survey.definition.manifest
    out.print(f"{survey.name}: {_size_text(survey)}")
    giving = ("parameters", "epochs", "seeds there")
    table = table_of("arm", *giving, "seeds to train", numbers=4, giving=giving)
    seeds = {(arm.name, is_filled): list[int]() for arm in manifest.arms for is_filled in (0, 1)}
    for cell in survey.cells:
        seeds[cell.cell.arm, cell.is_filled].append(cell.cell.seed)
    for arm in manifest.arms[:_MOST_ARMS]:
        table.add_row(
            plain(arm.name) + (" (baseline)" if arm.name == manifest.baseline else ""),
            f"{arm.num_parameters:,}",
            ("up to " * bool(most_epochs(arm.config))) + str(survey.definition.epochs[arm.name]),
            _seeds(seeds[arm.name, True]),
            _seeds(seeds[arm.name, False]),
        )
    out.print(table)
    if (more := len(manifest.arms) - _MOST_ARMS) > 0:
        out.print(f"and {more} more arms, which --json lists.")
    for sentence in design_sentences(manifest):
        out.print(plain(sentence), soft_wrap=True)
    if planned := manifest.planned_seeds:
        added = [seed for seed in manifest.seeds if seed not in planned]
        out.print(
            f"Seeds added after looking: {_seeds(added)}. What is bold then needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )


def _looks(survey: "Survey") -> Iterator[str]:
    """Yield how many trainings to expect of a plan of looks that has not ended."""
    from sweeps.execution.launch.expected_trainings import expected_trainings
    from sweeps.records.plain_text import points_text

    manifest = survey.definition.manifest
    if not (manifest.plan and manifest.plan.seeds_at_looks and manifest.is_growing):
        return
    yield (
        "After each look, arms that are different from the baseline, or equivalent to it, get no "
        "more seeds."
    )
    expected = expected_trainings(survey)
    if expected is None:
        yield "How many trainings to expect is known once three seeds of each arm are trained."
        return
    difference = points_text(round(expected.difference_points, 2))
    why = "the margin" if expected.is_margin else "two standard deviations of a seed"
    yield (
        f"Trainings to expect in all, by the spread of the trained seeds: about "
        f"{expected.if_none_differs:,} if no arm differs, about {expected.if_all_differ:,} if all "
        f"differ by {difference} ({why})."
    )


def _size_text(survey: "Survey") -> str:
    """Return how many arms, seeds and cells a design has."""
    from sweeps.records.plain_text import counted

    manifest = survey.definition.manifest
    sides = counted(len(manifest.arms), "arm"), counted(len(manifest.seeds), "seed")
    crossed = f"{' x '.join(sides)} = {counted(len(survey.cells), 'cell')}"
    if manifest.choosing_seeds:
        crossed = (
            f"{manifest.num_expected} trainings at most, those on the seeds "
            f"{_seeds(manifest.choosing_seeds)} only to choose by"
        )
    if manifest.plan and (looks := manifest.plan.seeds_at_looks):
        crossed = (
            f"{sides[0]}, looks at {', '.join(map(str, looks))} seeds = "
            f"{len(manifest.arms) * looks[0]:,} to {manifest.num_expected:,} cells"
        )
    if manifest.splits:
        crossed += f", each seed on one of {manifest.num_splits} splits"
    return crossed


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
    for sentence in _search_sentences(search):
        out.print(plain(sentence), soft_wrap=True)
    importances, giving = _importances(survey), ("only with", "trials")
    table = table_of("setting", "values", *giving, numbers=1, giving=giving)
    for dimension in search.dimensions:
        conditions = [f"{name} = {kind}" for name, kind in dimension.conditions.items()]
        table.add_row(
            plain(dimension.name),
            plain(_values(dimension)),
            plain(", ".join(conditions)),
            f"{importances.expected[dimension.name]:.3g}",
        )
    out.print(table)
    for sentence in importances.sentences():
        out.print(plain(sentence), soft_wrap=True)
    if confirmation := search.confirmation:
        seeds = ", ".join(map(str, confirmation.seeds))
        rivals = ", beside the base" * bool(search.base)
        best = (
            f"{confirmation.best} of the front" if search.cost else f"the best {confirmation.best}"
        )
        if confirmation.random:
            out.print(_drawn(survey, search, confirmation.random), soft_wrap=True)
            rivals = f"{rivals or ', beside'} and the best of these"
        out.print(f"Then {best} are run again on the fresh seeds {seeds}{rivals}.")


def _importances(survey: "Survey") -> "PlannedImportances":
    """Return how many trials each setting of a search is expected to have."""
    from search_spaces.plans.search import Search
    from sweeps.cli.commands.planned_importances import planned_importances

    plan, search = survey.definition.sweep.plan, survey.definition.manifest.search
    assert isinstance(plan, Search)
    assert search is not None
    return planned_importances(plan, search)


def _search_sentences(search: "ManifestSearch") -> Iterator[str]:
    """Yield what bounds a search: shares, limits, networks, its first points and its end."""
    if search.balance:
        yield "Each kind of a part gets its share of what is proposed before the sampler learns."
    if search.limits:
        yield f"All that is proposed keeps the limits: {', '.join(search.limits)}."
    notes = (search.forbidden_note, search.measured_limits_note, search.unbuildable_note)
    yield from filter(None, notes)
    if search.beginning:
        yield f"It {search.beginning}."
    if search.ending:
        yield f"It {search.ending}."
    elif search.until:
        yield f"It ends earlier at: {search.until}."


def _drawn(survey: "Survey", search: "ManifestSearch", random: "RandomReference") -> str:
    """Say what random points at equal compute cost."""
    definition = survey.definition
    num_points = search.num_asked + bool(search.base)
    full = max(definition.epochs.values(), default=0) * len(definition.manifest.seeds)
    drawn = f"; {len(random.draws)} were drawn" if random.draws else ""
    return (
        f"It is compared with random points at equal compute (drawn by seed {random.seed}): they "
        f"take as many epochs as the search, at most about {num_points * full:,}, on the same "
        f"seeds{drawn}."
    )


def gpu_lines(capacity: "Capacity") -> Iterator[str]:
    """Yield what trials get of GPUs, how many run at once, and on which GPUs."""
    number, at_once = capacity.gpus_per_trial, capacity.num_concurrent
    if number == "auto":
        most = f"{at_once} at once"
        yield f"Trials share the GPUs by the memory that they need, at most {most}."
    else:
        gpus = f"{number:g} GPU{'s' * (number > 1)}" if number else "No GPU"
        yield f"{gpus} per trial, {at_once} at once."
    for card in capacity.cards:
        yield f"GPU {card.label}: {card.described()}."
    if number != "auto" and any(card.is_shared for card in capacity.cards):
        yield (
            "Trials take every GPU as empty: --gpus-per-trial auto counts what is free, and "
            "CUDA_VISIBLE_DEVICES leaves a GPU out."
        )
    if hidden := capacity.hidden_by:
        sees = "only those GPUs: CUDA reads it up to the first GPU that is not there"
        if not capacity.cards:
            sees = "no GPU: trials use the CPU"
        yield f"CUDA_VISIBLE_DEVICES is {hidden}, and PyTorch sees {sees}."


def _estimate(survey: "Survey") -> str:
    """Return how long the launch will take, and how long it has GPUs."""
    from sweeps.records.plain_text import counted, duration_text

    seconds, num_gpus = survey.estimate_seconds, len(survey.capacity.cards)
    if seconds is None:
        return "no estimate, as nothing like it was trained yet"
    if not seconds:
        return "nothing to train"
    estimate, source = f"{_about(survey)} {duration_text(seconds)}", plain(survey.estimate_source)
    if not num_gpus:
        return f"{estimate}, {source}"
    hours = f"{seconds * num_gpus / _SECONDS_OF_HOUR:.3g}"
    return f"{estimate} on {counted(num_gpus, 'GPU')}, {hours} GPU hours, {source}"


def _values(dimension: "ManifestDimension") -> str:
    if dimension.kind == "choices":
        return ", ".join(map(str, dimension.choices))
    step = f", steps of {dimension.step}" if (dimension.step or 1) > 1 else ""
    return f"{dimension.low:g} to {dimension.high:g}{step}" + ", log scale" * dimension.log


def _seeds(seeds: Iterable[int]) -> str:
    return ", ".join(map(str, seeds)) or "-"


def _print_tuned(survey: "Survey", plan: "ManifestPlan", out: Console) -> None:
    """Print what is tuned, what that costs every arm, and how far it is."""
    manifest = survey.definition.manifest
    points, choosing = max(map(len, plan.tuned.values())), len(plan.choosing_seeds)
    num_arms, seeds = len(plan.tuned), len(manifest.seeds)
    tunings, compared = num_arms * points * choosing, num_arms * seeds
    out.print(
        f"{survey.name}: {num_arms} arms, each tuned at the same {points} points x {choosing} "
        f"tuning seeds = {tunings} trainings,",
        soft_wrap=True,
    )
    out.print(
        f"then trained as chosen on {seeds} fresh seeds = {compared} more: {tunings + compared} "
        f"in all, {points * choosing + seeds} an arm.",
        soft_wrap=True,
    )
    filled = {cell.cell.arm: 0 for cell in survey.cells}
    for cell in survey.cells:
        filled[cell.cell.arm] += cell.is_filled
    table = table_of("arm", "tunings there", "of", "seeds there", "of", numbers=4)
    for name, tried in plan.tuned.items():
        done = sum(filled.get(arm, 0) for arm in tried)
        title = plain(name) + " (baseline)" * (name == manifest.baseline)
        row = (done, len(tried) * choosing, filled.get(name, 0), seeds)
        table.add_row(title, *map(str, row))
    out.print(table)
    for path, values in plan.factors.items():
        tried = ", ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values)
        out.print(f"{plain(path)}: {plain(tried)}", soft_wrap=True)


def _own_data(survey: "Survey") -> Iterator[str]:
    """Say which files travel, what own data hold, which batches are large, what no key covers."""
    from search_spaces.neighbours import neighbours_in
    from sweeps.records.plain_text import image_counts_text, not_covered_text

    if travelling := neighbours_in(survey.definition.source or "").sentence:
        yield plain(travelling)
    for data, facts in survey.definition.own_data().items():
        line = f"Data '{data.kind}': {image_counts_text(facts.num_images)}"
        is_hashed = "; hashed at each launch, as the class lists no files()"
        yield plain(line + is_hashed * (not list(data.files())) + ".")
        yield from map(plain, facts.notes)
    yield from map(plain, survey.definition.large_batches())
    yield from map(plain, not_covered_text(survey.definition.manifest.not_covered))


def _few_seeds(manifest: "Manifest") -> Iterator[str]:
    """Say what fewer than five compared seeds miss."""
    compared, kind = manifest.seeds, "seed"
    if manifest.search:
        confirmation = manifest.search.confirmation
        compared, kind = confirmation.seeds if confirmation else (), "confirmation seed"
    number = len(compared)
    is_alone = manifest.num_expected <= number
    has_other_rule = manifest.splits or manifest.planned_seeds
    if not 0 < number < ENOUGH_SEEDS or is_alone or has_other_rule:
        return
    seeds = f"With {number} {kind}{'s' * (number > 1)}"
    shares = EFFECTS_MISSED if manifest.design else SHARE_MISSED
    missed = (
        f"{shares[number]} that {ENOUGH_SEEDS} show in bold stay undecided (fewer where the test "
        f"images decide)"
        if number in shares
        else f"no difference can be bold: that takes {min(shares)}"
    )
    selects = manifest.search or manifest.plan
    later = "none can be added later" if selects else "seeds added after looking need more evidence"
    yield f"{seeds} {missed}. Plan {ENOUGH_SEEDS} seeds from the start, as {later}."


def _what_is_left(survey: "Survey") -> list[str]:
    """Say what is there, and what a launch will train, carry, or make, a line each."""
    from sweeps.execution.survey.surveyed_cells import CellState
    from sweeps.records.expected_cells import cell_groups_text, fewer_cells_text

    lines = {
        CellState.RECORDED: "are already done",
        CellState.TO_RECORD: "are finished and will be recorded",
        CellState.STOPPED: "were stopped early by the scheduler",
        CellState.NEW: "are new and will be trained",
        CellState.UNFINISHED: "are unfinished and resume from their last checkpoint",
        CellState.WAITING: "wait at a rung of the scheduler, to be promoted or stopped",
        CellState.FAILED: "failed before and are tried again from their last checkpoint",
    }
    counts = [
        (sum(cell.state is state for cell in survey.cells), text) for state, text in lines.items()
    ]
    why = [f"{count} {text if count > 1 else _of_one(text)}." for count, text in counts if count]
    why += _shorter(survey)
    if kinds := cell_groups_text(survey.definition.manifest):
        why.append(f"In all at most {kinds}.")
    if fewer := fewer_cells_text(survey.definition.manifest):
        why.append(fewer)
    manifest = survey.definition.manifest
    is_of_looks = manifest.plan is not None and bool(manifest.plan.seeds_at_looks)
    if (more := manifest.num_expected - len(survey.cells)) and not is_of_looks:
        why.append(f"Up to {more} more will be proposed or chosen, and trained.")
    why += _evaluations(survey)
    why += [
        f"failed before: {plain(cell.cell.arm)}, seed {cell.cell.seed}: {plain(cell.reason)}"
        for cell in survey.cells
        if cell.state is CellState.FAILED
    ]
    return why


def _shorter(survey: "Survey") -> Iterator[str]:
    """Say which cells go on from shorter trainings, and why others do not."""
    from sweeps.execution.survey.surveyed_cells import CellState

    going_on = Counter(cell.epochs for cell in survey.cells if cell.state is CellState.SHORTER)
    for num_epochs, number in sorted(going_on.items()):
        epochs = f"{num_epochs} epoch{'s' * (num_epochs > 1)}"
        several = f"{number} go on from {epochs} of shorter trainings"
        single = f"{number} goes on from {epochs} of a shorter training"
        yield f"{single if number == 1 else several}, on the same kind of machine."
    new = (cell.reason for cell in survey.cells if cell.state is CellState.NEW)
    for reason, number in Counter(filter(None, new)).items():
        yield f"{number} cannot go on from a shorter training, as {plain(reason)}."


def _of_one(text: str) -> str:
    """Return what is said of several cells as it is said of one."""
    singular = {
        "are": "is",
        "were": "was",
        "wait": "waits",
        "go": "goes",
        "their": "its",
        "resume": "resumes",
    }
    return " ".join(singular.get(word, word) for word in text.split())


def _evaluations(survey: "Survey") -> list[str]:
    """Say which evaluations are there, and which will be made."""
    from sweeps.execution.launch.result import not_available
    from sweeps.execution.survey.surveyed_evaluations import EvaluationState, count

    lines = {
        EvaluationState.RECORDED: "evaluations are already done.",
        EvaluationState.TO_RECORD: "evaluations are made and will be recorded.",
        EvaluationState.TO_MAKE: "evaluations are missing and will be made from kept weights.",
    }
    counts = {state: count(survey.evaluations, state) for state in EvaluationState}
    lines_shown = [f"{counts[state]} {text}" for state, text in lines.items() if counts[state]]
    if gone := counts[EvaluationState.NOT_AVAILABLE]:
        lines_shown.append(not_available(gone))
    kinds = dict.fromkeys(evaluation.kind for evaluation in survey.definition.manifest.evaluations)
    if kinds and survey.has_work:
        lines_shown.append(f"Each finished trial is then evaluated: {', '.join(kinds)}.")
    return lines_shown
