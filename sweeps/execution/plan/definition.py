"""The definition of a sweep: from a name, a file or an object to its manifest."""

import ast
import hashlib
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from capsmodel.config import TrainingConfig, num_multiply_adds, num_parameters
from capsmodel.data import DataFacts, DataSet
from capsmodel.overrides import with_settings
from capsmodel.settings.messages import explain
from capsmodel.stopping import Stopping
from search_spaces.catalogue import named_sweep, named_sweeps
from search_spaces.data_fingerprint import data_fingerprint, facts_of_own_data
from search_spaces.evaluation_key import evaluation_key
from search_spaces.notebook import FILE, text_of_cells
from search_spaces.part_code import code_in_file
from search_spaces.plans.base import Arm
from search_spaces.plans.search import Search
from search_spaces.plans.unbuildable import check_networks
from search_spaces.sweep import LONGEST_DESCRIPTION, ColumnSweep, Sweep
from search_spaces.sweep_file import code_outside, sweep_from_file
from search_spaces.sweep_source import is_file_name, syntax_tree
from search_spaces.tables import EvaluationsTable
from search_spaces.trial_key import trial_key, trial_keys
from search_spaces.user_code import error_text, line_in_sweep_file
from sweeps.execution.plan.changes import Changes
from sweeps.execution.sweep_log import waiting_trials
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.manifest import VERDICT_RULE, Manifest, ManifestArm, ManifestCell
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.manifest_plan import ManifestSearch, Plain
from sweeps.records.plain_text import large_batch_text, one_line, shortened
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.records.sweep_log import Decided, Declared

_ONE_SPLIT: Mapping[int, int] = MappingProxyType({})
_CHOICES = {"stopping", "stopping.kind"}
_BLANK_LINES = re.compile(r"\n\s*\n")
_RULES_OF_LOOKS = 1  # raised when a plan of the same looks would decide differently
_OF_YAML = (".yaml", ".yml")
MultiplyAdds = Mapping[str, int | None]
"""Trial key -> the multiply-adds of its network; None where these cannot be counted."""

_NOT_COUNTED: MultiplyAdds = MappingProxyType({})


def manifest_arm(
    arm: Arm, num_multiply_adds: int | None = None, *, matched_to: str = ""
) -> ManifestArm:
    """Return an arm in the form of the manifest.

    Args:
        arm: The arm.
        num_multiply_adds: Those of a forward pass, None where they are not counted.
        matched_to: The arm to whose number of parameters its width was matched.

    Raises:
        ValueError: If its model cannot be built.
    """
    return ManifestArm(
        name=arm.name,
        config=arm.config.model_dump(mode="json"),
        changes=arm.changes,
        num_parameters=_num_parameters(arm.name, arm.config),
        num_multiply_adds=num_multiply_adds,
        matched_to=matched_to,
        shifted_test=arm.config.data.has_shifted_test,
    )


def _manifest_arms(
    sweep: Sweep, arms: Iterable[Arm], cells: Iterable[ManifestCell], counts: MultiplyAdds
) -> list[ManifestArm]:
    """Return arms in the form of the manifest; what an earlier launch counted is not counted again.

    Counting takes seconds, as it loads much of torch that nothing else in a launch needs.
    """
    are_counted = any(evaluation.primary for evaluation in sweep.evaluations)
    matched = sweep.plan.matched
    counted = {cell.arm: counts[cell.trial_key] for cell in cells if cell.trial_key in counts}

    def count(arm: Arm) -> int | None:
        if not are_counted:
            return None
        return counted[arm.name] if arm.name in counted else multiply_adds(arm.config)

    return [manifest_arm(arm, count(arm), matched_to=matched.get(arm.name, "")) for arm in arms]


def counts_of(manifest: Manifest | None) -> MultiplyAdds:
    """Return the multiply-adds that an earlier launch counted; none where it counted none."""
    if manifest is None or not any(evaluation.primary for evaluation in manifest.evaluations):
        return {}
    counts = {arm.name: arm.num_multiply_adds for arm in manifest.arms}
    return {cell.trial_key: counts[cell.arm] for cell in manifest.cells}


def manifest_cells(
    arms: Mapping[str, Arm],
    places: Iterable[tuple[str, int]],
    splits: Mapping[int, int] = _ONE_SPLIT,
) -> list[ManifestCell]:
    """Return the cells of some places.

    Args:
        arms: By name.
        places: Pairs of arm and seed.
        splits: Seed -> split; empty if all seeds have the split of the arm's config.
    """

    @cache
    def keys(name: str, split: int | None) -> Callable[[int], str]:
        return trial_keys(_on_split(arms[name].config, split))

    def key(name: str, seed: int) -> str:
        return keys(name, splits.get(seed))(seed)

    return [ManifestCell(arm=name, seed=seed, trial_key=key(name, seed)) for name, seed in places]


def _on_split(config: TrainingConfig, split: int | None) -> TrainingConfig:
    if split is None:
        return config
    data = config.data.model_copy(update={"split_seed": split})
    return config.model_copy(update={"data": data})


def _num_parameters(arm: str, config: TrainingConfig) -> int:
    try:
        return num_parameters(config)
    except ValueError as error:
        raise ValueError(f"Arm '{arm}': {error}") from error


def multiply_adds(config: TrainingConfig) -> int | None:
    """Return those of a forward pass, None where a user's own part cannot run without numbers."""
    try:
        return num_multiply_adds(config)
    except Exception:  # noqa: BLE001 - whatever a user's own code raises
        return None


def manifest_tables(sweep: Sweep) -> list[dict[str, Any]]:
    """Return the tables of a sweep, with one of its evaluations if these have metrics."""
    tables = tuple(sweep.tables or sweep.plan.default_tables())
    has_table = any(isinstance(table, EvaluationsTable) for table in tables)
    has_numbers = any(evaluation.metrics for evaluation in sweep.evaluations)
    shown = (*tables, EvaluationsTable()) if has_numbers and not has_table else tables
    return [table.model_dump(mode="json") for table in shown]


def manifest_evaluations(sweep: Sweep) -> tuple[ManifestEvaluation, ...]:
    """Return the evaluations that a sweep declares."""
    return tuple(
        ManifestEvaluation(
            evaluation_key=evaluation_key(evaluation),
            kind=evaluation.kind,
            settings=evaluation.model_dump(mode="json", exclude={"kind"}),
            looks_at=evaluation.looks_at,
            metrics=evaluation.metrics,
            primary=evaluation.primary,
        )
        for evaluation in sweep.evaluations
    )


def is_user_plan(sweep: Sweep) -> bool:
    """Return whether a sweep's plan is a user's class, not one of the package."""
    return not type(sweep.plan).__module__.startswith("search_spaces.")


def own_plan_fields(sweep: Sweep, source: str | None) -> dict[str, Any]:
    """Return the manifest's fields for a user's plan, none for a plan of the package.

    Its code enters the definition, not the trial keys, which depend on the settings alone.
    """
    if not is_user_plan(sweep):
        return {}
    assert source is not None
    plan = sweep.plan
    decisive = {
        "kind": plan.kind,
        "code": code_in_file(source, type(plan).__name__, "").version,
        "settings": plan.model_dump(mode="json"),
        "base": trial_key(sweep.base, 0),
        "seeds": sweep.arm_seeds,
    }
    text = json.dumps(decisive, sort_keys=True)
    return {
        "plan": {
            "kind": plan.kind,
            "definition": hashlib.sha256(text.encode()).hexdigest()[:20],
            "is_over": plan.is_complete_at_start(sweep),
            "factors": {path: tuple(levels) for path, levels in plan.factor_levels().items()},
            "objectives": plan.objective_names(),
        }
    }


def looks_fields(sweep: Sweep) -> dict[str, Any]:
    """Return the manifest's fields for a plan of looks, none for a sweep without one.

    Arms may be added between looks, so that they are not part of its definition.
    """
    if not (looks := sweep.until_decided):
        return {}
    arms = {arm.name: arm for arm in sweep.initial_arms()}
    baseline = arms[sweep.plan.baseline_name(sweep)]
    decisive = ["until decided", _RULES_OF_LOOKS, looks.seeds_at_looks]
    decisive += [baseline.name, trial_key(baseline.config, 0)]
    judged = [each for each in sweep.evaluations if each.kind == looks.primary_of]
    judged_by = evaluation_key(judged[0]) if judged else ""
    decisive += [judged_by, sweep.margin]
    num_data_sets = len(sweep.part_of.data_sets) if isinstance(sweep, ColumnSweep) else 1
    decisive += [num_data_sets] * (num_data_sets > 1)
    decisive += [looks.first_seed] * (looks.first_seed > 0)
    plan = {
        "kind": sweep.plan.kind,
        "definition": hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:20],
        "num_cells": len(arms) * looks.most,
        "seeds_at_looks": looks.seeds_at_looks,
        "judged_by": judged_by,
        "num_data_sets": num_data_sets,
    }
    return {"plan": plan}


def epochs_path(sweep: Sweep, settings: Mapping[str, Any]) -> str:
    """Return the path of the setting that holds the epochs of a sweep's base.

    Args:
        sweep: The sweep as declared.
        settings: Changes of its base by the launch; they may choose another stopping.

    Raises:
        ValueError: In one sentence, if the stopping is not allowed.
    """
    return f"stopping.{_stopping(sweep, settings).length_setting}"


def stoppings_of_arms(sweep: Sweep) -> dict[str, Stopping]:
    """Return the stopping of each arm that does not use the base's.

    Raises:
        ValueError: In one sentence, if a stopping is not allowed.
    """
    return {
        name: _stopping(sweep, changes)
        for name, changes in sweep.plan.initial_arms(sweep).items()
        if _CHOICES & changes.keys()
    }


def with_epochs(sweep: Sweep, epochs: int) -> Sweep:
    """Return the sweep with these epochs for all arms that choose their own stopping.

    Raises:
        ValueError: In one sentence, if a stopping is not allowed.
    """
    stoppings = stoppings_of_arms(sweep)
    if not stoppings:
        return sweep
    settings = {
        name: {f"stopping.{stopping.length_setting}": epochs}
        for name, stopping in stoppings.items()
    }
    return sweep.model_copy(update={"plan": sweep.plan.with_arm_settings(settings)})


def _stopping(sweep: Sweep, changes: Mapping[str, Any]) -> Stopping:
    stopping = {path: value for path, value in changes.items() if path.split(".")[0] == "stopping"}
    return with_settings(sweep.base, stopping, sweep.parts).stopping


Launchable = str | Path | Sweep  # a named sweep, the path of a file that defines one, or one


@dataclass(frozen=True)
class LostDecisions:
    """Decisions of a search that its log has lost, as the folders of its trials say.

    Attributes:
        points: Proposals, by number.
        stops: Trial key -> the epoch after which the scheduler stopped it.
    """

    points: Mapping[int, Mapping[str, Plain]] = field(
        default_factory=dict[int, Mapping[str, Plain]]
    )
    stops: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class SweepDefinition:
    """A sweep as a launch declares it, and its manifest with all decisions so far.

    Attributes:
        declared: It without any decision of its plan.
        source: Text of the user's own file, None for a sweep of the package.
        path: The user's file, or the folder of the package's code.
        epochs: Arm -> epochs of a full training.
        fingerprints: Arm -> fingerprint of its data.
        decisions: Those in force of its plan, in order.
        lost: Decisions that the log has lost.
    """

    sweep: Sweep
    declared: Declared
    manifest: Manifest
    source: str | None
    path: Path
    epochs: dict[str, int]
    fingerprints: dict[str, str]
    decisions: tuple[Decided, ...] = ()
    lost: LostDecisions = field(default_factory=LostDecisions)

    @property
    def decided_by(self) -> str | None:
        """Hash of all that determines the cells that follow; None if all are declared."""
        return self.declared.manifest.decided_by

    @property
    def waiting(self) -> dict[str, int]:
        """Trial key -> the epoch at which it waits for its promotion."""
        return waiting_trials(self.decisions)

    def with_declared(self, **fields: Any) -> "SweepDefinition":
        """Return it with other fields of its manifest; it has no decisions yet."""
        manifest = self.declared.manifest.model_copy(update=fields)
        declared = self.declared.model_copy(update={"manifest": manifest})
        return replace(self, declared=declared, manifest=manifest)

    @property
    def folder(self) -> Path:
        """The folder of its code, whose revision enters the records."""
        return self.path.parent if self.source else self.path

    def spec(self, cell: ManifestCell) -> TrialSpec:
        """Return the spec of a cell's trial, without the machine that it runs on."""
        return spec_of(self, cell, self._arms[cell.arm], self.fingerprints[cell.arm])

    def data_sets(self) -> tuple[DataSet, ...]:
        """Return the data sets of all arms; of a search that of its base."""
        configs = [arm.config for arm in self.sweep.initial_arms()] or [self.sweep.base]
        return tuple(dict.fromkeys(config.data for config in configs))

    def own_data(self) -> dict[DataSet, DataFacts]:
        """Return the facts of the data sets that are a user's own, each whole."""
        full_data = (data.model_copy(update={"train_fraction": 1.0}) for data in self.data_sets())
        own = dict.fromkeys(data for data in full_data if data.is_of_user)
        return {data: self._with_batches(data, facts_of_own_data(data)) for data in own}

    def large_batches(self) -> tuple[str, ...]:
        """Return a note on each arm with data of capsmodel of which one batch is too large."""
        notes: list[str] = []
        for name, config in self.configs().items():
            number = None if config.data.is_of_user else config.data.num_training_images
            if number is not None and config.batch_size > number:
                is_whole = config.data.fraction * config.data.train_fraction == 1
                text = large_batch_text(config.batch_size, number, is_exact=is_whole)
                notes.append(f"{text} (arm '{name}').")
        return tuple(notes)

    def configs(self) -> dict[str, TrainingConfig]:
        """Return the config of each arm by its name; of a search that of its base."""
        configs = {arm.name: arm.config for arm in self.sweep.initial_arms()}
        return configs or {"base": self.sweep.base}

    def _with_batches(self, data: DataSet, facts: DataFacts) -> DataFacts:
        """Return facts of whole data with a note on arms of too few images for one batch."""
        notes: list[str] = []
        for name, config in self.configs().items():
            share = config.data.train_fraction
            number = round(share * facts.num_images["training"])
            is_its = config.data.model_copy(update={"train_fraction": 1.0}) == data
            if is_its and config.batch_size > number:
                notes.append(f"{large_batch_text(config.batch_size, number)} (arm '{name}').")
        return replace(facts, notes=(*facts.notes, *notes))

    @cached_property
    def _arms(self) -> dict[str, ManifestArm]:
        return {arm.name: arm for arm in self.manifest.arms}


class Specs(Protocol):
    """Anything that knows the spec of a cell's trial."""

    def spec(self, cell: ManifestCell) -> TrialSpec:
        """Return the spec."""
        ...


def spec_of(
    definition: SweepDefinition, cell: ManifestCell, arm: ManifestArm, fingerprint: str
) -> TrialSpec:
    """Return the spec of a cell's trial, without the machine that it runs on."""
    return TrialSpec(
        trial_key=cell.trial_key,
        sweep=definition.manifest.sweep,
        arm=cell.arm,
        seed=cell.seed,
        config=definition.manifest.config_of(arm, cell.seed),
        source=definition.source,
        source_name=definition.path.name if definition.source else "",
        data_fingerprint=fingerprint,
        num_parameters=arm.num_parameters,
        plan=definition.decided_by or "",
        code=code_outside(definition.source).by_name,
    )


class DeclaredSweep(NamedTuple):
    """A sweep as it is declared, its file read and run once.

    Attributes:
        source: Text of the user's own file, None for a sweep of the package.
        path: The user's file, or the folder of the package's code.
    """

    sweep: Sweep
    source: str | None
    path: Path


def declared_sweep(launchable: Launchable | DeclaredSweep) -> DeclaredSweep:
    """Return a sweep with its code; the same if it is declared already.

    Raises:
        BadInput: If there is no such sweep, or its file cannot be run.
    """
    package = Path(__file__).parent
    if isinstance(launchable, DeclaredSweep):
        return launchable
    if isinstance(launchable, str | Path) and str(launchable).lower().endswith(_OF_YAML):
        raise BadInput(
            f"A sweep is a Python file, and '{one_line(str(launchable))}' is none: "
            f"{SuggestedCommand('new', 'NAME')} writes one to begin with."
        )
    try:
        if isinstance(launchable, Sweep):
            source = _source_of_parts(launchable)
            return DeclaredSweep(launchable, source, Path.cwd() / FILE if source else package)
        if isinstance(launchable, Path) or is_file_name(launchable) or "/" in launchable:
            path = _existing_file(Path(launchable))
            sweep, source = sweep_from_file(path)
            return DeclaredSweep(_with_question(sweep, source, path), source, path.absolute())
        return DeclaredSweep(named_sweep(launchable), None, package)
    except ValueError as error:
        raise BadInput(str(error)) from error


def _with_question(sweep: Sweep, source: str, path: Path) -> Sweep:
    """Return a sweep that says what it asks: where it does not, its file's docstring does.

    Only the first paragraph of the docstring counts. Like any description it is in no key.
    """
    if sweep.description:
        return sweep
    docstring = ast.get_docstring(syntax_tree(source, path)) or ""
    question = shortened(_BLANK_LINES.split(docstring, maxsplit=1)[0], LONGEST_DESCRIPTION)
    return sweep.model_copy(update={"description": question})


def _existing_file(path: Path) -> Path:
    """Return the path of a sweep file, which may be wanting only where no named sweep is meant."""
    named = [entry.name for entry in named_sweeps()] if not path.exists() else []
    if path.stem in named:
        raise ValueError(f"There is no sweep file '{path}'. Did you mean '{path.stem}'?")
    return path


def define(
    launchable: Launchable | DeclaredSweep,
    changes: Changes,
    current_seeds: Sequence[int],
    recorded: ManifestSearch | None = None,
    *,
    counts: MultiplyAdds = _NOT_COUNTED,
    checks_together: bool = True,
) -> SweepDefinition:
    """Return the definition of a sweep with the changes of a launch.

    A search whose settings or choices are declared in another order than before stays the same: it
    goes on in the order with which it has begun, and without balance if it began without.

    Args:
        launchable: A named sweep, a file that defines one, or a sweep.
        changes: The changes of the launch.
        current_seeds: The seeds of the current manifest, empty if there is none.
        recorded: The search as it was launched before; None if it was not.
        counts: The multiply-adds that are known already.
        checks_together: As of `changed_sweep`.

    Raises:
        BadInput: In one sentence, if a change or an arm is not valid.
    """
    declared = declared_sweep(launchable)
    changed = changed_sweep(declared, changes, current_seeds, checks_together=checks_together)
    with _bad_input():
        settings = _settings(declared.sweep, changes)
        departures = _departures(declared.sweep, changed.sweep, settings)
        sweep = _as_begun(changed.sweep, recorded)
        return _definition(changed._replace(sweep=sweep), departures, counts)


def changed_sweep(
    launchable: Launchable | DeclaredSweep,
    changes: Changes,
    current_seeds: Sequence[int],
    *,
    checks_together: bool = True,
) -> DeclaredSweep:
    """Return a sweep with the changes of a launch; its arms are not made yet.

    Args:
        launchable: A named sweep, a file that defines one, or a sweep.
        changes: The changes of the launch.
        current_seeds: The seeds of the current manifest, empty if there is none.
        checks_together: Whether options of a search must go together: not where only some of the
            changes are known.

    Raises:
        BadInput: In one sentence, if a change is not valid.
    """
    declared, source, path = declared_sweep(launchable)
    with _bad_input():
        settings = _settings(declared, changes)
        longer = declared if changes.epochs is None else with_epochs(declared, changes.epochs)
        sweep = longer.changed(
            settings,
            name=changes.name,
            seeds=_seeds(declared, changes, current_seeds),
            trials=changes.trials,
            sampler=changes.sampler,
            scheduler=changes.scheduler,
            cost=changes.cost,
        )
        if checks_together:
            sweep.plan.check_together(sweep.tables)
        return DeclaredSweep(sweep, source, path)


@contextmanager
def _bad_input() -> Generator[None]:
    try:
        with chdir("."):  # a user's code may change to another
            yield
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except Exception as error:
        line = line_in_sweep_file(error)
        if isinstance(error, ValueError) and (not line or str(error).endswith(".")):
            raise BadInput(str(error)) from error
        if not line:
            raise
        raise BadInput(f"{error_text(error)} ({line}).") from error  # a bug in the user's plan


def _settings(declared: Sweep, changes: Changes) -> dict[str, Any]:
    """Return the launch's changes of the base."""
    settings = dict(changes.settings or {})
    if changes.epochs is None:
        return settings
    path = epochs_path(declared, settings)
    if path in settings:
        raise ValueError(f"The epochs are given twice: --epochs is short for {path}.")
    arms = declared.plan.initial_arms(declared)
    is_seen = not arms or len(stoppings_of_arms(declared)) < len(arms)
    return settings | {path: changes.epochs} if is_seen else settings


def _seeds(sweep: Sweep, changes: Changes, current: Sequence[int]) -> tuple[int, ...] | None:
    """Return the seeds of a launch, None for those that a plan of looks decides."""
    if changes.seeds is not None and not changes.seeds:
        raise ValueError("No seed is given: give a list or ranges, such as 0,1,2 or 0-4.")
    if changes.seeds is not None and changes.add_seeds is not None:
        raise ValueError("--seeds replaces the list of seeds and --add-seeds extends it: give one.")
    if changes.add_seeds is not None:
        sweep.plan.check_more_seeds()
        _check_no_looks(sweep)
    if sweep.until_decided and changes.seeds is None:
        return None
    seeds = tuple(changes.seeds or sweep.arm_seeds)
    if changes.add_seeds is None:
        return seeds
    if not changes.add_seeds:
        raise ValueError("No seed to add is given: give a list or ranges, such as 3,4 or 3-9.")
    base = tuple(current) or seeds
    return base + tuple(seed for seed in changes.add_seeds if seed not in base)


def _check_no_looks(sweep: Sweep) -> None:
    if looks := sweep.until_decided:
        raise ValueError(
            f"The sweep '{sweep.name}' gets seeds until its verdicts are decided, {looks.most} at "
            f"most, and none beside them: leave --add-seeds out, or launch fixed seeds under "
            f"another name (--seeds 0-{looks.most - 1} --name NEW)."
        )


def _departures(
    declared: Sweep, sweep: Sweep, settings: Mapping[str, Any]
) -> dict[str, tuple[Any, Any]]:
    """Return the differences from the declared sweep: path -> (declared, launched)."""
    pairs = {path: (_at(declared.base, path), _at(sweep.base, path)) for path in settings}
    launched = stoppings_of_arms(sweep)
    for name, stopping in stoppings_of_arms(declared).items():
        pairs[f"of {name} stopping.{stopping.length_setting}"] = (
            stopping.num_epochs,
            launched[name].num_epochs,
        )
    pairs["seeds"] = (list(declared.arm_seeds), list(sweep.arm_seeds))
    first, second = declared.plan.model_dump(), sweep.plan.model_dump()
    pairs |= {name: (first.get(name), second.get(name)) for name in declared.plan.options}
    return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}


def _at(config: TrainingConfig, path: str) -> Any:
    """Return the value at a path as JSON, None if the config has no such path.

    The settings themselves are asked, as their JSON leaves out some that have their defaults.
    """
    value: Any = config
    for name in path.split("."):
        value = getattr(value, name, None)
    return to_jsonable_python(value)


def _definition(
    changed: DeclaredSweep, departures: Mapping[str, tuple[Any, Any]], counts: MultiplyAdds
) -> SweepDefinition:
    sweep, source, path = changed
    arms = sweep.initial_arms()
    check_networks(sweep.plan, arms)
    sweep.plan.check_all(sweep)
    places = [(cell.arm, cell.seed) for cell in sweep.plan.initial_cells(sweep)]
    cells = manifest_cells({arm.name: arm for arm in arms}, places, sweep.splits)
    fields = {
        "sweep": sweep.name,
        "description": sweep.description,
        "baseline": sweep.plan.baseline_name(sweep),
        "arms": _manifest_arms(sweep, arms, cells, counts),
        "seeds": sweep.arm_seeds,
        "cells": cells,
        "tables": manifest_tables(sweep),
        "departures": departures,
        **sweep.plan.manifest_fields(sweep),
        "metrics": sweep.metrics,
        "evaluations": manifest_evaluations(sweep),
        "margin_points": sweep.margin,
        "splits": sweep.splits,
        "verdict_rule": VERDICT_RULE,
        "not_covered": tuple(code_outside(source).not_covered),
        **own_plan_fields(sweep, source),
        **looks_fields(sweep),
        "part_of": sweep.part_of if isinstance(sweep, ColumnSweep) else None,
    }
    manifest = Manifest.model_validate(fields)
    return SweepDefinition(
        sweep=sweep,
        declared=Declared(manifest=manifest, question=sweep.plan.question()),
        manifest=manifest,
        source=source,
        path=path,
        epochs={arm.name: arm.config.stopping.num_epochs for arm in arms},
        fingerprints={arm.name: data_fingerprint(arm.config.data) for arm in arms},
    )


def _as_begun(sweep: Sweep, recorded: ManifestSearch | None) -> Sweep:
    """Return a search in the writing in which it was launched before, if there is such a one."""
    plan = sweep.plan
    if recorded is None or not isinstance(plan, Search):
        return sweep
    dimensions = [(dimension.name, dimension.choices) for dimension in recorded.dimensions]
    begun = plan.as_begun(sweep, recorded.definition, dimensions)
    return sweep if begun is plan else sweep.model_copy(update={"plan": begun})


def _source_of_parts(sweep: Sweep) -> str | None:
    """Return the code of a sweep's own parts that cells of a notebook define; None without any.

    Raises:
        ValueError: If it is not known, or does not belong to the parts alone.
    """
    if is_user_plan(sweep):
        raise ValueError(
            f"The sweep '{sweep.name}' has a plan of its own ({type(sweep.plan).__name__}), whose "
            f"code belongs to its definition: put both into one file and give the file's path."
        )
    source = text_of_cells(sweep.parts) if sweep.parts else None
    if sweep.parts and source is None:
        names = ", ".join(part.__name__ for part in sweep.parts)
        raise ValueError(
            f"The sweep '{sweep.name}' has parts of its own ({names}), whose code must travel to "
            f"the workers: put the sweep and its parts into one file and give the file's path."
        )
    return source
