"""The data of a sweep, fetched before its first trial starts."""

import os
from pathlib import Path

from capsmodel.data.archive import ROOT_VARIABLE
from sweeps.execution.plan.definition import Definition
from sweeps.records.errors import BadInput


def prepare_data(definition: Definition) -> None:
    """Make sure that the data of every arm are on this machine, downloading them if need be.

    Trials would do it too, each with a failure of its own where it cannot be done. What a search
    proposes is not known yet; its base's data are prepared. A data root that is given as a relative
    path is made absolute for the workers, as it counts from the folder of this process.

    Raises:
        BadInput: If some are neither there nor to be had.
    """
    if given := os.environ.get(ROOT_VARIABLE):
        os.environ[ROOT_VARIABLE] = str(Path(given).absolute())
    sweep = definition.sweep
    configs = [arm.config for arm in sweep.arms_at_start()] or [sweep.base]
    try:
        for data in dict.fromkeys(config.data for config in configs):
            data.prepare()
    except ValueError as error:
        raise BadInput(str(error)) from error
