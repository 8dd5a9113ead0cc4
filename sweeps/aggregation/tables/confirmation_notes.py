"""What the confirmation table says in words: what was chosen, how far it is, how to read it."""

from collections.abc import Iterable, Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS, Needed
from sweeps.aggregation.results.arms import cell_state
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.confirmation_results import ConfirmationResults
from sweeps.aggregation.results.targets import epoch_of_test_text
from sweeps.aggregation.tables import notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def confirmation_lead(confirmed: ConfirmationResults, manifest: Manifest) -> str:
    """Return what was found, "" before anything is compared."""
    baseline = confirmed.baseline
    if baseline is None or not confirmed.chosen or not baseline.counted:
        return ""
    compared = _once(confirmed.compared.values())
    lead = notes.comparison_lead(manifest, compared, confirmed.rows())
    confirms = _confirms(compared, len(confirmed.chosen))
    return " ".join(filter(None, [confirms, lead, _random_lead(confirmed)]))


def _confirms(compared: Sequence[Comparison], num_chosen: int) -> str:
    """Return whether fresh seeds show that an arm of the search is better, "" before they can."""
    if not any(comparison.difference.n for comparison in compared):
        return ""
    better = [
        comparison
        for comparison in compared
        if comparison.is_different and (comparison.difference.mean or 0.0) < 0
    ]
    if better:
        arms = notes.named(better)
        return f"Fresh seeds confirm that the search found better than its base: {arms}."
    which = "the best" if num_chosen == 1 else f"any of the best {num_chosen}"
    return f"Fresh seeds do not show that {which} of the search beats its base."


def _once(compared: Iterable[Comparison]) -> list[Comparison]:
    return list({id(comparison): comparison for comparison in compared}.values())


def _random_lead(confirmed: ConfirmationResults) -> str:
    """Return the verdict against random points, or "" without a comparison."""
    drawn = confirmed.random
    if drawn is None or drawn.best is None or not drawn.best.counted:
        return ""
    compared = _once(confirmed.against_random.values())
    paired = [comparison for comparison in compared if comparison.difference.mean is not None]
    better = [
        comparison
        for comparison in paired
        if comparison.is_different and (comparison.difference.mean or 0.0) < 0
    ]
    worse = [
        comparison for comparison in paired if comparison.is_different and comparison not in better
    ]
    if better:
        return (
            f"The search found better than random points at equal compute: "
            f"{notes.named(better, with_means=True)}."
        )
    if worse and len(worse) == len(paired):
        return (
            f"Random points at equal compute found better than the search: against their best, "
            f"{notes.named(worse, with_means=True)}."
        )
    if drawn.same and drawn.same.arm in {arm.arm.name for arm in confirmed.chosen}:
        return "Random points at equal compute found one of the arms that the search has chosen."
    if not paired:
        return ""
    return "That the search found better than random points at equal compute is not shown."


def confirmation_notes(confirmed: ConfirmationResults, manifest: Manifest) -> Iterator[str]:
    """Yield how far search and confirmation are, how to read the table, and what trials lack."""
    rows = confirmed.rows()
    yield from notes.ill_notes(rows)
    yield from _progress(confirmed)
    if confirmed.confirmation is not None and confirmed.chosen:
        yield from _figures(confirmed)
        yield from _compared(confirmed)
        yield from _random(confirmed)
        yield from _choice(confirmed, manifest)
    yield from notes.gap_notes(rows)
    yield from notes.machine_notes(rows)
    yield from notes.target_notes(rows)
    yield from notes.health_notes(rows)
    yield from notes.reason_notes(rows)


def _progress(confirmed: ConfirmationResults) -> Iterator[str]:
    """Yield how far the search and its confirmation are, unless both are over."""
    results, drawn = confirmed.results, confirmed.random
    over, total = len(results.proposals) - results.count("unfinished"), results.search.num_asked
    trials = [trial for arm in confirmed.rows() for trial in arm.trials.values()]
    num_ended = sum(cell_state(trial) not in {"missing", "unfinished"} for trial in trials)
    if confirmed.confirmation is None:
        yield "This search confirms nothing: its best arm is only the luckiest until it is."
    elif confirmed.chosen and num_ended < len(trials):
        yield f"The confirmation has not ended: {num_ended} of {len(trials)} trials are."
    elif confirmed.chosen:
        return
    elif over < total:
        yield f"The search has not ended: {over} of {total} proposals are over."
    elif not results.candidates:
        within = " within the measured limits" * bool(results.beyond_limits)
        none = f"None of the {total} proposals ran to full length{within}"
        yield f"{none}: there is nothing to confirm."
    else:
        of_random = (
            f"Of {drawn.num_points} random points at equal compute so far {drawn.num_over} are "
            f"over. "
            if drawn
            else ""
        )
        yield f"All {total} proposals are over. {of_random}The best are not yet run again."


def _figures(confirmed: ConfirmationResults) -> Iterator[str]:
    confirmation, rows = confirmed.confirmation, confirmed.rows()
    assert confirmation is not None
    percent = ", in percent" if confirmed.metric.is_fraction else ""
    yield (
        f"The {_confirmed_arms(confirmed)} with that of n new trials on "
        f"{notes.seed_list(confirmation.seeds)}, which had no part in choosing them{percent}. All "
        f"figures are those of {epoch_of_test_text(arm.arm.config for arm in rows)}."
    )
    by_validation = [confirmed.mean(arm) for arm in rows]
    is_by_image = any(mean.errors for mean in by_validation)
    means = [*by_validation, *(confirmed.mean_test_error(arm) for arm in rows)]
    yield from notes.mean_notes(means, "validation or test" if is_by_image else "test")
    if is_by_image:
        yield (
            "The validation images chose the arms, and intervals on these images do not allow for "
            "that."
        )


def _confirmed_arms(confirmed: ConfirmationResults) -> str:
    number, metric = len(confirmed.chosen), confirmed.metric
    best = f"the {'highest' if metric.direction == 'larger' else 'lowest'} mean {metric.text}"
    if confirmed.results.search.cost:
        if number == 1:
            return "arm that stands for the front,"
        return f"{number} arms that stand for the front, {best} first, each"
    chosen = f"with {best} in the search,"
    return f"{number} arms {chosen} in its order," if number > 1 else f"arm {chosen}"


def _compared(confirmed: ConfirmationResults) -> Iterator[str]:
    """Yield what the arms are compared with, and what the intervals cover."""
    baseline, compared = confirmed.baseline, confirmed.compared.values()
    if baseline is None:
        yield "There is no baseline: none of the first random proposals ran to full length."
        return
    origin = (
        "the configuration that the search started from"
        if baseline.arm.name == confirmed.results.search.base
        else "the median of the first random proposals that ran to full length"
    )
    yield (
        f"Difference: test error of the arm minus {baseline.shown_name}, in percentage points, "
        f"paired by seed. {baseline.shown_name.capitalize()} is {origin}. It is of test images, as "
        f"those of validation chose the arms."
    )
    if len(confirmed.chosen) > 1:
        yield (
            "The order was settled before these trainings, so that the first row is not the "
            "luckiest of them. `capsweep best` ranks them by the new ones."
        )
    if any(comparison.way for comparison in compared):
        yield Needed(
            f"{PLUS_MINUS} of a difference: the same, on test images. Bold: holds for all "
            f"comparisons together."
        )
    yield from notes.alone_notes([*compared, *confirmed.against_random.values()])
    for reason in dict.fromkeys(
        comparison.why_seeds_alone for comparison in compared if comparison.why_seeds_alone
    ):
        yield Needed(f"Differences over seeds alone are never bold: {reason}.")


def _random(confirmed: ConfirmationResults) -> Iterator[str]:
    """Yield what the random points are, and what the comparison with their best can show."""
    drawn = confirmed.random
    if drawn is None:
        return
    made = f"{drawn.num_points} random points (drawn by seed {drawn.reference.seed})"
    if drawn.best is None:
        within = " within the measured limits" * bool(confirmed.results.search.measured_limits)
        yield (
            f"None of the {made} ran to full length{within}: the search is compared with the base "
            f"alone."
        )
        return
    name = drawn.best.shown_name
    yield (
        f"Against random: test error of the arm minus {name}, the best on validation of {made}, "
        f"trained in full on the seeds of the search and chosen as its arms were. They took "
        f"{drawn.epochs:,} epochs, where the search took {drawn.search_epochs:,}. Bold holds "
        f"together with the comparisons with the baseline."
    )
    yield (
        "It shows whether this search found better arms than this draw. Another search or draw may "
        "be luckier, so it does not measure the sampler's worth elsewhere."
    )
    if drawn.same:
        yield f"{name} is the same configuration as {one_line(drawn.same.arm)}."


def _choice(confirmed: ConfirmationResults, manifest: Manifest) -> Iterator[str]:
    """Yield how the arms were chosen, and whether others were as good."""
    results = confirmed.results
    luckiest = "one of the best" if results.search.cost else "the best"
    yield (
        f"In the search: the mean on {notes.seed_list(manifest.seeds)} that the arm was chosen by. "
        f"As {luckiest} of {len(results.proposals)} proposals it is optimistic."
    )
    yield "Test error: that of the same new trials. The test split had no part in any choice."
    yield from notes.limit_notes(results)
    names = {arm.arm.name for arm in confirmed.chosen}
    chosen = [result for name, result in confirmed.proposals.items() if name in names]
    if results.search.cost or not chosen or any(result.value is None for result in chosen):
        return  # of a front its own table has all that are as good
    last = max(results.cost(result.number) for result in chosen)
    equal = [
        result
        for result in results.candidates
        if results.cost(result.number) == last and result.proposal.arm not in names
    ]
    if equal:
        yield (
            f"{len(equal)} more proposal{'s were' if len(equal) > 1 else ' was'} as good in the "
            f"search as the last one chosen: of equals that of the lower validation loss was "
            f"taken where losses compare, then the earlier."
        )
