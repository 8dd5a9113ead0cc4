"""The sentences about a ranking: how it was made, and how sure its first place is."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.best_configs import BestConfig, Ranking
from sweeps.aggregation.results.arms import gap_text
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.records.plain_text import listed, one_line
from sweeps.tracking.validation import deleted_trials_text

_MOST_NAMED = 10


def ranking_sentences(name: str, ranking: Ranking) -> Iterator[str]:
    """Yield how arms were ranked, which may be as good as the first, and which have no rank."""
    configs = ranking.configs
    if configs:
        yield from _of_places(configs)
        yield from _of_the_first(configs)
        yield from _of_ties(configs)
        yield from ranking.sizes
    elif ranking.beyond_limits:
        yield f"No proposal of {name} that ran to full length keeps its limits."
    else:
        yield f"No trial of {name} has finished."
    if ranking.beyond_limits:
        beyond = _named(ranking.beyond_limits)
        yield f"Without a place, as they are beyond a limit of the search: {beyond}."
    if deleted := deleted_trials_text(ranking.num_deleted, name):
        yield deleted.here
    others = ranking.without_place
    if others and (configs or any(arm.count("diverged") + arm.count("failed") for arm in others)):
        arms = [f"{arm.arm.name} ({gap_text(arm)})" for arm in others]
        yield f"Without a finished trial, and so without a place: {_named(arms)}."


def _of_places(configs: Sequence[BestConfig]) -> Iterator[str]:
    epoch = epoch_of_test_text(config.config for config in configs)
    yield f"Ranked by mean {configs[0].metric.text} of {epoch}; the test split plays no part."
    if configs[0].num_parameters is not None:
        seeds = "the fresh seeds" if configs[0].is_confirmed else "the search's seeds"
        yield (
            f"The front by {seeds}: none of the others is better at no more parameters. Those that "
            f"one of these beats in both are left out."
        )
    if not configs[0].is_confirmed:
        yield (
            "Not confirmed: the same seeds found these arms, so the best look better than they are."
        )
    if any(config.num_trials < config.num_planned for config in configs):
        yield "Arms with unfinished trials come last: their means leave those out."


def _of_the_first(configs: Sequence[BestConfig]) -> Iterator[str]:
    """Yield from which of the others the first can be distinguished."""
    if configs[0].may_be_best is None or not configs[1:]:
        return
    alike = [config.arm for config in configs[1:] if config.may_be_best]
    untested = [config.arm for config in configs[1:] if config.may_be_best is None]
    if alike:
        yield f"Indistinguishable from the first, for all together at 95 %: {_named(alike)}."
    else:
        others = "others that could be compared" if untested else "others"
        yield f"The first can be distinguished from all {others}, for all together at 95 %."
    if untested:
        yield (
            f"Not compared with the first (a trial did not finish or is missing, there are no "
            f"predictions of the same validation images, or fifty others stand before): "
            f"{_named(untested)}."
        )


def _of_ties(configs: Sequence[BestConfig]) -> Iterator[str]:
    means = [round(config.value.mean or 0, 12) for config in configs]
    if len(set(means)) < len(means):
        yield (
            "Of equal means the lower validation loss ranks first if all losses are comparable, "
            "else the sweep's order decides: validation does not distinguish such arms."
        )


def _named(arms: Sequence[str]) -> str:
    return listed([*map(one_line, arms)], _MOST_NAMED)
