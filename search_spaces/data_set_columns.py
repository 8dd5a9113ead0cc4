"""The data sets of a sweep across several: the columns of its table, each a sweep of its own."""

import hashlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSet
from capsmodel.evaluation import Evaluation
from capsmodel.settings.profiles import value_at
from capsmodel.spelling import unknown
from search_spaces.plans.base import Arm, Plan
from search_spaces.plans.search import Search
from search_spaces.tables import NAMES_OF_REPORTS, DataSetsTable, column_sweep_name

DATA = "data"
SEEDS = "seeds"
FEWEST_FOR_OTHERS = 6
"""Fewer data sets say nothing of others."""
_FEWEST_DATA_SETS = 2
_MOST_FIRST_SEEDS = 9_000
_SEEDS_BETWEEN = 1_000
_LONGEST_NAME = 64
_OF_THE_SAME_IMAGES = {"split_seed": None, "train_fraction": 1.0, "fraction": 1.0}

_NAME = re.compile(r"[A-Za-z0-9][^\x00-\x1f\x7f/\\]{0,39}")


def first_seed_of(data_set: str) -> int:
    """Return the number that is added to each seed of a sweep on a data set.

    It depends on the data set's name alone: other data sets and their order change no trial key.
    Seeds are other numbers on each data set, as results of one seed on two data sets may correlate,
    which the intervals over data sets do not allow for.
    """
    digest = int.from_bytes(hashlib.sha256(data_set.encode()).digest()[:8], "big")
    return _SEEDS_BETWEEN * (1 + digest % _MOST_FIRST_SEEDS)


def check_data_sets(across: Mapping[str, Mapping[str, Any]], sweep: str) -> None:
    """Check names of data sets, and that each says its data.

    Raises:
        ValueError: For the first that is not allowed.
    """
    if len(across) < _FEWEST_DATA_SETS:
        raise ValueError(
            f"across takes at least {_FEWEST_DATA_SETS} data sets, got {len(across)}: for one data "
            f"set, set it in the base."
        )
    sweeps: dict[str, str] = {}
    for data_set, settings in across.items():
        if not _NAME.fullmatch(data_set):
            raise ValueError(
                f"A data set's name has up to 40 characters and begins with a letter or a digit, "
                f"got {data_set!r}."
            )
        name = column_sweep_name(sweep, data_set)
        if len(name) > _LONGEST_NAME:
            raise ValueError(
                f"The sweep of the data set '{data_set}' would be called '{name}', which has more "
                f"than {_LONGEST_NAME} letters: give the sweep or the data set a shorter name."
            )
        if name in sweeps:
            raise ValueError(
                f"The data sets '{sweeps[name]}' and '{data_set}' differ in letters that names of "
                f"files do not hold: rename one."
            )
        sweeps[name] = data_set
        if not any(path == DATA or path.startswith(f"{DATA}.") for path in settings):
            raise ValueError(
                f"The data set '{data_set}' does not say its data: give it '{DATA}', such as "
                f"{{'{DATA}': 'mnist'}}."
            )


def check_arms_of_column(
    data_set: str, settings: Mapping[str, Any], base: TrainingConfig, arms: Sequence[Arm]
) -> None:
    """Check that no arm varies what its data set sets.

    An arm with a part of another kind, such as a CNN in place of capsules, varies the part: what
    the data set sets of the base's part does not concern it.

    Raises:
        ValueError: For the first setting that both set.
    """
    for arm in arms:
        for path, leaf in _set_by_both(settings, arm):
            if path == leaf or _kind_at(arm.config, path) == _kind_at(base, path):
                raise ValueError(
                    f"The arm '{arm.name}' sets {path}, and the data set '{data_set}' sets {leaf}: "
                    f"leave one of them out."
                )


def check_search_across(plan: Plan, across: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that a search, which is of the first data set, has arms to judge on the others.

    Raises:
        ValueError: If it confirms none, or varies what a data set sets.
    """
    if not isinstance(plan, Search):
        return
    if plan.confirm is None:
        raise ValueError(
            "A search across data sets tunes on the first and judges its best on the others, and "
            "this one confirms nothing: give Search(confirm=Confirm())."
        )
    for data_set, settings in across.items():
        for leaf in _leaves(settings):
            for dimension in plan.space.dimensions:
                path = dimension.path
                if f"{leaf}.".startswith(f"{path}.") or f"{path}.".startswith(f"{leaf}."):
                    raise ValueError(
                        f"The search varies {path}, and the data set '{data_set}' sets {leaf}: "
                        f"leave one of them out."
                    )


def without_settings(settings: Mapping[str, Any], arms: Sequence[Arm]) -> tuple[str, ...]:
    """Return a sentence for each arm whose part of another kind has none of a data set's settings.

    Args:
        settings: What the data set sets.
        arms: The arms on it.
    """
    sentences: list[str] = []
    for arm in arms:
        if without := dict.fromkeys(leaf for _, leaf in _set_by_both(settings, arm)):
            leaves = " and ".join(without)
            sentences.append(
                f"The arm '{arm.name}' has a part of another kind, to which {leaves} of this data "
                f"set does not apply."
            )
    return tuple(sentences)


def _set_by_both(settings: Mapping[str, Any], arm: Arm) -> Iterator[tuple[str, str]]:
    """Yield the path that an arm sets, and that of the data set which it sets too."""
    for path in arm.changes:
        for leaf in _leaves(settings):
            if path == leaf or leaf.startswith(f"{path}."):
                yield path, leaf


def _kind_at(config: TrainingConfig, path: str) -> object:
    return getattr(value_at(config, path.split(".")), "kind", None)


def _leaves(settings: Mapping[str, Any], above: str = "") -> list[str]:
    """Return the paths that settings set, those inside a part written as a dict too."""
    paths: list[str] = []
    for name, value in settings.items():
        path = f"{above}{name}"
        inside = isinstance(value, Mapping) and value
        paths += _leaves(value, f"{path}.") if inside else [path]
    return paths


def check_columns_together(
    bases: Mapping[str, TrainingConfig], seeds: Mapping[str, Sequence[int]]
) -> None:
    """Check that data sets make columns of one table.

    Args:
        bases: Data set -> the base on it.
        seeds: Data set -> its seeds.

    Raises:
        ValueError: If two have unlike tasks or the same test images, or share only some seeds.
    """
    for (name, base), (other, other_base) in combinations(bases.items(), 2):
        if (task := base.data.task.kind) != (other_task := other_base.data.task.kind):
            raise ValueError(
                f"The data sets '{name}' and '{other}' have unlike tasks ({task} and "
                f"{other_task}), whose errors are not comparable: declare a sweep for each task."
            )
        if _all_images(base.data) == _all_images(other_base.data):
            raise ValueError(
                f"The data sets '{name}' and '{other}' are the same data: leave one out, or vary "
                f"their difference as an arm."
            )
    check_seeds(seeds)


def check_table_of_columns(
    table: DataSetsTable, data_sets: Collection[str], evaluations: Sequence[Evaluation]
) -> None:
    """Check that what the table over data sets names exists.

    Raises:
        ValueError: For the first name that does not, with the near ones.
    """
    for data_set in table.published:
        if data_set not in data_sets:
            raise ValueError(unknown("data set of published values", data_set, [*data_sets]))
    if table.name in NAMES_OF_REPORTS:
        names = " and ".join(NAMES_OF_REPORTS)
        raise ValueError(f"The table over data sets needs another name than {names}.")
    kinds = [evaluation.kind for evaluation in evaluations if evaluation.primary]
    if table.primary_of and table.primary_of not in kinds:
        raise ValueError(unknown("evaluation with a primary figure", table.primary_of, kinds))
    if kinds.count(table.primary_of) > 1:
        raise ValueError(
            f"The sweep has {kinds.count(table.primary_of)} evaluations of the kind "
            f"'{table.primary_of}', and primary_of names one: leave the others out."
        )
    if table.other_data_sets and len(data_sets) < FEWEST_FOR_OTHERS:
        raise ValueError(
            f"A verdict on other data sets takes at least {FEWEST_FOR_OTHERS} data sets, got "
            f"{len(data_sets)}: leave other_data_sets out."
        )


def check_seeds(seeds: Mapping[str, Sequence[int]]) -> None:
    """Check that all data sets have the same seeds, or no two have any in common.

    Raises:
        ValueError: For the first two that do not.
    """
    if len({frozenset(of_data_set) for of_data_set in seeds.values()}) == 1:
        return
    for name, other in combinations(seeds, 2):
        if common := {*seeds[name]} & {*seeds[other]}:
            raise ValueError(
                f"The data sets '{name}' and '{other}' have seed {min(common)} in common: give all "
                f"data sets the same '{SEEDS}', or each other numbers."
            )


def _all_images(data: DataSet) -> DataSet:
    fields = type(data).model_fields
    whole = {name: value for name, value in _OF_THE_SAME_IMAGES.items() if name in fields}
    if path := getattr(data, "path", None):
        whole["path"] = os.path.realpath(path)
    return data.model_copy(update=whole)
