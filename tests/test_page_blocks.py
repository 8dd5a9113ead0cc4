"""Every block of Python and of commands on a page runs in a test, or a reason says why not."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import capsmodel
import capsmodel.augmentation
import capsmodel.data
import capsmodel.optimisers
import capsmodel.stopping
import search_spaces
from tests.pages import PAGES, ROOT, anchors, page, snippets

# Page -> language -> what runs its blocks: one entry for all of them, or one for each in its order.
# An entry is the id of a test, or a reason that begins with "not run: ".
_SUBMITS = "not run: it needs that cluster; test_pages checks its commands and options"
_HERE = "tests/test_page_blocks.py::test_means_and_deviations_of_the_page_are_computed"
_WEIGHTS = "tests/capsmodel/test_published_weights.py"
_DESIGNS = "tests/test_designs_page.py"
_PICTURES = "tests/end_to_end/test_own_pictures.py"
_FOLDER = "::test_a_folder_becomes_a_table_and_a_prediction_in_the_commands_of_the_page"
_SWEEPS = "tests/test_readme.py::test_the_page_on_sweeps_runs_in_its_order"
_PLANNED = "tests/test_readme.py::test_ones_own_sweep_is_planned_from_its_file"
RUN_BY: dict[str, dict[str, str | tuple[str, ...]]] = {
    "aws": {
        "console": _SUBMITS,
        "python": "not run: it reads through a tunnel; test_python_page runs the same calls here",
    },
    "capsmodel": {
        "python": "tests/test_capsmodel_page.py::test_its_examples_are_one_script_that_runs"
    },
    "cluster": {"console": _SUBMITS},
    "data": {
        "console": _PICTURES + _FOLDER,
        "python": (
            _PICTURES + _FOLDER,
            "tests/sweeps/aggregation/test_predicted_files.py::"
            "test_the_three_lines_of_the_page_list_wrong_files_by_names",
            "not run: it needs a trained trial and a picture; `capsweep predict` does the same",
            _HERE,
        ),
    },
    "data_sets": {
        "console": "tests/end_to_end/test_data_sets_page.py::"
        "test_three_folders_become_a_table_in_the_commands_of_the_page",
        "python": "tests/end_to_end/test_data_sets_page.py::"
        "test_three_folders_become_a_table_in_the_commands_of_the_page",
    },
    "designs": {
        "console": "not run: launches of minutes; test_pages checks its commands, and "
        "test_designs_page the files that `grid` and `ablate` write",
        "python": (
            f"{_DESIGNS}::test_its_grid_is_what_its_command_writes",
            f"{_DESIGNS}::test_its_components_make_the_arms_that_it_names",
            "tests/search_spaces/test_matched_arms.py::test_the_pages_example_can_be_declared",
            f"{_DESIGNS}::test_its_grid_that_skips_lacks_as_many_combinations_as_it_says",
            f"{_DESIGNS}::test_its_fraction_says_what_is_quoted",
            f"{_DESIGNS}::test_its_tuned_arms_cost_what_it_says",
            f"{_DESIGNS}::test_its_path_is_what_its_command_writes",
            f"{_DESIGNS}::test_its_splits_are_dealt_as_it_says",
        ),
    },
    "implementations": {
        "python": (
            f"{_WEIGHTS}::test_a_whole_network_gives_the_same_lengths_images_and_gradients",
            f"{_WEIGHTS}::test_the_network_of_heinsen_loads_its_released_file",
            f"{_WEIGHTS}::test_an_efficient_capsnet_has_the_weights_of_its_keras_file",
        ),
    },
    "install": {
        "console": "not run: it downloads gigabytes; tests/end_to_end/test_installed.py installs "
        "the wheel and the sdist nightly"
    },
    "kubernetes": {"console": _SUBMITS},
    "operations": {"console": "not run: it changes a running launch, or mails"},
    "own_machines": {"console": _SUBMITS},
    "papers": {"console": "not run: a report as that of the tour, in another style"},
    "parts": {"console": "not run: it prints what this very page is made of"},
    "python": {
        "python": (
            "tests/test_python_page.py::test_its_options_of_a_launch_are_some",
            *["tests/test_python_page.py::test_its_snippets_on_reading_run_one_after_the_other"]
            * 4,
            "tests/test_python_page.py::test_its_network_is_trained_saved_and_loaded",
            "tests/test_python_page.py::test_its_snippets_on_reading_run_one_after_the_other",
        ),
    },
    "robustness": {
        "python": (
            "tests/test_robustness_page.py::test_the_pages_first_sweep_declares_six_evaluations",
            "tests/test_robustness_page.py::test_the_page_examines_a_plain_module",
            "tests/test_robustness_page.py::"
            "test_the_pages_second_sweep_stops_in_a_window_that_digits_can_hit",
        ),
    },
    "searches": {
        "console": "not run: test_new_command.py writes, plans and checks such a file",
        "python": "tests/test_searches_page.py::test_its_searches_can_be_declared_and_defined",
    },
    "slurm": {"console": _SUBMITS},
    "sweeps": {
        "console": _SWEEPS,
        "python": (
            _PLANNED,
            _PLANNED,
            "tests/test_readme.py::test_ones_own_routing_keeps_the_laws_of_a_routing",
            _PLANNED,
        ),
    },
    "tour": {
        "console": "tests/test_readme.py::test_readme_and_then_the_tour_run_in_their_order",
        "python": (_PLANNED,),
    },
    "workstation": {
        "console": "not run: `run` and `status` are those of the tour; the rest needs GPUs"
    },
    "yours": {
        "console": "not run: `check` and `run` of the file that test_yours_page checks and trains",
        "python": "tests/test_yours_page.py::test_each_of_its_examples_works",
    },
}
_MODULES = (
    search_spaces,
    capsmodel,
    capsmodel.augmentation,
    capsmodel.data,
    capsmodel.optimisers,
    capsmodel.stopping,
)


def entries() -> Iterator[tuple[str, str, str]]:
    """Yield page, language and what runs a block, of all that is listed."""
    for name, languages in RUN_BY.items():
        for language, runs in languages.items():
            for entry in (runs,) if isinstance(runs, str) else runs:
                yield name, language, entry


@pytest.mark.parametrize("path", PAGES[1:], ids=lambda path: path.stem)
def test_every_block_of_a_page_is_listed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    listed = RUN_BY.get(path.stem, {})
    for language in ("python", "console"):
        blocks: Sequence[str] = snippets(text, language)
        runs = listed.get(language, ())
        if isinstance(runs, str):
            assert blocks, f"{path.name} has no block of {language}: remove its entry"
        else:
            assert len(blocks) == len(runs), f"{path.name} has {len(blocks)} blocks of {language}"


def test_every_page_that_is_listed_exists() -> None:
    assert {*RUN_BY} <= {path.stem for path in PAGES}


@pytest.mark.parametrize(
    "entry", sorted({entry for *_, entry in entries() if not entry.startswith("not run: ")})
)
def test_every_test_that_is_listed_exists_and_reads_the_page(entry: str) -> None:
    file, _, function = entry.partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    names = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    assert function in names
    for name in {name for name, _, listed in entries() if listed == entry}:
        assert f'"{name}"' in text or f"{name}.md" in text, f"{file} does not read {name}.md"


def test_means_and_deviations_of_the_page_are_computed() -> None:
    names: dict[str, object] = {}
    shown = snippets(page("data"))[-1]
    exec(shown.replace("FashionMnist", "Digits"), names)  # which needs no download
    assert isinstance(names["augmentation"], capsmodel.augmentation.Steps)


def test_parts_that_newcomers_are_sent_to_exist() -> None:
    section = page("glossary").partition("## You may be looking for\n")[2]
    called = re.findall(r"\b([A-Z]\w+)\(", section)
    assert len(called) >= 7
    assert {
        name for name in called if not any(hasattr(module, name) for module in _MODULES)
    } == set()


def test_pages_that_code_and_files_name_exist_with_their_anchors() -> None:
    files = [
        *(
            path
            for folder in ("capsmodel", "search_spaces", "sweeps", "tests", "benchmarks", "tools")
            for path in (ROOT / folder).rglob("*.py")
        ),
        ROOT / "cluster.yaml",
        *(ROOT / "deploy").rglob("*.yaml"),
    ]
    for file in files:
        for name, anchor in re.findall(r"docs/(\w+)\.md(?:#([\w-]+))?", file.read_text("utf-8")):
            target = ROOT / "docs" / f"{name}.md"
            assert target.exists(), f"{file} names docs/{name}.md"
            assert not anchor or anchor in anchors(target.read_text("utf-8")), f"{file}: {anchor}"
