"""Whether verdicts hold where some arms err far more than others, and some vary far more."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import judged_tables
from tools.acceptance.logit_networks import LogitGenerator

LOGIT = LogitGenerator("2 %, alike", 0.02, (0.15, 4.0), 0.5, 0.3)
SPREADS = {
    "alike": LOGIT,
    "unlike": replace(
        LOGIT, name="2 %, unlike", scales=(1, 5**0.5, 1, 0.3**0.5, 3**0.5, 1, 2**0.5)
    ),
    "one wild": replace(LOGIT, name="2 %, one wild", seed=0.15, scales=(1, 5)),
}
RATIOS = (1, 5, 20)
BOLD = "any bold among arms that are as good as the baseline, at most .055 (.079 with one wild)"
ALONE = "bold of one arm that is as good as the baseline and compared alone, at most .06"
WORST = "coverage of the difference of the arm where it is least, at least .94 (.899 with one wild)"
NAMED = "how often the wild arm is held to its own seeds, reported"
LEAST, LEAST_WILD = 0.94, 0.899
MOST, MOST_ALONE, MOST_WILD = 0.055, 0.06, 0.079


def unlike_arms(
    spread: str, ratio: int, seeds: int, images: int, draws: int, compared: int
) -> Iterator[Figure]:
    """Count tables in which every second compared arm errs `ratio` times as much as the baseline.

    The first compared arm errs as the baseline does; it is the wild one where there is one.
    """
    generator, is_wild = SPREADS[spread], spread == "one wild"
    errors = [
        generator.error * (ratio if arm and arm % 2 == 0 else 1) for arm in range(compared + 1)
    ]
    true = np.array(errors[1:]) - errors[0]
    is_null = true == 0
    bold, covers, apart = (list[Bool[np.ndarray, "draws arms"]]() for _ in range(3))
    for wrong in generator.parts(f"unlike {ratio} {seeds}", errors, (draws, seeds, images)):
        tables = judged_tables(wrong)
        bold.append(tables.is_bold & is_null)
        covers.append(np.abs(tables.way.mean - true) <= tables.way.half_width())
        if tables.way.shared:
            apart.append(tables.way.shared.is_apart)
    case = f"{generator.name}, levels 1 : {ratio}, {compared} compared"
    most = MOST_WILD if is_wild else MOST if compared > 1 else MOST_ALONE
    any_bold = counted(np.asarray(np.concatenate(bold).any(axis=1)))
    criterion = BOLD if compared > 1 else ALONE
    yield Figure(criterion, case, seeds, images, *any_bold, most=most)
    covered = np.concatenate(covers)
    worst = int(covered.mean(axis=0).argmin())
    context = {"number of that arm": worst + 1}
    least = LEAST_WILD if is_wild else LEAST
    yield Figure(
        WORST, case, seeds, images, *counted(np.asarray(covered[:, worst])), least, context=context
    )
    if apart:
        held = np.concatenate(apart)
        others = held[:, 1:]
        context = {"any other arm": others.any(axis=1).mean(), "each other": others.mean()}
        yield Figure(NAMED, case, seeds, images, *counted(np.asarray(held[:, 0])), context=context)
