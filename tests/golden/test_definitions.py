"""Manifests, keys and versions are those that the pinned commit gave, and its imports work."""

import difflib
import importlib
import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden import access, facts, write

PINNED_TEXTS: dict[str, str] = json.loads(lzma.decompress(write.MANIFEST_TEXTS.read_bytes()))
PINNED_IMPORTS: list[str] = json.loads(write.IMPORTS.read_text(encoding="utf-8"))


def pinned(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_manifest_has_the_hash_and_every_search_the_definition_it_always_had() -> None:
    assert facts.summary(PINNED_TEXTS) == pinned(write.MANIFESTS), "the two golden files agree"
    result = facts.summary({name: text_of_today(name) for name in PINNED_TEXTS})
    assert result == pinned(write.MANIFESTS)


@pytest.mark.parametrize("name", PINNED_TEXTS)
def test_a_manifest_has_the_text_it_always_had(name: str) -> None:
    today, then = text_of_today(name), PINNED_TEXTS[name]
    changed = difflib.unified_diff(then.splitlines(), today.splitlines(), "pinned", "today", n=3)
    assert today == then, "\n".join(list(changed)[:60])


@pytest.mark.parametrize("name", PINNED_TEXTS)
def test_a_manifest_is_read_and_written_as_it_was(name: str) -> None:
    assert access.rewritten_manifest(PINNED_TEXTS[name]) == PINNED_TEXTS[name]


@pytest.mark.parametrize("path", facts.USER_FILES, ids=lambda path: path.stem)
def test_a_users_routing_loss_and_data_keep_their_versions_and_keys(path: Path) -> None:
    assert facts.of_user_file(path) == pinned(write.USER_FILES)[facts.own_name(path)]


@pytest.mark.parametrize("statement", PINNED_IMPORTS)
def test_an_import_that_was_shown_works(statement: str) -> None:
    exec(statement, {})


def test_every_import_that_is_shown_today_works() -> None:
    shown = facts.shown_imports(facts.documents(Path(__file__).parents[2]))
    assert {"import sweeps", "from capsmodel.routing import VectorRouting"} <= set(shown)
    for statement in shown:
        exec(statement, {})


@pytest.mark.parametrize("module", facts.BUILT_FROM)
def test_what_parts_and_sweeps_are_built_from_is_where_it_was(module: str) -> None:
    present = importlib.import_module(module)
    missing = [name for name in pinned(write.PUBLIC_NAMES)[module] if not hasattr(present, name)]
    assert missing == []


@cache
def text_of_today(name: str) -> str:
    """Return the manifest that a first launch would write today."""
    which = facts.FOLDER / name if name.startswith("user_files/") else name
    return access.text_of(access.definition_of(which))
