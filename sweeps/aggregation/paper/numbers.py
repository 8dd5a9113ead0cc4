"""The numbers of a sweep that a paper may cite: what each is called, and how it is printed."""

from collections.abc import Callable, Mapping
from typing import Any

from sweeps.aggregation.rendering.measured import detectable_text
from sweeps.aggregation.rendering.table import Value, number_text
from sweeps.aggregation.results.compared_arms import ComparedArms, compared_arms
from sweeps.aggregation.results.sweep_results import Results
from sweeps.aggregation.tables.columns import arm_values, difference_values

Numbers = Mapping[str, Mapping[str, str]]
"""Name of an arm -> name of a metric -> printed text. Unknown values are left out."""

Printer = Callable[[Any], str]
_SMALLEST_PRINTED = 0.0005


def paper_numbers(results: Results) -> Numbers:
    """Return the numbers of a sweep as its tables print them.

    Errors are in percent, differences in percentage points. Of a search these are the arms that
    ran again on fresh seeds.
    """
    return numbers_of(compared_arms(results))


def numbers_of(arms: ComparedArms) -> Numbers:
    """Return the numbers of arms that were compared."""
    by_arm = arms.by_arm
    printed = dict[str, Mapping[str, str]]()
    for arm in arms.arms:
        name = arm.arm.name
        values = arm_values(arm, name) | difference_values(by_arm.get(name))
        printed[name] = _printed(_derived(values))
    return printed


def _printed(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that can be printed, in the order of the metrics' names."""
    return {
        metric: printer(values[field])
        for metric, (field, printer) in _METRICS.items()
        if values[field] is not None
    }


def _derived(values: dict[str, Value]) -> dict[str, Any]:
    """Return the values with those derived from them."""
    more: dict[str, Any] = dict(values)
    for name in ("difference_points", "simultaneous_points", "seeds_alone_points"):
        low, high = more[f"{name}_low"], more[f"{name}_high"]
        more[f"{name}_half"] = None if low is None or high is None else (high - low) / 2
    error, difference = more["test_error_percent"], more["difference_points"]
    more["test_accuracy_percent"] = None if error is None else 100 - error
    more["accuracy_difference_points"] = None if difference is None else -difference
    return more


def _plain(value: float) -> str:
    return number_text(value)


def _signed(value: float) -> str:
    return number_text(value, sign="+")


def _count(value: int) -> str:
    return f"{value:,}"


def probability_text(value: float) -> str:
    """Return a p value as a paper prints it."""
    return "<0.001" if value < _SMALLEST_PRINTED else number_text(value, 3)


_METRICS: Mapping[str, tuple[str, Printer]] = {
    "test_error": ("test_error_percent", _plain),
    "test_error_sd": ("test_error_percent_sd", _plain),
    "test_error_se": ("test_error_percent_se", _plain),
    "test_error_min": ("test_error_percent_min", _plain),
    "test_error_max": ("test_error_percent_max", _plain),
    "test_accuracy": ("test_accuracy_percent", _plain),
    "n": ("n", _count),
    "difference": ("difference_points", _signed),
    "difference_half": ("difference_points_half", _plain),
    "difference_low": ("difference_points_low", _signed),
    "difference_high": ("difference_points_high", _signed),
    "difference_n": ("difference_n", _count),
    "accuracy_difference": ("accuracy_difference_points", _signed),
    "p": ("p", probability_text),
    "adjusted_p": ("adjusted_p", probability_text),
    "verdict": ("verdict", str),
    "simultaneous_half": ("simultaneous_points_half", _plain),
    "simultaneous_low": ("simultaneous_points_low", _signed),
    "simultaneous_high": ("simultaneous_points_high", _signed),
    "seeds_alone_half": ("seeds_alone_points_half", _plain),
    "detectable": ("detectable_points", detectable_text),
    "equivalence_p": ("equivalence_p", probability_text),
    "num_images": ("num_images", _count),
    "num_objects": ("num_objects", _count),
    "num_parameters": ("num_parameters", _count),
    "num_planned": ("num_planned", _count),
    "num_diverged": ("num_diverged", _count),
    "num_failed": ("num_failed", _count),
    "num_missing": ("num_missing", _count),
    "num_unfinished": ("num_unfinished", _count),
}
METRICS = tuple(_METRICS)
