"""How a definition grows while its sweep runs: by cells, by verdicts, by what is chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from search_spaces.data_fingerprint import data_fingerprint
from search_spaces.plans.base import Arm
from search_spaces.plans.decisions import Cell, EndSearch, Select, Stop
from sweeps.execution.plan.definition import Definition, manifest_arm, manifest_cells, spec_of
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.manifest import ManifestArm, ManifestCell, Stopped
from sweeps.records.manifest_growth import Choice, GrowingManifest, ManifestLine
from sweeps.records.manifest_plan import Ended, Proposal


class GrowthListener(Protocol):
    """Who wants to know how a sweep grows: the live view, the recorder, the manifest."""

    def grown(self, line: ManifestLine) -> None:
        """The manifest has grown by a line."""
        ...


class GrowingDefinition:
    """A sweep's definition with what its plan has said so far.

    Attributes:
        declared: What it grew from.
        manifest: The manifest as it grows.
        epochs: Epochs of a full training, arm -> number.
    """

    def __init__(self, definition: Definition) -> None:
        self.declared = definition
        self.manifest = GrowingManifest(definition.manifest)
        self.epochs = dict(definition.epochs)
        self._fingerprints = dict(definition.fingerprints)
        search, sweep = definition.manifest.search, definition.sweep
        self._settings: dict[str, Mapping[str, Any]] = {
            cell.arm: cell.settings for cell in sweep.plan.initial_cells(sweep)
        }
        if search:
            told = (*search.proposals, *definition.manifest.drawn)
            self._settings |= {proposal.arm: proposal.params for proposal in told}

    def snapshot(self) -> Definition:
        """Return the definition as it is now."""
        return replace(
            self.declared,
            manifest=self.manifest.manifest(),
            epochs=dict(self.epochs),
            fingerprints=dict(self._fingerprints),
        )

    def spec(self, cell: ManifestCell) -> TrialSpec:
        """Return what a trial of a cell is told, but for the machine it runs on."""
        arm = self.manifest.arms[cell.arm]
        return spec_of(self.declared, cell, arm, self._fingerprints[cell.arm])

    def propose(
        self,
        cells: Sequence[Cell],
        stopped: Mapping[str, Stop] | None = None,
        *,
        is_drawn: bool = False,
    ) -> ManifestLine:
        """Add cells, and arms where they are new; return how the manifest has grown.

        Args:
            cells: In places that are empty so far.
            stopped: Where trials were stopped, by trial key.
            is_drawn: Whether they are a random point that a search is held against, which is
                trained in full whatever was stopped there.

        Raises:
            BadInput: If the plan proposes what the settings refuse.
        """
        line = self._line(cells, {} if is_drawn else stopped or {})
        numbered: dict[str, Proposal] = {}
        if is_drawn:
            numbered["drawn"] = _numbered(self.manifest.num_drawn, cells[0])
        elif self.declared.manifest.search:
            numbered["proposal"] = _numbered(self.manifest.num_proposals, cells[0])
        return self._taken(line.model_copy(update=numbered))

    def stop(self, stop: Stop) -> ManifestLine:
        """Note that a trial was stopped."""
        return self._taken(ManifestLine(trial_key=stop.trial_key, stopped=_stopped(stop)))

    def choose(self, choose: Select) -> ManifestLine:
        """Note what was chosen; a search gets the cells in which that is confirmed."""
        choice = Choice(arms=choose.arms, reference=choose.reference, random=choose.random)
        search = self.declared.manifest.search
        again = search.confirmation if search else None
        against = (choose.reference, choose.random)
        names = dict.fromkeys([*choose.arms, *filter(None, against)])
        arms = {name: self._arm(name, self._settings[name]) for name in names if again}
        places = [(name, seed) for name in arms for seed in (again.seeds if again else ())]
        return self._taken(ManifestLine(choice=choice, cells=tuple(manifest_cells(arms, places))))

    def enough(self, enough: EndSearch) -> ManifestLine:
        """Note that a search proposes no more, and why."""
        return self._taken(ManifestLine(ended=Ended(reason=enough.reason, until=enough.until)))

    def unchoose(self) -> ManifestLine:
        """Take back what a search has chosen to confirm: it may turn out another."""
        return self._taken(ManifestLine(is_unchosen=True))

    def end(self) -> ManifestLine:
        """Note that no more cells follow."""
        return self._taken(ManifestLine(is_over=True))

    def _taken(self, line: ManifestLine) -> ManifestLine:
        self.manifest.take(line)
        return line

    def _line(self, cells: Sequence[Cell], stopped: Mapping[str, Stop]) -> ManifestLine:
        """Return a line with cells, and with arms where they are new."""
        arms = {cell.arm: self._arm(cell.arm, cell.settings) for cell in cells}
        new_cells = manifest_cells(arms, [cell.place for cell in cells])
        new = [arm for name, arm in arms.items() if name not in self.manifest.arms]
        for arm in new:
            self.epochs[arm.name] = arm.config.stopping.num_epochs
            self._fingerprints[arm.name] = data_fingerprint(arm.config.data)
        self._settings |= {cell.arm: cell.settings for cell in cells}
        return ManifestLine(
            arms=tuple(map(_manifest_arm, new)),
            cells=tuple(_with_stop(cell, stopped.get(cell.trial_key)) for cell in new_cells),
        )

    def _arm(self, name: str, settings: Mapping[str, Any]) -> Arm:
        sweep = self.declared.sweep
        try:
            return sweep.plan.arm(sweep, name, settings)
        except ValueError as error:
            if not sweep.plan.is_search:
                raise BadInput(
                    f"The plan proposes something that is not a setting: {error}"
                ) from error
            raise BadInput(f"The space holds points that are no settings: {error}") from error


def _numbered(number: int, cell: Cell) -> Proposal:
    return Proposal(number=number, arm=cell.arm, params=dict(cell.settings))


def _stopped(stop: Stop) -> Stopped:
    return Stopped(epoch=stop.epoch, value=stop.value)


def _with_stop(cell: ManifestCell, stop: Stop | None) -> ManifestCell:
    return cell.model_copy(update={"stopped": _stopped(stop)}) if stop else cell


def _manifest_arm(arm: Arm) -> ManifestArm:
    """Return a proposed arm; a model that cannot be built fails as a trial, with the reason."""
    try:
        return manifest_arm(arm)
    except ValueError:
        config = arm.config.model_dump(mode="json")
        return ManifestArm(name=arm.name, config=config, changes=arm.changes, num_parameters=0)
