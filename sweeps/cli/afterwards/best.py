"""The arms of a sweep, best first."""

from typing import Annotated

import typer

from sweeps.cli.answers.text import JsonOption, answer
from sweeps.cli.options import NameArgument, StorageOption, TrackingOption


def best(
    name: NameArgument,
    count: Annotated[int, typer.Option("--count", "-n", help="How many arms.")] = 10,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rank a sweep's arms by mean last-epoch validation error; of two objectives their front."""
    from sweeps.aggregation.best_configs import check_count, ranked_configs
    from sweeps.aggregation.best_words import ranking_words

    check_count(count)
    ranking = ranked_configs(name, tracking_uri, storage)
    words = ranking_words(name, ranking)
    if as_json:
        from sweeps.cli.answers.records import best_answer

        answer(best_answer(name, ranking.configs[:count], words))
        return
    from sweeps.cli.printing.ranking import print_best

    print_best(ranking.configs[:count], words)
