"""`capsweep best`."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import NameArgument, StorageOption, TrackingOption
from sweeps.cli.terminal import console, plain, say, table_of

if TYPE_CHECKING:
    from capsmodel.metrics import Metric
    from sweeps.aggregation.best_configs import BestConfig
    from sweeps.aggregation.rendering.fitted_table import FittedTable
    from sweeps.cli.answers import BestAnswer


def best(
    name: NameArgument,
    *,
    count: Annotated[int, typer.Option("--count", "-n", help="Number of arms to show.")] = 10,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rank a sweep's arms by mean last-epoch validation error; list the front of two objectives."""
    from sweeps.aggregation.best_configs import check_count, rankings_by_data_set
    from sweeps.aggregation.ranking_sentences import ranking_sentences
    from sweeps.cli.remote_sweeps import place_of_records

    check_count(count)
    with place_of_records(name, storage, tracking_uri) as place:
        rankings = rankings_by_data_set(name, *place)
    notes = {key: tuple(ranking_sentences(name, ranked)) for key, ranked in rankings.items()}
    if as_json:
        configs = [config for ranked in rankings.values() for config in ranked.configs[:count]]
        sentences = dict.fromkeys(sentence for each in notes.values() for sentence in each)
        print_json(_answer(name, configs, tuple(sentences)))
        return
    for data_set, ranked in rankings.items():
        if data_set:
            say(f"On {data_set}:")
        print_best(ranked.configs[:count], notes[data_set])


def _answer(sweep: str, configs: "Sequence[BestConfig]", notes: tuple[str, ...]) -> "BestAnswer":
    from sweeps.cli.answers import BestAnswer, BestArmAnswer

    metric = configs[0].metric if configs else None
    arms = (
        BestArmAnswer.of(
            config, value=config.value.mean, low=config.value.low, high=config.value.high
        )
        for config in configs
    )
    return BestAnswer(
        sweep=sweep,
        metric=metric.name if metric else None,
        unit=metric.unit if metric else None,
        arms=tuple(arms),
        notes=notes,
    )


def print_best(configs: "Sequence[BestConfig]", notes: Sequence[str]) -> None:
    """Print arms, best first, with what sets them apart and how sure their ranks are.

    Args:
        configs: The arms that have a row.
        notes: Sentences on the ranking as a whole.
    """
    if configs:
        console().print(_table(configs))
    for sentence in notes:
        say(sentence)


def _table(configs: "Sequence[BestConfig]") -> "FittedTable":
    metric = configs[0].metric
    has_settings = any(config.settings for config in configs)
    headings = ["rank", "arm", *["settings"] * has_settings]
    has_cost = any(config.num_parameters is not None for config in configs)
    headings += [*["parameters"] * has_cost, metric.text + " %" * metric.is_fraction + " (sd)"]
    headings += ["trials", "best trial"]
    giving = ("parameters", "trials", "settings")
    table = table_of(*headings, giving=giving)
    for config in configs:
        table.add_row(
            str(config.rank),
            plain(config.arm) + ("" if config.is_confirmed else " (not confirmed)"),
            *[plain(config.words)] * has_settings,
            *[f"{config.num_parameters or 0:,}"] * has_cost,
            _with_spread(config),
            f"{config.num_trials} of {config.num_planned}",
            f"{config.trials[0].trial_key} (seed {config.trials[0].seed})",
        )
    return table


def _figure(value: float | None, metric: "Metric") -> str:
    return f"{metric.shown(value or 0.0):.{2 if metric.is_fraction else 5}f}"


def _with_spread(config: "BestConfig") -> str:
    """Return the mean with the standard deviation over seeds."""
    values, text = config.values, _figure(config.value.mean, config.metric)
    return f"{text} ({_figure(statistics.stdev(values), config.metric)})" if values[1:] else text
