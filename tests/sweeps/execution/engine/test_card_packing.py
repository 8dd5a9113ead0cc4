"""Many trials share each GPU by what they need of its memory; peaks are measured, and corrected.

`python -m benchmarks.card_packing` simulates more of them.
"""

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cards import Card, cards_of
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.cell_source import ListedCells
from sweeps.execution.engine.failure_policy import GpuShare
from sweeps.execution.engine.packing import (
    CONTEXT_BYTES,
    MARGIN,
    CardPacker,
    Choice,
    MemoryNeeds,
    Wanted,
    shape_of,
)
from sweeps.execution.engine.placement import Share
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.trial_record import Json
from tests.growth.test_placement import Quiet
from tests.sweeps.execution.engine.simulated_cards import (
    GIB,
    Kind,
    SimulatedCards,
    card,
    seconds_of_all_known,
)
from tests.sweeps.execution.examples import spec

MIXED = (card("A", 24), card("A", 24, free=11), card("B", 80), card("C", 10))
NUM_TRIALS, NUM_CORES = 200, 32


def ten_kinds(seed: int) -> list[Kind]:
    """Return kinds of trainings that take half as much again from the second epoch on."""
    chance, kinds = random.Random(seed), list[Kind]()
    for channels in range(10):
        peak = int(chance.uniform(0.3, 6) * GIB)
        seconds, num_epochs = chance.uniform(0.5, 3), chance.randint(5, 20)
        kinds.append(Kind(channels, int(peak / 1.5), peak, seconds, num_epochs))
    return kinds


def on_a_gpu(config: Json, *, is_alone: bool = False, gpu: GpuShare = "usual") -> Share:
    del config, is_alone, gpu
    return Share(gpus=1.0)


class Simulated(NamedTuple):
    """What came of a simulation, and how many of its cells are filled."""

    engine: SimulatedCards
    num_filled: int
    trials: list[Kind]


def simulated(folder: Path, seed: int, order: str) -> Simulated:
    """Train 200 trials of ten kinds on mixed cards, one of them half used by others."""
    kinds = ten_kinds(seed)
    trials = [kinds[number * 10 // NUM_TRIALS] for number in range(NUM_TRIALS)]
    if order == "by seed":
        trials = [kinds[number % 10] for number in range(NUM_TRIALS)]
    elif order == "shuffled":
        random.Random(seed).shuffle(trials)
    configs = [
        {"model": {"conv_channels": kind.channels}, "rate": number / 7}
        for number, kind in enumerate(trials)
    ]
    jobs = [
        TrialJob(cells=str(folder), spec=spec(f"{number:020d}", config=config))
        for number, config in enumerate(configs)
    ]
    packer = CardPacker(MIXED, MemoryNeeds(folder / "peaks"))
    queue = CellQueue(ListedCells(jobs), Quiet(), share_of=on_a_gpu, packer=packer)
    engine = SimulatedCards(folder, MIXED, {kind.channels: kind for kind in kinds}, NUM_CORES)
    engine.run(queue)
    filled = [CellFolder(folder, job.spec.trial_key).is_filled() for job in jobs]
    return Simulated(engine, sum(filled), trials)


@pytest.mark.parametrize(("seed", "order"), [(1, "by arm"), (0, "by seed"), (2, "shuffled")])
def test_two_hundred_trials_on_mixed_cards_take_hardly_longer_than_if_all_were_known(
    tmp_path: Path, seed: int, order: str
) -> None:
    engine, num_filled, trials = simulated(tmp_path, seed, order)
    assert num_filled == NUM_TRIALS
    assert engine.ran_out, "or nothing had to be corrected"
    assert max(engine.ran_out.values()) == 1, "no trial is retried twice for the same reason"
    assert seconds_of_all_known(trials, MIXED, NUM_CORES) / engine.now > 0.9


def packer_of(*cards: Card, path: Path | None = None) -> CardPacker:
    return CardPacker(cards, MemoryNeeds(path))


def test_the_first_trial_of_a_shape_has_all_that_is_free_until_its_peak_is_known() -> None:
    packer = packer_of(card("A", 24))
    first, second = Wanted("first", "a"), Wanted("second", "a")
    assert packer.choose([first]) == Choice(0, 0)
    on_card = packer.give(first, 0)
    assert on_card.memory_fraction == pytest.approx(0.97 - CONTEXT_BYTES / (24 * GIB))
    assert packer.choose([second]) is None
    packer.observe_peak("first", 2 * GIB)
    assert packer.choose([second]) == Choice(0, 0)
    on_card = packer.give(second, 0)
    assert on_card.memory_fraction == pytest.approx(MARGIN * 2 / 24)


def test_as_many_share_a_card_as_fit() -> None:
    packer = packer_of(card("A", 24))
    packer.give(Wanted("first", "a"), 0)
    packer.take_back("first", 2 * GIB, ended_well=True, ran_out=False)
    fits = int(0.97 * 24 * GIB) // (int(MARGIN * 2 * GIB) + CONTEXT_BYTES)
    for number in range(fits):
        packer.give(Wanted(f"{number}", "a"), 0)
    assert packer.choose([Wanted("one more", "a")]) is None
    packer.take_back("0", 2 * GIB, ended_well=True, ran_out=False)
    assert packer.choose([Wanted("one more", "a")]) == Choice(0, 0)


def test_another_shape_is_measured_where_at_least_half_a_card_is_free() -> None:
    packer = packer_of(card("A", 24), card("A", 24))
    packer.give(Wanted("a", "a"), 0)
    assert packer.choose([Wanted("also a", "a"), Wanted("b", "b")]) == Choice(1, 1)
    assert packer.choose([Wanted("also a", "a")]) == Choice(0, 1), "where nothing else is there"
    packer.observe_peak("a", 12 * GIB)
    packer.give(Wanted("c", "c"), 1)
    assert packer.choose([Wanted("b", "b")]) is None


def test_one_that_runs_out_doubles_the_peak_until_one_gets_further(tmp_path: Path) -> None:
    packer = packer_of(card("A", 80))
    packer.give(Wanted("first", "a"), 0)
    packer.take_back("first", 2 * GIB, ended_well=True, ran_out=False)
    packer.give(Wanted("second", "a"), 0)
    assert not packer.take_back("second", 2 * GIB, ended_well=False, ran_out=True)
    retry = Wanted("second", "a", is_retry=True)
    assert packer.give(retry, 0).memory_fraction == pytest.approx(MARGIN * 4 / 80, rel=1e-6)
    packer.observe_peak("second", 3 * GIB)
    on_card = packer.give(Wanted("third", "a"), 0)
    assert on_card.memory_fraction == pytest.approx(MARGIN * 3 / 80, rel=1e-6)


def test_one_that_is_to_be_alone_waits_for_the_largest_card() -> None:
    packer = packer_of(card("A", 24), card("B", 80))
    packer.give(Wanted("other", "b"), 1)
    alone = Wanted("alone", "a", is_alone=True)
    assert packer.choose([alone]) is None
    packer.take_back("other", None, ended_well=True, ran_out=False)
    assert packer.choose([alone]) == Choice(0, 1)
    packer.give(alone, 1)
    assert packer.take_back("alone", GIB, ended_well=False, ran_out=True)


def test_one_that_ran_out_of_a_whole_small_card_has_a_larger_one_to_try() -> None:
    packer = packer_of(card("A", 8), card("B", 80))
    packer.give(Wanted("first", "a"), 0)
    assert not packer.take_back("first", 7 * GIB, ended_well=False, ran_out=True)
    assert packer.choose([Wanted("first", "a", is_retry=True)]) == Choice(0, 1)


def test_one_that_was_passed_often_keeps_the_card_that_lacks_least_for_it(tmp_path: Path) -> None:
    path = tmp_path / "peaks"
    for shape, peak in (("large", 15), ("small", 2)):
        MemoryNeeds(path).observe(shape, peak * GIB)
    packer = packer_of(card("A", 24), card("A", 24), path=path)
    for number, place in enumerate([0] * 3 + [1] * 8):  # which is all that the second has room for
        packer.give(Wanted(f"{number}", "small"), place)
    later = Wanted("later", "small")
    assert packer.choose([Wanted("large", "large"), later]) == Choice(1, 0)
    waiting = Wanted("large", "large", has_waited=True)
    assert packer.choose([waiting, later]) is None
    for key in ("0", "1", "2"):
        packer.take_back(key, None, ended_well=True, ran_out=False)
    assert packer.choose([waiting, later]) == Choice(0, 0)


def test_peaks_are_remembered_in_the_storage_folder_and_what_is_torn_is_left_out(
    tmp_path: Path,
) -> None:
    path = tmp_path / "peaks"
    MemoryNeeds(path).observe("a", 5)
    with path.open("a") as file:
        file.write('{"shape": "b", "peak"')
    needs = MemoryNeeds(path)
    needs.observe("a", 7)
    needs.observe("a", 6)
    assert [MemoryNeeds(path).peak(shape) for shape in ("a", "b")] == [7, None]
    assert len(path.read_text().splitlines()) == 3


def test_the_peak_of_a_shape_is_the_largest_on_any_card(tmp_path: Path) -> None:
    packer = packer_of(card("A", 24), card("B", 80), path=tmp_path / "peaks")
    for key, place, peak in (("first", 0, 5), ("second", 1, 7)):
        packer.give(Wanted(key, "a"), place)
        packer.take_back(key, peak, ended_well=True, ran_out=False)
    assert MemoryNeeds(tmp_path / "peaks").peak("a") == 7


def test_peaks_of_versions_that_wrote_the_card_too_are_read(tmp_path: Path) -> None:
    path = tmp_path / "peaks"
    path.write_text('{"shape":"a","card":"A100","peak_bytes":5}\n')
    MemoryNeeds(path).observe("a", 7)
    assert path.read_text().splitlines()[1:] == ['{"shape":"a","peak_bytes":7}']
    path.write_text(path.read_text().splitlines()[0])
    assert MemoryNeeds(path).peak("a") == 5


def test_what_others_put_into_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.write_text("mine")
    (tmp_path / "peaks").symlink_to(stranger)
    MemoryNeeds(tmp_path / "peaks").observe("a", 5)
    assert stranger.read_text() == "mine"


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        ({"batch_size": 64}, True),
        ({"model": {"kind": "capsnet", "types": 16, "dropout": 0.1}}, True),
        ({"model": {"kind": "capsnet", "types": 8, "dropout": 0.5}}, False),
        ({"stopping": {"kind": "epochs", "num_epochs": 9}}, False),
    ],
    ids=["batch size", "types", "a rate", "epochs"],
)
def test_a_shape_is_all_that_decides_the_memory(change: Json, is_another: bool) -> None:
    config = {
        "batch_size": 32,
        "model": {"kind": "capsnet", "types": 8, "dropout": 0.1},
        "stopping": {"kind": "epochs", "num_epochs": 5},
    }
    assert (shape_of(config) != shape_of({**config, **change})) is is_another
    assert shape_of(config) != shape_of(config, checkpointing=True)


PROBED = (
    '[{"uuid": "aa-1", "name": "A", "total_bytes": 100, "free_bytes": 95},'
    ' {"uuid": "bb-2", "name": "B", "total_bytes": 100, "free_bytes": 40}]'
)


@pytest.mark.parametrize(
    ("visible", "seen", "labels"),
    [
        (None, ["GPU-aa-1", "GPU-bb-2"], ["0", "1"]),
        ("3,1", ["3", "1"], ["3", "1"]),
        ("MIG-x, GPU-bb-2", ["MIG-x", "GPU-bb-2"], ["0", "1"]),
    ],
    ids=["all", "by numbers", "by names"],
)
def test_cards_are_named_as_cuda_names_them(
    visible: str | None, seen: list[str], labels: list[str]
) -> None:
    cards = cards_of(PROBED, visible)
    assert [card.visible_as for card in cards] == seen
    assert [card.label for card in cards] == labels
    assert [card.is_shared for card in cards] == [False, True]
