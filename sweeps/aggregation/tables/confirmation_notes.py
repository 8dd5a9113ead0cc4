"""What the confirmation table says in words: what was chosen, how far it is, how to read it."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell
from sweeps.aggregation.results.arms import ArmResults, cell_state
from sweeps.aggregation.results.confirmation_results import ConfirmationResults
from sweeps.aggregation.tables.ablation_lead import ablation_lead, named
from sweeps.aggregation.tables.ablation_notes import alone_notes
from sweeps.aggregation.tables.machines import machine_notes
from sweeps.aggregation.tables.mean_notes import mean_notes
from sweeps.aggregation.tables.points import point_cell
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, health_notes, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line


def settings_cell(arm: ArmResults, confirmed: ConfirmationResults) -> Cell:
    """Return what the search chose for an arm; nothing for the base."""
    drawn = confirmed.random.reference.draws if confirmed.random else ()
    by_arm = {one.arm: one.params for one in drawn}
    by_arm |= {name: one.params for name, one in confirmed.proposals.items()}
    return point_cell(by_arm.get(arm.arm.name, {}), confirmed.results.search)


def confirmation_lead(confirmed: ConfirmationResults, manifest: Manifest) -> str:
    """Return what was found, "" before anything is compared."""
    rows, baseline = confirmed.rows(), confirmed.baseline
    if baseline is None or not confirmed.chosen or not baseline.counted:
        return ""
    compared = list({id(one): one for one in confirmed.compared.values()}.values())
    lead = ablation_lead(manifest, compared, rows)
    return " ".join(filter(None, [lead, random_lead(confirmed)]))


def random_lead(confirmed: ConfirmationResults) -> str:
    """Return what is known of it, "" where it is not asked or nothing is compared."""
    drawn = confirmed.random
    if drawn is None or drawn.best is None or not drawn.best.counted:
        return ""
    compared = list({id(one): one for one in confirmed.against_random.values()}.values())
    paired = [one for one in compared if one.difference.mean is not None]
    different = [one for one in paired if one.is_different]
    better = [one for one in different if (one.difference.mean or 0.0) < 0]
    worse = [one for one in different if one not in better]
    if better:
        return (
            f"The search found better than random points at equal compute: "
            f"{named(better, with_means=True)}."
        )
    if worse and len(worse) == len(paired):
        return (
            f"Random points at equal compute found better than the search: against their best, "
            f"{named(worse, with_means=True)}."
        )
    if drawn.same and drawn.same.arm in {arm.arm.name for arm in confirmed.chosen}:
        return "Random points at equal compute found one of the arms that the search has chosen."
    if not paired:
        return ""
    return "That the search found better than random points at equal compute is not shown."


def confirmation_notes(confirmed: ConfirmationResults, manifest: Manifest) -> Iterator[str]:
    """Say how far search and confirmation are, how to read the table, and what trials lack."""
    yield from filter(None, [_progress(confirmed)])
    yield from _notes(confirmed, manifest)
    rows = confirmed.rows()
    yield from gap_notes(rows)
    yield from machine_notes(rows)
    yield from target_notes(rows)
    yield from health_notes(rows)
    yield from reason_notes(rows)


def _progress(confirmed: ConfirmationResults) -> str:
    """Return how far the search and its confirmation are, "" where both are over."""
    results = confirmed.results
    over = len(results.proposals) - results.count("unfinished")
    total = results.search.num_asked
    if confirmed.confirmation is None:
        return "This search confirms nothing: its best arm is only the luckiest until it is."
    if not confirmed.chosen:
        if over < total:
            return f"The search has not ended: {over} of {total} proposals are over."
        if not results.counted:
            return f"None of the {total} proposals ran to full length: there is nothing to confirm."
        over_random = random_progress(confirmed)
        return f"All {total} proposals are over. {over_random}The best are not yet run again."
    trials = [trial for arm in confirmed.rows() for trial in arm.trials.values()]
    left = sum(cell_state(trial) in {"missing", "unfinished"} for trial in trials)
    if left:
        return f"The confirmation has not ended: {len(trials) - left} of {len(trials)} trials are."
    return ""


def random_progress(confirmed: ConfirmationResults) -> str:
    """Return how far the random points are, "" where there are none."""
    drawn = confirmed.random
    if drawn is None:
        return ""
    return (
        f"Of {drawn.num_points} random points at equal compute so far {drawn.num_over} are over. "
    )


def _notes(confirmed: ConfirmationResults, manifest: Manifest) -> Iterator[str]:
    confirmation, metric = confirmed.confirmation, confirmed.metric
    if confirmation is None or not confirmed.chosen:
        return
    percent = ", in percent" if metric.is_fraction else ""
    yield (
        f"The {_which(confirmed)} with that of n new trials on "
        f"{_seeds(confirmation.seeds)}, which had no part in choosing them{percent}. "
        "All figures are those of the last epoch."
    )
    yield from _means(confirmed)
    yield from _compared(confirmed)
    yield from random_notes(confirmed)
    luckiest = "one of the best" if confirmed.results.search.cost else "the best"
    yield (
        f"In the search: the mean on {_seeds(manifest.seeds)} that the arm was chosen by. As "
        f"{luckiest} of {len(confirmed.results.proposals)} proposals it is optimistic."
    )
    yield "Test error: that of the same new trials. The test split had no part in any choice."
    yield from _ties(confirmed)


def _means(confirmed: ConfirmationResults) -> Iterator[str]:
    """Say what the ± of a mean covers."""
    rows = confirmed.rows()
    by_validation = [confirmed.mean(arm) for arm in rows]
    is_by_image = any(mean.errors for mean in by_validation)
    means = [*by_validation, *(confirmed.mean_test_error(arm) for arm in rows)]
    yield from mean_notes(means, "validation or test" if is_by_image else "test")
    if is_by_image:
        yield (
            "The validation images chose the arms, and intervals on these images do not allow for "
            "that."
        )


def _which(confirmed: ConfirmationResults) -> str:
    """Return which arms are confirmed."""
    number, metric = len(confirmed.chosen), confirmed.metric
    best = f"the {'highest' if metric.direction == 'larger' else 'lowest'} mean {metric.text}"
    if confirmed.results.search.cost:
        if number == 1:
            return "arm that stands for the front,"
        return f"{number} arms that stand for the front, {best} first, each"
    chosen = f"with {best} in the search,"
    return f"{number} arms {chosen} in its order," if number > 1 else f"arm {chosen}"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(str(seed) for seed in seeds)}"


def _compared(confirmed: ConfirmationResults) -> Iterator[str]:
    """Say what the arms are held against, and what the intervals cover."""
    baseline = confirmed.baseline
    if baseline is None:
        yield "There is no baseline: none of the first random proposals ran to full length."
        return
    is_base = baseline.arm.name == confirmed.results.search.base
    which = (
        "the configuration that the search started from"
        if is_base
        else "the median of the first random proposals that ran to full length"
    )
    yield (
        f"Difference: test error of the arm minus {one_line(baseline.arm.name)}, in percentage "
        f"points, paired by seed. {one_line(baseline.arm.name).capitalize()} is {which}. It is of "
        f"test images, as those of validation chose the arms."
    )
    if len(confirmed.chosen) > 1:
        yield (
            "The order was settled before these trainings, so that the first row is not the "
            "luckiest of them. `capsweep best` ranks them by the new ones."
        )
    compared = confirmed.compared.values()
    if any(one.way for one in compared):
        yield (
            f"{PLUS_MINUS} of a difference: the same, on test images. Bold: holds for all "
            f"comparisons together."
        )
    yield from alone_notes([*compared, *confirmed.against_random.values()])
    for reason in dict.fromkeys(one.why_seeds_alone for one in compared if one.why_seeds_alone):
        yield f"Differences over seeds alone are never bold: {reason}."


def random_notes(confirmed: ConfirmationResults) -> Iterator[str]:
    """Say what the random points are, and what the comparison with their best can tell."""
    drawn = confirmed.random
    if drawn is None:
        return
    made = f"{drawn.num_points} random points (drawn by seed {drawn.reference.seed})"
    if drawn.best is None:
        yield f"None of the {made} ran to full length: the search is compared with the base alone."
        return
    name = one_line(drawn.best.arm.name)
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


def _ties(confirmed: ConfirmationResults) -> Iterator[str]:
    """Say by what chance an arm was chosen that others were as good as, where records tell."""
    if confirmed.results.search.cost:
        return  # the table of the front tells of all that are as good
    costs = confirmed.results.cost
    names = {arm.arm.name for arm in confirmed.chosen}
    chosen = [result for name, result in confirmed.proposals.items() if name in names]
    if not chosen or any(result.value is None for result in chosen):
        return
    last = max(costs(result.number) for result in chosen)
    equal = [
        result
        for result in confirmed.results.counted
        if costs(result.number) == last and result.proposal.arm not in names
    ]
    if equal:
        yield (
            f"{len(equal)} more proposal{'s were' if len(equal) > 1 else ' was'} as good in the "
            f"search as the last one chosen: of equals that of the lower validation loss was "
            f"taken where losses compare, then the earlier."
        )
