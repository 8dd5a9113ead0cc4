r"""The numbers of a table of arms by data sets that a paper may cite.

`\capsweep{SWEEP}{em}{overall_points}` is of an arm over all data sets, by the names of the table's
CSV; `\capsweep{SWEEP}{em on MNIST}{difference}` of an arm on one, by those of a single sweep.
"""

from collections import Counter
from collections.abc import Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.paper.macros import STYLE_NAME, style_file, values_file, values_name
from sweeps.aggregation.paper.numbers import Numbers, numbers_of, probability_text
from sweeps.aggregation.paper.style import paper_tables
from sweeps.aggregation.rendering.contents import Section, TextFile
from sweeps.aggregation.rendering.table import Value, number_text
from sweeps.aggregation.results.compared_arms import ComparedArms
from sweeps.aggregation.results.data_set_results import DataSetColumn, DataSetResults
from sweeps.aggregation.tables.data_sets_table import error_values, overall_values, ranked_values


def data_set_texts(
    sweep: str, results: DataSetResults, sections: Sequence[Section], *, is_of_test: bool = True
) -> tuple[TextFile, ...]:
    """Return the macros of a sweep across data sets: its numbers, and its tables' notes.

    Args:
        sweep: Its name.
        results: The arms compared.
        sections: Of its report.
        is_of_test: Whether arms are compared by their test errors, and by no evaluation.
    """
    numbers = data_set_numbers(results, is_of_test=is_of_test)
    return (
        TextFile(STYLE_NAME, style_file()),
        TextFile(values_name(sweep), values_file(sweep, numbers, paper_tables(sections))),
    )


def data_set_numbers(results: DataSetResults, *, is_of_test: bool = True) -> Numbers:
    """Return the numbers of arms over all data sets, then on each: "em", "em on MNIST"."""
    numbers = {
        name: _over_all(results, name)
        for name in dict.fromkeys(name for column in results.columns for name in column.arms)
    }
    places = [
        (f"{name} on {column.name}", metrics)
        for column in results.columns
        for name, metrics in _on_one(column, is_of_test=is_of_test).items()
    ]
    counts = Counter([*numbers, *(name for name, _ in places)])  # "a on b on c" may be two
    return numbers | {name: metrics for name, metrics in places if counts[name] == 1}


def _over_all(results: DataSetResults, name: str) -> dict[str, str]:
    values = overall_values(results.by_arm.get(name)) | ranked_values(results, name)
    return {
        field: _text(field, value)
        for field, value in values.items()
        if value is not None and field != "why_no_verdict"
    }


def _text(field: str, value: Value) -> str:
    if not isinstance(value, float):
        return str(value)
    if field.endswith("_p"):
        return probability_text(value)
    is_signed = field.endswith(("points", "percent", "_low", "_high"))
    return number_text(value, 1 if "percent" in field else 2, "+" if is_signed else "")


def _on_one(column: DataSetColumn, *, is_of_test: bool) -> Numbers:
    """Return the numbers of each arm on one data set, its error with the ends of its interval."""
    compared = {id(comparison): comparison for comparison in column.cells.values()}
    arms = tuple(measured.arm for measured in column.arms.values())
    numbers = numbers_of(ComparedArms(arms, tuple(compared.values())))
    return {
        name: _error(column, name)
        | {
            metric: text
            for metric, text in numbers[name].items()
            if is_of_test or not metric.startswith("test_")
        }
        for name in column.arms
    }


def _error(column: DataSetColumn, name: str) -> dict[str, str]:
    values = error_values(column.arms[name], TEST_ERROR)
    return {
        field.replace("_percent", ""): number_text(value)
        for field, value in values.items()
        if isinstance(value, float)
    }
