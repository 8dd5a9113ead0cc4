"""What a configuration comes to before it is trained: what limits and costs of a search are of."""

from typing import Literal

from capsmodel.config import TrainingConfig, num_parameters

Measure = Literal["num_parameters"]


def measured(measure: Measure, config: TrainingConfig) -> int:
    """Return what a config comes to, 0 where its model cannot be built.

    Such a trial fails and says why, which a limit would hide.

    Args:
        measure: The number of trained values is counted without allocating them.
        config: Of a trial.
    """
    assert measure == "num_parameters"
    try:
        return num_parameters(config)
    except ValueError:
        return 0
