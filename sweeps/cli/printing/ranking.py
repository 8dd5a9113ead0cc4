"""What `capsweep best` prints: arms, best first."""

import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from capsmodel.metrics import Metric
from sweeps.aggregation.rendering.fitted_table import FittedTable
from sweeps.cli.printing.console import console, table_of
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from sweeps.aggregation.best_configs import BestConfig


def print_best(configs: "Sequence[BestConfig]", words: Iterable[str]) -> None:
    """Print arms, best first, with what sets them apart and how sure their places are.

    Args:
        configs: Those that have a row.
        words: What is said of the ranking as a whole.
    """
    out = console()
    if configs:
        out.print(_best_table(configs))
    for sentence in words:
        out.print(plain(sentence), soft_wrap=True)


def _best_table(configs: "Sequence[BestConfig]") -> FittedTable:
    metric = configs[0].metric
    is_sure = any(config.chance_of_best is not None for config in configs)
    has_settings = any(config.settings for config in configs)
    headings = ["rank", "arm", *["settings"] * has_settings]
    has_cost = any(config.num_parameters is not None for config in configs)
    headings += [*["parameters"] * has_cost, metric.text + " %" * metric.is_fraction + " (sd)"]
    headings += [*["P(best)"] * is_sure, "trials", "best trial"]
    giving = ("parameters", "trials", "P(best)", "settings")
    table = table_of(*headings, giving=giving)
    for config in configs:
        table.add_row(
            str(config.rank),
            plain(config.arm) + ("" if config.is_confirmed else " (not confirmed)"),
            *[plain(config.words)] * has_settings,
            *[f"{config.num_parameters or 0:,}"] * has_cost,
            _with_spread(config),
            *[_chance(config)] * is_sure,
            f"{config.num_trials} of {config.num_planned}",
            f"{config.trials[0].trial_key} (seed {config.trials[0].seed})",
        )
    return table


def _figure(value: float | None, metric: Metric) -> str:
    return f"{metric.shown(value or 0.0):.{2 if metric.is_fraction else 5}f}"


def _with_spread(config: "BestConfig") -> str:
    """Return the mean with the standard deviation over seeds."""
    values, text = config.values, _figure(config.value.mean, config.metric)
    return f"{text} ({_figure(statistics.stdev(values), config.metric)})" if values[1:] else text


def _chance(config: "BestConfig") -> str:
    return "-" if config.chance_of_best is None else f"{config.chance_of_best:.2f}"
