"""What is launched: a sweep by name, by file or as an object, turned into its manifest."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from capsmodel.config import num_parameters
from capsmodel.messages import explain
from search_spaces.catalogue import named_sweep
from search_spaces.sweep import Sweep
from search_spaces.sweep_file import sweep_from_file
from search_spaces.trial_key import trial_key
from sweeps.errors import BadInput
from sweeps.execution.cells import TrialHead
from sweeps.manifest import Manifest, ManifestArm, ManifestCell


@dataclass(frozen=True)
class Definition:
    """A sweep ready to be planned.

    Attributes:
        source: Text of the user's own file, None for a sweep of the package.
        folder: Where its code lies, for the revision in its records.
        epochs: Of a full training, arm -> number.
        fingerprints: Of the data, arm -> fingerprint.
    """

    manifest: Manifest
    source: str | None
    folder: Path
    epochs: dict[str, int]
    fingerprints: dict[str, str]

    def head(self, cell: ManifestCell) -> TrialHead:
        """Return what a trial of a cell is told, but for the machine it runs on."""
        arm = next(arm for arm in self.manifest.arms if arm.name == cell.arm)
        return TrialHead(
            trial_key=cell.trial_key,
            sweep=self.manifest.sweep,
            arm=cell.arm,
            seed=cell.seed,
            config=arm.config,
            source=self.source,
            data_fingerprint=self.fingerprints[cell.arm],
            num_parameters=arm.num_parameters,
        )


@dataclass(frozen=True)
class Changes:
    """What a launch changes of a sweep.

    Attributes:
        seeds: Instead of the sweep's list.
        add_seeds: Besides those of the current manifest, or of the sweep where there is none.
        settings: Path -> value, applied to the base.
        epochs: Short for the stopping part's epochs.
    """

    name: str | None = None
    seeds: Sequence[int] | None = None
    add_seeds: Sequence[int] | None = None
    settings: dict[str, Any] | None = None
    epochs: int | None = None


def sweep_of(which: str | Path | Sweep) -> tuple[Sweep, str | None, Path]:
    """Return a sweep, the text of the user's file it is from, and the folder of its code.

    Raises:
        BadInput: If there is no such sweep, or its file cannot be run.
    """
    package = Path(__file__).parent
    try:
        if isinstance(which, Sweep):
            _refuse_loose_parts(which)
            return which, None, package
        if isinstance(which, Path) or which.endswith(".py") or "/" in which:
            path = Path(which)
            sweep, text = sweep_from_file(path)
            return sweep, text, path.absolute().parent
        return named_sweep(which), None, package
    except ValueError as error:
        raise BadInput(str(error)) from error


def define(which: str | Path | Sweep, changes: Changes, current_seeds: Sequence[int]) -> Definition:
    """Return the definition of a sweep with a launch's changes.

    Args:
        which: A named sweep, a file that defines one, or a sweep.
        changes: What the launch changes.
        current_seeds: Of the current manifest, empty where there is none.

    Raises:
        BadInput: In one sentence, if a change or an arm cannot be.
    """
    sweep, source, folder = sweep_of(which)
    try:
        sweep = sweep.changed(
            _settings(changes), name=changes.name, seeds=_seeds(sweep, changes, current_seeds)
        )
        return _definition(sweep, source, folder)
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise BadInput(str(error)) from error


def _settings(changes: Changes) -> dict[str, Any]:
    settings = dict(changes.settings or {})
    if changes.epochs is not None:
        if "stopping.epochs" in settings:
            raise ValueError("The epochs are given twice: --epochs is short for stopping.epochs.")
        settings["stopping.epochs"] = changes.epochs
    return settings


def _seeds(sweep: Sweep, changes: Changes, current: Sequence[int]) -> tuple[int, ...]:
    if changes.seeds is not None and not changes.seeds:
        raise ValueError("No seed is given: give a list or ranges, such as 0,1,2 or 0-4.")
    if changes.seeds is not None and changes.add_seeds is not None:
        raise ValueError("--seeds replaces the list of seeds and --add-seeds extends it: give one.")
    seeds = tuple(changes.seeds or sweep.seeds)
    if changes.add_seeds is None:
        return seeds
    if not changes.add_seeds:
        raise ValueError("No seed to add is given: give a list or ranges, such as 3,4 or 3-9.")
    base = tuple(current) or seeds
    return base + tuple(seed for seed in changes.add_seeds if seed not in base)


def _definition(sweep: Sweep, source: str | None, folder: Path) -> Definition:
    arms = sweep.arms()
    manifest = Manifest(
        sweep=sweep.name,
        description=sweep.description,
        baseline=sweep.plan.baseline,
        arms=tuple(
            ManifestArm(
                name=arm.name,
                config=arm.config.model_dump(mode="json"),
                changes=arm.changes,
                num_parameters=_num_parameters(arm.name, arm.config),
            )
            for arm in arms
        ),
        seeds=sweep.seeds,
        cells=tuple(
            ManifestCell(arm=arm.name, seed=seed, trial_key=trial_key(arm.config, seed))
            for seed in sweep.seeds
            for arm in arms
        ),
    )
    return Definition(
        manifest=manifest,
        source=source,
        folder=folder,
        epochs={arm.name: arm.config.stopping.num_epochs for arm in arms},
        fingerprints={arm.name: arm.config.data.fingerprint for arm in arms},
    )


def _num_parameters(arm: str, config: Any) -> int:
    try:
        return num_parameters(config)
    except ValueError as error:
        raise ValueError(f"Arm '{arm}': {error}") from error


def _refuse_loose_parts(sweep: Sweep) -> None:
    if sweep.parts:
        names = ", ".join(part.__name__ for part in sweep.parts)
        raise ValueError(
            f"The sweep '{sweep.name}' has parts of its own ({names}), whose code must travel to "
            f"the workers: put the sweep and its parts into one file and give the file's path."
        )
