"""What trials tell, and manifests, made up for tests."""

import hashlib
from typing import Any

from capsmodel.metrics import EpochMetrics
from sweeps.records.cell_contents import FinalRecord, OutboxLine, TrialSpec
from sweeps.records.manifest import Manifest, ManifestArm, ManifestCell
from sweeps.records.trial_record import Outcome

KEY = "0123456789abcdef0123"


def spec(key: str = KEY, **changes: Any) -> TrialSpec:
    known = {"trial_key": key, "sweep": "example", "arm": "base", "seed": 0, "config": {}}
    return TrialSpec.model_validate(known | changes)


def epoch(number: int, loss: float = 0.5, error: float = 0.25) -> EpochMetrics:
    return EpochMetrics(
        epoch=number,
        train_loss=loss,
        validation_loss=loss,
        validation_error=error,
        duration_seconds=1.0,
    )


def start(**changes: Any) -> OutboxLine:
    return OutboxLine(type="start", time=1, fence=1, head=spec(**changes))


def reported(number: int, loss: float = 0.5) -> OutboxLine:
    return OutboxLine(type="epoch", time=1000 + number, fence=1, epoch=epoch(number, loss))


def failed(reason: str = "ValueError: no") -> OutboxLine:
    return OutboxLine(type="failed", time=2000, fence=1, reason=reason)


def final(num_epochs: int = 2, key: str = KEY, **changes: Any) -> FinalRecord:
    known: dict[str, Any] = {
        "head": spec(key),
        "outcome": Outcome.FINISHED,
        "curve": tuple(epoch(number) for number in range(1, num_epochs + 1)),
        "test_error": 0.125,
        "duration_seconds": 2.0,
        "time": 3000,
        "fence": 1,
    }
    return FinalRecord(**(known | changes))


def manifest(
    arms: tuple[str, ...] = ("base", "other"), seeds: tuple[int, ...] = (0, 1), **configs: Any
) -> Manifest:
    return Manifest(
        sweep="example",
        baseline=arms[0],
        arms=tuple(
            ManifestArm(name=arm, config=configs.get(arm, {}), num_parameters=1) for arm in arms
        ),
        seeds=seeds,
        cells=tuple(
            ManifestCell(arm=arm, seed=seed, trial_key=key_of(arm, seed, configs.get(arm)))
            for seed in seeds
            for arm in arms
        ),
    )


def key_of(arm: str, seed: int, config: Any = None) -> str:
    return hashlib.sha256(repr((arm, seed, config)).encode()).hexdigest()[:20]
