"""A sweep across data sets as a launch takes it: the sweep of each data set, with its options."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from capsmodel.settings.messages import explain
from capsmodel.spelling import unknown
from search_spaces.data_set_columns import DATA, SEEDS, check_seeds, first_seed_of
from search_spaces.sweep import ColumnSweep, Sweep
from search_spaces.tables import LONGEST_REASON
from sweeps.aggregation.results.data_set_sweeps import newest_part
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.definition import DeclaredSweep
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import shortened
from sweeps.records.suggested_command import SuggestedCommand

_OF_SEARCH = ("trials", "sampler", "scheduler", "cost", "warm_start")
_ONLY_OF_ALL = {"name": None, "only": None, "notify": None}


class LaunchedColumn(NamedTuple):
    """The sweep of one data set, with the options of its launch.

    Attributes:
        data_set: Name of the data set.
        declared: Its sweep, with the code of the whole.
        options: Those of the launch, with this data set's seeds.
    """

    data_set: str
    declared: DeclaredSweep
    options: LaunchOptions


def columns_of(
    declared: DeclaredSweep, options: LaunchOptions, launched: Mapping[str, Manifest]
) -> tuple[LaunchedColumn, ...]:
    """Return the data sets that a launch is to train on, in order.

    Args:
        declared: The sweep across data sets.
        options: The options of the launch.
        launched: Data set -> manifest, of those launched before: a search says what it confirmed.

    Raises:
        BadInput: If an option does not fit a sweep across data sets.
    """
    sweep = declared.sweep
    _check_options(sweep, options)
    for data_set in options.only or ():
        if data_set not in sweep.across:
            raise BadInput(unknown("data set", data_set, [*sweep.across]))
    try:
        named = sweep if options.name is None else sweep.changed(name=options.name)
        named.check_files(options.only)
        columns = _revised(named.columns(_confirmed(launched)), launched, named.missing_files)
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise BadInput(str(error)) from error
    launches = [
        LaunchedColumn(
            data_set,
            declared._replace(sweep=column),
            _options_on(column, sweep, options, launched),
        )
        for data_set, column in columns.items()
        if options.only is None or data_set in options.only
    ]
    _check_seeds(columns, launches, launched)
    return tuple(launches)


def _check_options(sweep: Sweep, options: LaunchOptions) -> None:
    if path := next((p for p in options.settings or {} if p == DATA or p == f"{DATA}.kind"), None):
        raise BadInput(
            f"Each data set of '{sweep.name}' sets its data, so --set {path} would make all the "
            f"same: leave it out, or choose data sets with --only."
        )
    if sweep.plan.is_search and (options.seeds is not None or options.add_seeds is not None):
        raise BadInput(
            f"'{sweep.name}' is a search across data sets, whose seeds stand in its file: change "
            f"Search(seeds=...) and Confirm(seeds=...) there."
        )
    if options.budget_epochs is not None and len(options.only or sweep.across) > 1:
        raise BadInput(
            f"--budget-epochs counts the epochs of one data set, and '{sweep.name}' has "
            f"{len(sweep.across)}: choose one with --only."
        )


def _check_seeds(
    columns: Mapping[str, Sweep],
    launches: Sequence[LaunchedColumn],
    launched: Mapping[str, Manifest],
) -> None:
    """Check the seeds that data sets will have: those of options, launched or declared.

    Raises:
        BadInput: If some have only some in common.
    """
    seeds = {name: column.arm_seeds for name, column in columns.items()}
    seeds |= {name: manifest.seeds for name, manifest in launched.items() if name in seeds}
    for launch in launches:
        options = launch.options
        added = options.add_seeds or ()
        own = options.seeds or (seeds if added else {}).get(launch.data_set)
        seeds[launch.data_set] = (*(own or columns[launch.data_set].arm_seeds), *added)
    try:
        check_seeds(seeds)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _options_on(
    column: ColumnSweep, sweep: Sweep, options: LaunchOptions, launched: Mapping[str, Manifest]
) -> LaunchOptions:
    """Return the options of a launch on one data set, with its own seeds.

    Options of a search are those of the data set on which it tunes. On the others, arms that it no
    longer confirms may go.
    """
    data_set = column.part_of.data_set
    first = 0 if SEEDS in sweep.across[data_set] else first_seed_of(data_set)
    of_search: dict[str, object] = {}
    if sweep.plan.is_search and not column.plan.is_search:
        before = launched.get(data_set)
        names = {arm.name for arm in column.initial_arms()}
        withdrawn = before is not None and not {arm.name for arm in before.arms} <= names
        of_search = {**dict.fromkeys(_OF_SEARCH), "replace": options.replace or withdrawn}

    def moved(seeds: Sequence[int] | None) -> tuple[int, ...] | None:
        return None if seeds is None else tuple(first + seed for seed in seeds)

    seeds = {"seeds": moved(options.seeds), "add_seeds": moved(options.add_seeds)}
    return options.model_copy(update={**_ONLY_OF_ALL, **seeds, **of_search})


def _revised(
    columns: Mapping[str, ColumnSweep],
    launched: Mapping[str, Manifest],
    left_out: Mapping[str, str],
) -> dict[str, ColumnSweep]:
    """Return data sets with the revision of their table: a new one where it has changed."""
    newest = newest_part(launched)
    part = next(iter(columns.values())).part_of
    reasons = {name: shortened(why, LONGEST_REASON) for name, why in left_out.items()}
    revision = 1
    if newest:
        before = (newest.data_sets, newest.table, newest.left_out)
        revision = newest.revision + (before != (part.data_sets, part.table, reasons))
    changes = {"left_out": reasons, "revision": revision}
    return {
        name: column.model_copy(update={"part_of": column.part_of.model_copy(update=changes)})
        for name, column in columns.items()
    }


def _confirmed(launched: Mapping[str, Manifest]) -> dict[str, dict[str, Any]]:
    """Return the arms that a search has confirmed, name -> path -> value; none before it has."""
    for manifest in launched.values():
        if manifest.search and (confirmation := manifest.search.confirmation):
            changes = {arm.name: arm.changes for arm in manifest.arms}
            return {name: changes[name] for name in confirmation.arms or ()}
    return {}


def awaits_search(launched: Mapping[str, Manifest]) -> bool:
    """Return whether a search has still to confirm the arms that other data sets judge."""
    return not _confirmed(launched)


def check_launched(
    sweep: str, data_sets: Sequence[str], launched: Mapping[str, Manifest], sweeps: Collection[str]
) -> None:
    """Check that a sweep still has the data sets that it was launched with.

    Args:
        sweep: Its name.
        data_sets: Those that it declares.
        launched: Data set -> manifest, of those launched before.
        sweeps: Names of all sweeps of the store.

    Raises:
        BadInput: If it drops one, adds one to a plan of looks, or has a sweep's name.
    """
    if sweep in sweeps:
        raise BadInput(
            f"'{sweep}' was launched as a sweep of one data set: launch it across data sets under "
            f"another name (--name NEW)."
        )
    for data_set, manifest in launched.items():
        if data_set not in data_sets:
            raise BadInput(
                f"The data set '{data_set}' was launched and '{sweep}' has it no more: give it "
                f"its name again, launch under another name (--name NEW), or delete it first: "
                f"{SuggestedCommand('delete', manifest.sweep)}."
            )
        part_of, plan = manifest.part_of, manifest.plan
        has_looks = plan is not None and bool(plan.seeds_at_looks)
        if has_looks and part_of and len(part_of.data_sets) != len(data_sets):
            raise BadInput(
                f"The looks of '{sweep}' are planned for {len(part_of.data_sets)} data sets and "
                f"it has {len(data_sets)} now: launch it under another name (--name NEW)."
            )
