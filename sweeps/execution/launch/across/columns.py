"""A sweep across data sets as a launch takes it: the sweep of each data set, with its options."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from capsmodel.settings.messages import explain
from capsmodel.spelling import unknown
from search_spaces.data_set_columns import DATA, SEEDS, first_seed_of
from search_spaces.sweep import Sweep
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.definition import DeclaredSweep
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.suggested_command import SuggestedCommand

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
    try:
        named = sweep if options.name is None else sweep.changed(name=options.name)
        columns = named.columns(_confirmed(launched))
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise BadInput(str(error)) from error
    for data_set in options.only or ():
        if data_set not in columns:
            raise BadInput(unknown("data set", data_set, [*columns]))
    chosen = [name for name in columns if options.only is None or name in options.only]
    return tuple(
        LaunchedColumn(
            data_set,
            declared._replace(sweep=columns[data_set]),
            _options_on(data_set, sweep, options),
        )
        for data_set in chosen
    )


def _check_options(sweep: Sweep, options: LaunchOptions) -> None:
    if path := next((p for p in options.settings or {} if p == DATA or p == f"{DATA}.kind"), None):
        raise BadInput(
            f"Each data set of '{sweep.name}' sets its data, so --set {path} would make all the "
            f"same: leave it out, or choose data sets with --only."
        )
    if options.budget_epochs is not None and len(options.only or sweep.across) > 1:
        raise BadInput(
            f"--budget-epochs counts the epochs of one data set, and '{sweep.name}' has "
            f"{len(sweep.across)}: choose one with --only."
        )


def _options_on(data_set: str, sweep: Sweep, options: LaunchOptions) -> LaunchOptions:
    """Return the options with a data set's own seeds in place of the sweep's."""
    first = 0 if SEEDS in sweep.across[data_set] else first_seed_of(data_set)

    def moved(seeds: Sequence[int] | None) -> tuple[int, ...] | None:
        return None if seeds is None else tuple(first + seed for seed in seeds)

    seeds = {"seeds": moved(options.seeds), "add_seeds": moved(options.add_seeds)}
    return options.model_copy(update={**_ONLY_OF_ALL, **seeds})


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
