"""Rates that are counted in several processes, and printed as a table a criterion."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools.acceptance.figures import Figure

Job = Callable[[], Iterator[Figure]]


def count_and_print(parts: Mapping[str, Callable[[int], Iterator[Job]]], description: str) -> int:
    """Count what the command line asks for.

    Args:
        parts: Name -> the jobs of a part, by how many tables a rate has.
        description: Of the program, its first line a sentence.

    Returns:
        1 if anything does not hold, else 0.
    """
    options = _parsed_options([*parts], description)
    start, by_criterion = time.perf_counter(), dict[str, list[Figure]]()
    jobs = [job for part in options.only or parts for job in parts[part](options.draws)]
    with ProcessPoolExecutor(options.processes) as pool:
        for figures in pool.map(_counted, jobs):
            for figure in figures:
                by_criterion.setdefault(figure.criterion, []).append(figure)
                print(f"{time.perf_counter() - start:6.0f} s {figure.as_line()}", file=sys.stderr)
    for criterion, figures in by_criterion.items():
        print(f"\n**{criterion}**\n")
        print("| networks | seeds | images | rate | 95 % | holds | beside |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- |")
        for figure in figures:
            print(figure.as_line())
    everything = [figure for figures in by_criterion.values() for figure in figures]
    if options.figures:
        lines = (json.dumps(figure.as_record()) for figure in everything)
        options.figures.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all(figure.holds for figure in everything) else 1


def _counted(job: Job) -> list[Figure]:
    return list(job())


def _parsed_options(parts: list[str], description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10_000, help="tables a rate")
    parser.add_argument("--processes", type=int, default=1, help="that count at once")
    parser.add_argument("--only", nargs="+", choices=parts, help="these parts")
    parser.add_argument("--figures", type=Path, help="gets a line of JSON a rate")
    return parser.parse_args()
