"""The cells of a sweep are told by what they are for, and none is left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces.catalogue import named_sweep, named_sweeps
from search_spaces.plans.decisions import EndSearch
from search_spaces.plans.search import BASE
from sweeps.execution.plan.definition import Changes, define
from sweeps.records.expected_cells import expected_cells, expected_cells_text, fewer_cells_text
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Declared, ManifestFold, decisions_under, entries_of
from tests.golden.stores.archive import files_of
from tests.sweeps.execution.search.examples import confirm, proposed, searched
from tests.sweeps.execution.search.grown import with_confirmation, with_decisions

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


def test_a_search_with_less_to_confirm_than_was_planned_says_why_it_has_fewer_cells() -> None:
    plan = {"trials": 6, "confirm": confirm(best=3, seeds=(101, 102))}
    begun = searched(**plan)
    planned = begun.manifest.num_expected
    assert fewer_cells_text(begun.manifest) == ""
    all_made = proposed(begun, 6)
    assert fewer_cells_text(all_made.manifest) == ""
    as_planned = with_confirmation(all_made, ["proposal 1", "proposal 2", "proposal 3"], BASE)
    assert as_planned.manifest.num_expected == planned
    assert fewer_cells_text(as_planned.manifest) == ""
    fewer = with_confirmation(all_made, ["proposal 1"], BASE).manifest
    assert fewer.num_expected == planned - 4
    assert fewer_cells_text(fewer) == (
        f"{planned - 4} cells instead of {planned}: 1 of the best 3 can be confirmed, as no more "
        f"proposals of different settings ran to full length."
    )


def test_a_search_that_ended_early_says_why_it_has_fewer_cells() -> None:
    begun = searched(trials=6)
    ended = with_decisions(proposed(begun, 2), EndSearch("no other point", "", 2)).manifest
    planned = begun.manifest.num_expected
    assert fewer_cells_text(ended) == (
        f"{planned - 4} cells instead of {planned}: 2 of 6 proposals were made."
    )


def test_a_design_has_cells_alone() -> None:
    manifest = define("quickstart", Changes(), ()).manifest
    num_cells = len(named_sweep("quickstart").arms()) * len(manifest.seeds)
    assert expected_cells_text(manifest) == f"{num_cells} cells"
