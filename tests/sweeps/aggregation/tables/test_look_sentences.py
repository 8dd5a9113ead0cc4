"""What stands above and below the table of a plan of looks."""

from collections.abc import Mapping

import numpy as np
import pytest

from search_spaces.looks import Looked
from sweeps.aggregation.results.ablation_comparisons import ablation_comparisons
from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.comparisons import NO_SPREAD
from sweeps.aggregation.results.planned_looks import NOT_YET
from sweeps.aggregation.tables.ablation_notes import ablation_notes
from sweeps.aggregation.tables.notes import comparison_lead
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of
from tests.sweeps.aggregation.predicted import predictions_of, trials_of
from tools.acceptance.logit_networks import SEEDS

LOOKS = (3, 5)


def lead_of(wrong: Mapping[str, list[np.ndarray]]) -> str:
    """Return what stands above the table of arms that are undecided at the last look."""
    others = [arm for arm in wrong if arm not in {"base", "late"}]
    looked = Looked(
        LOOKS[-1], dict.fromkeys(others, "undecided"), is_last=True, num_compared=len(others)
    )
    plan = {"kind": "listed", "definition": "x", "seeds_at_looks": LOOKS, "looked": (looked,)}
    manifest = manifest_of([*wrong], range(LOOKS[-1]), plan=plan)
    arms = arm_results(manifest, by_key(*trials_of(wrong)))
    return comparison_lead(
        manifest, ablation_comparisons(manifest, arms, predictions_of(wrong)), arms
    )


@pytest.fixture
def wrong() -> dict[str, list[np.ndarray]]:
    """The images that each seed of two arms gets wrong."""
    drawn = next(SEEDS.parts("sentences", [SEEDS.error, SEEDS.error], (1, LOOKS[-1], IMAGES)))
    places = [[np.flatnonzero(seed) for seed in arm] for arm in drawn[0]]
    return dict(zip(("base", "other"), places, strict=True))


def test_an_undecided_arm_with_an_interval_was_tested(wrong: dict[str, list[np.ndarray]]) -> None:
    lead = lead_of(wrong)
    assert lead.startswith("Undecided: its difference lies between ")
    assert lead.endswith("points (95 %).")


def test_an_arm_whose_seeds_all_differ_alike_was_not(wrong: dict[str, list[np.ndarray]]) -> None:
    lead = lead_of({**wrong, "other": [seed[:-1] for seed in wrong["base"]]})
    assert lead.endswith(f"No difference can be tested, as {NO_SPREAD}.")


def test_an_arm_before_its_first_look_is_named(wrong: dict[str, list[np.ndarray]]) -> None:
    lead = lead_of({**wrong, "late": wrong["other"][1:]})
    assert lead.endswith(f"No difference of late can be tested, as {NOT_YET}.")


def test_notes_say_when_arms_were_decided_and_what_the_test_images_decided() -> None:
    drawn = next(SEEDS.parts("notes", [SEEDS.error] * 4, (1, LOOKS[-1], IMAGES)))
    names = ("base", "first", "second", "late")
    wrong = {
        name: [np.flatnonzero(seed) for seed in arm]
        for name, arm in zip(names, drawn[0], strict=True)
    }
    looked = (
        Looked(3, {"first": "different", "second": "undecided"}, is_last=False, num_compared=2),
        Looked(3, {"late": "undecided"}, is_last=False, num_compared=3),
        Looked(5, {"second": "undecided", "late": "undecided"}, is_last=True, num_compared=3),
    )
    plan = {"kind": "listed", "definition": "x", "seeds_at_looks": LOOKS, "looked": looked}
    manifest = manifest_of(names, range(LOOKS[-1]), plan=plan)
    arms = arm_results(manifest, by_key(*trials_of(wrong)))
    compared = ablation_comparisons(manifest, arms, predictions_of(wrong))
    notes = [str(note) for note in ablation_notes(manifest, arms, compared, "ablation.csv")]
    assert (
        "Looks at 3, 5 seeds, planned before the first; a decided arm got no more, and its "
        "difference is over the seeds of its look. Decided: first at 3."
    ) in notes
    assert (
        "Added after the first look, and begun at it: late. With them anything is bold by chance "
        "in up to 6.7 % of such sweeps."
    ) in notes
    assert any(note.startswith("first: the verdict is that of the look.") for note in notes), (
        "nothing in the records bears its verdict out"
    )
    assert any("Verdicts on them at the looks, and nothing else, decided" in n for n in notes)
    assert not any("chose nothing" in note for note in notes)
