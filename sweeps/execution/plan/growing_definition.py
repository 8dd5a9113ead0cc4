"""A definition that grows while its sweep runs: decisions of its plan become arms and cells."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from search_spaces.data_fingerprint import data_fingerprint
from search_spaces.plans.base import Arm
from search_spaces.plans.decisions import Decision, Propose, Select
from sweeps.execution.plan.definition import SweepDefinition, manifest_arm, manifest_cells, spec_of
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.manifest import ManifestArm, ManifestCell
from sweeps.records.sweep_log import Decided, ManifestFold, decided


class GrowthListener(Protocol):
    """Who hears how a sweep grows: the live view and the recorder."""

    def grown(self, entry: Decided) -> None:
        """A decision was written to the log, and the definition has taken it."""
        ...


class GrowingDefinition:
    """A sweep's definition with the decisions of its plan so far.

    Attributes:
        declared: What it grew from.
        manifest: The manifest as it grows.
        epochs: Epochs of a full training, arm -> number.
    """

    def __init__(self, definition: SweepDefinition) -> None:
        self.declared = definition
        self.manifest = ManifestFold(definition.manifest, definition.declared.question)
        self.epochs = dict(definition.epochs)
        self._fingerprints = dict(definition.fingerprints)
        self._decisions = list(definition.decisions)
        search, sweep = definition.manifest.search, definition.sweep
        self._settings: dict[str, Mapping[str, Any]] = {
            cell.arm: cell.settings for cell in sweep.plan.initial_cells(sweep)
        }
        if search:
            points = (*search.proposals, *definition.manifest.drawn)
            self._settings |= {proposal.arm: proposal.params for proposal in points}

    def snapshot(self) -> SweepDefinition:
        """Return the definition as it is now."""
        return replace(
            self.declared,
            manifest=self.manifest.manifest(),
            epochs=dict(self.epochs),
            fingerprints=dict(self._fingerprints),
            decisions=tuple(self._decisions),
        )

    def spec(self, cell: ManifestCell) -> TrialSpec:
        """Return the spec of a cell's trial, without the machine that it runs on."""
        arm = self.manifest.arms[cell.arm]
        return spec_of(self.declared, cell, arm, self._fingerprints[cell.arm])

    def resolved(self, decision: Decision) -> Decided:
        """Return the entry of a decision, with the arms and cells that it adds.

        Raises:
            BadInput: If the plan proposes what the settings refuse.
        """
        if isinstance(decision, Propose):
            settings = {cell.arm: cell.settings for cell in decision.cells}
            arms = {name: self._arm(name, settings[name]) for name in settings}
            new = [
                _manifest_arm(arm) for arm in arms.values() if arm.name not in self.manifest.arms
            ]
            cells = manifest_cells(arms, [cell.place for cell in decision.cells])
            for arm in arms.values():
                self._note(arm)
            return decided(decision, new, cells)
        search = self.declared.manifest.search
        confirmation = search.confirmation if search else None
        if isinstance(decision, Select) and confirmation:
            names = filter(None, (*decision.arms, decision.reference, decision.random))
            arms = {name: self._arm(name, self._settings[name]) for name in dict.fromkeys(names)}
            places = [(name, seed) for name in arms for seed in confirmation.seeds]
            return decided(decision, cells=manifest_cells(arms, places))
        return decided(decision)

    def take(self, entry: Decided) -> bool:
        """Apply a decision; return whether it is in force for the sweep as declared."""
        if not self.manifest.take(entry):
            return False
        self._decisions.append(entry)
        if isinstance(entry.decision, Propose):
            for cell in entry.decision.cells:
                self._settings[cell.arm] = cell.settings
                if cell.arm not in self.epochs:
                    self._note(self._arm(cell.arm, cell.settings))
        return True

    def _note(self, arm: Arm) -> None:
        self.epochs[arm.name] = arm.config.stopping.num_epochs
        self._fingerprints[arm.name] = data_fingerprint(arm.config.data)

    def _arm(self, name: str, settings: Mapping[str, Any]) -> Arm:
        sweep = self.declared.sweep
        if sweep.until_decided:
            return next(arm for arm in sweep.initial_arms() if arm.name == name)
        try:
            return sweep.plan.arm(sweep, name, settings)
        except ValueError as error:
            if not sweep.plan.is_search:
                raise BadInput(
                    f"The plan proposes something that is not a setting: {error}"
                ) from error
            raise BadInput(f"The space holds points that are no settings: {error}") from error


def resumed(definition: SweepDefinition, decisions: Iterable[Decided]) -> SweepDefinition:
    """Return a definition with those decisions of earlier launches that are in force.

    Args:
        definition: The definition as declared.
        decisions: The decisions of its plan by the log. Those that do not fit what is declared now,
            such as proposals beyond their number, are left out.

    Raises:
        BadInput: If the settings refuse what was decided, or the result is not valid.
    """
    growing = GrowingDefinition(definition)
    for entry in decisions:
        growing.take(entry)
    try:
        growing.manifest.manifest(is_checked=True)
    except ValueError as error:
        raise BadInput(
            f"The decisions in the log of '{definition.manifest.sweep}' do not fit its definition: "
            f"repeat what it was launched with, or give it another name (--name NEW)."
        ) from error
    return growing.snapshot()


def _manifest_arm(arm: Arm) -> ManifestArm:
    """Return a proposed arm; a model that cannot be built fails as a trial, with the reason."""
    try:
        return manifest_arm(arm)
    except ValueError:
        config = arm.config.model_dump(mode="json")
        return ManifestArm(
            name=arm.name,
            config=config,
            changes=arm.changes,
            num_parameters=0,
            shifted_test=arm.config.data.has_shifted_test,
        )
