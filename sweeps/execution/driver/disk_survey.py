"""A look at the disk before a launch: what it will take, and what is free."""

from collections.abc import Mapping
from dataclasses import replace

from sweeps.execution.driver.survey import Survey
from sweeps.execution.plan.disk_estimate import DiskDemand, estimate_disk
from sweeps.execution.plan.planner import FolderState
from sweeps.storage.disk_room import free_bytes
from sweeps.tracking.addresses import sqlite_path


def with_disk(survey: Survey, folders: Mapping[str, FolderState]) -> Survey:
    """Return a survey with what its launch takes on the disk of the storage folder.

    Args:
        survey: Of the sweep.
        folders: What its cells' folders say, by trial key.
    """
    seen: dict[str, list[int]] = {}
    for surveyed in survey.cells:
        folder = folders.get(surveyed.cell.trial_key)
        if folder and folder.num_bytes:
            seen.setdefault(surveyed.cell.arm, []).append(folder.num_bytes)
    manifest = survey.definition.manifest
    demand = DiskDemand(
        empty=[
            *(one.cell.arm for one in survey.cells if not one.is_filled),
            *[None] * (manifest.num_expected - len(survey.cells)),
        ],
        seen=seen,
        num_copies=2 if sqlite_path(survey.tracking_uri) else 1,  # a server has its own disk
        num_concurrent=survey.capacity.num_concurrent,
    )
    free = free_bytes(survey.storage.root)
    return replace(survey, disk=estimate_disk(manifest, demand, free))
