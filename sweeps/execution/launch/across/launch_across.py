"""A launch across data sets, and what it would do."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from search_spaces.data_set_columns import without_settings
from search_spaces.plans.search import Search
from search_spaces.sweep import ColumnSweep, Sweep
from sweeps.aggregation.rendering.notebook_pieces import block, summary
from sweeps.aggregation.report import write_report
from sweeps.aggregation.results.data_set_sweeps import column_manifests
from sweeps.execution.engine.capacity import ONE_AT_A_TIME, Capacity
from sweeps.execution.engine.policies import BY_DEFAULT, Policies
from sweeps.execution.launch.across.columns import (
    LaunchedColumn,
    awaits_search,
    check_launched,
    columns_of,
)
from sweeps.execution.launch.launch import check_options, launch, surveyed
from sweeps.execution.launch.notification import notified
from sweeps.execution.launch.progress import UNENDED
from sweeps.execution.launch.result import INTERRUPTED, SweepResult
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.launch_process.launch_lock import readable_places, usable_places
from sweeps.execution.plan.definition import DeclaredSweep
from sweeps.execution.survey.survey import Survey, survey_of
from sweeps.execution.view.live_view import print_line
from sweeps.records.errors import BadInput, StoreUnreachable, SweepError
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import counted, in_ranges
from sweeps.storage.disk_room import size_text
from sweeps.tracking.opening import open_store
from sweeps.tracking.store import RecordStore

_NOT_ALL = 3
_LEAST_SECONDS = 1.0


@dataclass(frozen=True, repr=False)
class PlanAcross:
    """What a launch across data sets would do.

    Attributes:
        sweep: Its name.
        surveys: Data set -> what there is to do on it.
        num_to_come: Trainings of the arms that a search has still to confirm, on the other data
            sets.
    """

    sweep: str
    surveys: Mapping[str, Survey]
    num_to_come: int = 0

    @property
    def num_cells(self) -> int:
        """How many cells there will be at most."""
        manifests = [survey.definition.manifest for survey in self.surveys.values()]
        return sum(manifest.num_expected for manifest in manifests) + self.num_to_come

    def __repr__(self) -> str:
        return summary("PlanAcross", self.sweep, f"{len(self.surveys)} data sets")

    def _repr_html_(self) -> str:
        """Return it for a notebook: the plan of each data set."""
        return block(
            f"plan of {self.sweep}",
            *(survey._repr_html_() for survey in self.surveys.values()),  # pyright: ignore[reportPrivateUsage]
        )

    @property
    def estimate_seconds(self) -> float | None:
        """Estimated seconds on all data sets, None if one cannot be estimated."""
        seconds = [survey.estimate_seconds for survey in self.surveys.values()]
        known = [each for each in seconds if each is not None]
        return sum(known) if len(known) == len(seconds) else None

    def notes_on(self, data_set: str) -> tuple[str, ...]:
        """Return what is to be downloaded for a data set, and whose trials it shares."""
        definition = self.surveys[data_set].definition
        sizes = {k: v for data in definition.data_sets() for k, v in data.downloads().items()}
        known = [size for size in sizes.values() if size is not None]
        size = f", {size_text(sum(known))}" if len(known) == len(sizes) else ""
        files = counted(len(sizes), "file")
        download = f"To download: {files}{size} ({', '.join(sizes)})." if sizes else ""
        seeds = in_ranges(definition.manifest.seeds)
        shared = f"Its trials are those of a sweep of this data set alone with the seeds {seeds}."
        sweep = definition.sweep
        apart = without_settings(sweep.settings, sweep.arms()) if _has_arms(sweep) else ()
        return (*filter(None, (download, shared)), *apart)

    @property
    def refusal(self) -> str | None:
        """Why `run` would refuse it, None if it would not."""
        refusals = {name: survey.refusal for name, survey in self.surveys.items()}
        return next((_on(name, why) for name, why in refusals.items() if why), None)


def plan_across(
    declared: DeclaredSweep, options: LaunchOptions, capacity: Capacity = ONE_AT_A_TIME
) -> PlanAcross:
    """Return what a launch across data sets would do. Writes nothing.

    Raises:
        BadInput: If it cannot be launched.
        StoreUnreachable: If the tracking store does not answer.
    """
    columns = _checked_columns(declared, options)
    surveys: dict[str, Survey] = {}
    for column in columns:
        with _named(column.data_set):
            surveys[column.data_set] = survey_of(
                column.declared, column.options, capacity, reads_all_sweeps=True
            )
    num_to_come = 0
    plan = declared.sweep.plan
    if isinstance(plan, Search) and plan.confirm and awaits_search(_launched(declared, options)):
        trained = [
            survey for survey in surveys.values() if not survey.definition.sweep.plan.is_search
        ]
        num_to_come = sum(
            plan.confirm.best * len(survey.definition.manifest.seeds) for survey in trained
        )
    return PlanAcross(_name(declared, options), surveys, num_to_come)


def launch_across(
    declared: DeclaredSweep, options: LaunchOptions, policies: Policies = BY_DEFAULT
) -> SweepResult:
    """Launch the sweep of each data set, one after the other, and write the report over all.

    All are checked and their data fetched before the first trains. A data set whose launch is
    refused later does not keep the others from theirs.

    Args:
        declared: The sweep across data sets.
        options: The options of the launch.
        policies: As of `launch`; an engine that was started early is the first data set's.

    Raises:
        SweepError: If it cannot be launched; nothing was written then.
    """
    check_options(options)
    usable_places(options.storage, options.tracking_uri)
    name, ended = _name(declared, options), dict[str, SweepResult | SweepError]()
    columns = _checked_columns(declared, options)
    for column in columns:
        with _named(column.data_set):
            surveyed(column.declared, column.options, policies)
    reported = list[SweepResult]()
    with notified(options.notify) as begins:
        begins(lambda: reported[0] if reported else _joined(name, ended))
        _launch_in_order(declared, options, policies, ended)
        result = _joined(name, ended)
        is_over = result.exit_code == INTERRUPTED
        reported.append(result if is_over else _with_report(result, options))
    return reported[0]


def _launch_in_order(
    declared: DeclaredSweep,
    options: LaunchOptions,
    policies: Policies,
    ended: dict[str, SweepResult | SweepError],
) -> None:
    """Launch one data set after the other.

    Args:
        declared: As of `launch_across`, like `options` and `policies`.
        options: The same.
        policies: The same.
        ended: Gets how the launch of each data set ended, or why it was refused.
    """
    started = time.monotonic()
    columns = {column.data_set: column for column in _checked_columns(declared, options)}
    for number, data_set in enumerate(columns, 1):
        is_search = declared.sweep.plan.is_search
        if ended and is_search and awaits_search(_launched(declared, options)):
            ended[data_set] = BadInput("the search has not confirmed its best yet.")
            continue
        name = columns[data_set].declared.sweep.name
        print_line(f"Data set {number} of {len(columns)}: {data_set} ({name}).")
        try:
            if is_search:  # it has meanwhile confirmed the arms of the other data sets
                current = {each.data_set: each for each in _checked_columns(declared, options)}
                columns[data_set] = current[data_set]
            ended[data_set] = result = launch(
                columns[data_set].declared, _rest(columns[data_set], started), policies
            )
        except SweepError as error:
            ended[data_set] = error
            print_line(_on(data_set, str(error)))
            continue
        finally:
            policies = replace(policies, begun=None)
        if result.exit_code == INTERRUPTED:
            break


def _rest(column: LaunchedColumn, started: float) -> LaunchOptions:
    """Return a data set's options with what is left of the time limit."""
    limit = column.options.time_limit_seconds
    if limit is None:
        return column.options
    left = max(limit - (time.monotonic() - started), _LEAST_SECONDS)
    return column.options.model_copy(update={"time_limit_seconds": left})


def _joined(name: str, ended: Mapping[str, SweepResult | SweepError]) -> SweepResult:
    """Return how a launch across data sets ended."""
    results = {key: each for key, each in ended.items() if isinstance(each, SweepResult)}
    refused = {key: each for key, each in ended.items() if isinstance(each, SweepError)}
    codes = {result.exit_code for result in results.values()} | {_NOT_ALL for _ in refused}
    codes = codes or {UNENDED}
    why = [_on(key, str(error)) for key, error in refused.items()]
    why += [_on(key, each.stop_reason) for key, each in results.items() if each.stop_reason]
    complaints = [_on(key, each.complaint) for key, each in results.items() if each.complaint]
    return SweepResult(
        sweep=name,
        num_cells=sum(each.num_cells for each in results.values()),
        num_filled=sum(each.num_filled for each in results.values()),
        num_trained=sum(each.num_trained for each in results.values()),
        exit_code=max(codes),
        is_recorded=all(each.is_recorded for each in results.values()),
        complaint=" ".join(complaints),
        stop_reason=" ".join(why),
        failures=tuple(
            replace(failure, arm=f"{failure.arm} on {key}")
            for key, each in results.items()
            for failure in each.failures
        ),
    )


def _with_report(result: SweepResult, options: LaunchOptions) -> SweepResult:
    """Return a result with the report over all data sets, unless the store is unreachable."""
    try:
        report = write_report(_store(options), result.sweep, Path(options.reports))
    except StoreUnreachable as error:
        return replace(result, exit_code=_NOT_ALL, is_recorded=False, complaint=str(error))
    return replace(result, report=report)


def _checked_columns(declared: DeclaredSweep, options: LaunchOptions) -> tuple[LaunchedColumn, ...]:
    store, launched = _store(options), _launched(declared, options)
    sweeps = store.sweeps() if store.exists() else []
    check_launched(_name(declared, options), [*declared.sweep.across], launched, sweeps)
    return columns_of(declared, options, launched)


def _launched(declared: DeclaredSweep, options: LaunchOptions) -> Mapping[str, Manifest]:
    return column_manifests(_store(options), _name(declared, options))


def _store(options: LaunchOptions) -> RecordStore:
    storage, tracking_uri = readable_places(options.storage, options.tracking_uri)
    return open_store(tracking_uri, storage.root)


def _has_arms(sweep: Sweep) -> TypeGuard[ColumnSweep]:
    return isinstance(sweep, ColumnSweep) and not sweep.plan.is_search


def _name(declared: DeclaredSweep, options: LaunchOptions) -> str:
    return options.name or declared.sweep.name


@contextmanager
def _named(data_set: str) -> Generator[None]:
    """Name the data set in whatever is refused in the block."""
    try:
        yield
    except BadInput as error:
        raise BadInput(_on(data_set, str(error))) from error


def _on(data_set: str, sentence: str) -> str:
    return f"Data set '{data_set}': {sentence}"
