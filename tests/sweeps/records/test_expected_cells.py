"""The cells of a sweep are told by what they are for, and none is left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces.catalogue import named_sweep, named_sweeps
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.expected_cells import expected_cells, expected_cells_text
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Declared, ManifestFold, decisions_under, entries_of
from tests.golden.stores.archive import files_of

STORES = Path(__file__).parents[2] / "golden" / "stores"


def manifests_of(log: bytes) -> Iterator[Manifest]:
    """Yield the manifest that a log comes to after each of its decisions."""
    entries = entries_of(log)
    (declared,) = (entry for entry in entries if isinstance(entry, Declared))
    fold = ManifestFold(declared.manifest, declared.question)
    yield fold.manifest()
    for entry in decisions_under(declared.manifest.decided_by, entries):
        fold.take(entry)
        yield fold.manifest(is_checked=True)


def kept_manifests() -> list[Manifest]:
    """Return the manifests of the golden stores: of begun and of finished sweeps."""
    return [
        manifest
        for archive in sorted(STORES.glob("*[a-z].tar.xz"))
        if not archive.name.endswith(".report.tar.xz")
        for path, content in files_of(archive).items()
        if path.endswith(".jsonl") and not path.endswith("outbox.jsonl")
        for manifest in manifests_of(content)
    ]


@pytest.mark.parametrize("name", [entry.name for entry in named_sweeps()])
def test_the_kinds_of_a_sweep_that_begins_are_all_of_its_cells(name: str) -> None:
    manifest = define(name, Changes(), ()).manifest
    assert sum(kind.number for kind in expected_cells(manifest)) == manifest.num_expected


def test_the_kinds_of_sweeps_that_were_run_are_all_of_their_cells() -> None:
    manifests = kept_manifests()
    assert len(manifests) > 2
    assert any(manifest.search and not manifest.is_growing for manifest in manifests)
    for manifest in manifests:
        assert sum(kind.number for kind in expected_cells(manifest)) == manifest.num_expected


def test_confirmation_is_told_apart_from_proposals() -> None:
    manifest = define("capsule_search", Changes(trials=8), ()).manifest
    search = manifest.search
    assert search is not None
    assert search.confirmation is not None
    confirmed = (search.confirmation.best + 1) * len(search.confirmation.seeds)
    assert expected_cells_text(manifest) == (
        f"8 proposals + 1 base training + {confirmed} confirmation trainings = "
        f"{8 + 1 + confirmed} cells"
    )


def test_a_design_has_cells_alone() -> None:
    manifest = define("quickstart", Changes(), ()).manifest
    num_cells = len(named_sweep("quickstart").arms()) * len(manifest.seeds)
    assert expected_cells_text(manifest) == f"{num_cells} cells"
