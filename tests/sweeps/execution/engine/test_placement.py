"""The default placement fills the machines with equal shares, and refuses what fits nowhere."""

from collections.abc import Callable
from typing import Any

import pytest

from sweeps.cli.commands.plan import gpu_lines
from sweeps.execution.engine import capacity
from sweeps.execution.engine.capacity import Capacity, Resources, Room, capacity_of
from sweeps.execution.engine.cards import Card
from sweeps.execution.engine.failure_policy import GpuShare
from sweeps.execution.engine.placement import (
    Limits,
    Machine,
    Placed,
    Request,
    Share,
    place_evenly,
)
from sweeps.records.errors import BadInput
from tests.sweeps.execution.engine.simulated_cards import card

FREE = Limits()
LAPTOP = Machine(cpus=4)
SERVER = Machine(cpus=16, gpus=2)


@pytest.mark.parametrize(
    ("asked", "machines", "gpus", "num_concurrent"),
    [
        (Request(), [LAPTOP], 0.0, 4),
        (Request(cpus=3), [LAPTOP], 0.0, 1),
        (Request(cpus=3), [LAPTOP, LAPTOP], 0.0, 2),
        (Request(), [SERVER], 1.0, 2),
        (Request(), [LAPTOP, SERVER], 1.0, 2),
        (Request(gpus=0.0), [SERVER], 0.0, 16),
        (Request(gpus=0.25), [SERVER], 0.25, 8),
        (Request(gpus=0.1), [Machine(cpus=16, gpus=0.3)], 0.1, 3),
        (Request(cpus=8, gpus=0.25), [SERVER], 0.25, 2),
        (Request(), [Machine(cpus=8, gpus=0.5)], 0.0, 8),
    ],
)
def test_an_order_gets_what_is_asked_and_a_gpu_where_there_is_one(
    asked: Request, machines: list[Machine], gpus: float, num_concurrent: int
) -> None:
    shares = (Share(cpus=asked.cpus, gpus=gpus),)
    expected = Placed(shares=shares, num_concurrent=num_concurrent)
    assert place_evenly([asked], machines, FREE) == expected


def test_two_halves_that_lie_on_two_machines_are_no_whole() -> None:
    with pytest.raises(BadInput, match="No trial fits"):
        place_evenly([Request(cpus=5)], [LAPTOP, LAPTOP], FREE)


def test_the_refusal_says_what_was_asked_what_there_is_and_what_to_do() -> None:
    with pytest.raises(BadInput) as error:
        place_evenly([Request(cpus=2, gpus=4)], [LAPTOP, SERVER], FREE)
    assert str(error.value) == (
        "No trial fits: each asks for 2 CPUs and 4 GPUs, and the largest machine has 16 CPUs and "
        "2 GPUs. Lower --gpus-per-trial."
    )


def test_the_refusal_names_both_options_where_both_are_too_large() -> None:
    with pytest.raises(BadInput, match="Lower --cpus-per-trial and --gpus-per-trial"):
        place_evenly([Request(cpus=99, gpus=4)], [SERVER], FREE)


def test_one_of_them_is_told_in_the_singular() -> None:
    with pytest.raises(BadInput, match=r"asks for 2 CPUs and 1 GPU, .* has 1 CPU and 0\.5 GPUs\."):
        place_evenly([Request(cpus=2, gpus=1)], [Machine(cpus=1, gpus=0.5)], FREE)


def test_a_number_bounds_what_fits() -> None:
    assert place_evenly([Request()], [LAPTOP], Limits(max_concurrent=3)).num_concurrent == 3
    assert place_evenly([Request()], [LAPTOP], Limits(max_concurrent=9)).num_concurrent == 4


def test_where_machines_may_join_a_number_is_taken_as_it_is() -> None:
    limits = Limits(max_concurrent=9, may_grow=True)
    assert place_evenly([Request(cpus=8)], [LAPTOP], limits).num_concurrent == 9
    with pytest.raises(BadInput):
        place_evenly([Request(cpus=8)], [LAPTOP], Limits(may_grow=True))


def test_each_kind_has_to_fit_and_the_smallest_bounds_how_many_run() -> None:
    small, large = Request(), Request(cpus=4)
    placed = place_evenly([small, large], [LAPTOP], FREE)
    assert placed == Placed(shares=(Share(), Share(cpus=4)), num_concurrent=4)
    with pytest.raises(BadInput):
        place_evenly([small, Request(cpus=5)], [LAPTOP], FREE)


@pytest.mark.parametrize(("share", "device"), [(Share(), "cpu"), (Share(gpus=0.5), "cuda")])
def test_a_share_of_a_gpu_is_trained_on_it(share: Share, device: str) -> None:
    assert share.device == device


def test_a_room_asks_for_the_machines_once_and_only_when_it_has_to() -> None:
    asked: list[int] = []

    def machines() -> list[Machine]:
        asked.append(1)
        return [SERVER]

    room = Room(Resources(cpus=2, max_concurrent=5), machines=machines)
    assert asked == []
    assert room.share({}) == Share(cpus=2, gpus=1.0)
    assert room.capacity([{}, {"a": 1}]) == room.capacity() == Capacity(1.0, 2)
    assert asked == [1]


def test_a_trial_that_is_alone_gets_the_largest_machine_that_is_there_now() -> None:
    machines = [LAPTOP, Machine(cpus=16)]
    room = Room(Resources(address="auto"), machines=lambda: list(machines))
    assert room.share({}, is_alone=True) == Share(cpus=16)
    machines.pop()
    assert room.share({}, is_alone=True) == Share(cpus=4)
    assert room.share({}) == Share(cpus=1)


def test_it_gets_what_the_others_get_where_no_machine_has_come_yet() -> None:
    head_only = [Machine(cpus=0)]
    resources = Resources(cpus=2, gpus=0, max_concurrent=3, address="auto")
    room = Room(resources, machines=lambda: head_only)
    assert room.share({}, is_alone=True) == Share(cpus=2)


@pytest.mark.parametrize("known", [{}, {"gpus": 1.0}, {"max_concurrent": 3}])
def test_a_cluster_without_a_machine_has_to_be_told_what_trials_get(known: dict[str, Any]) -> None:
    room = Room(Resources(address="auto", **known), machines=lambda: [Machine(cpus=0)])
    with pytest.raises(BadInput, match="give both --max-concurrent"):
        room.capacity()


def test_kills_for_memory_are_counted_where_the_trials_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "num_oom_kills", lambda: 5)
    assert Room(Resources()).oom_kills() == 5
    assert Room(Resources(address="auto")).oom_kills() == 0


def test_a_cluster_may_grow_and_this_machine_does_not() -> None:
    cluster = Room(Resources(max_concurrent=9, address="auto"), machines=lambda: [LAPTOP])
    here = Room(Resources(max_concurrent=9), machines=lambda: [LAPTOP])
    assert [room.capacity().num_concurrent for room in (cluster, here)] == [9, 4]


@pytest.mark.parametrize(
    ("gpu", "gpus"), [("usual", 0.25), ("twice", 0.5), ("whole", 1.0)], ids=str
)
def test_a_retry_gets_more_of_a_gpu(gpu: GpuShare, gpus: float) -> None:
    room = Room(Resources(gpus=0.25), machines=lambda: [SERVER], cards=tuple)
    assert room.share({}, gpu=gpu) == Share(gpus=gpus)


def test_trials_that_are_packed_are_as_many_as_there_are_cores() -> None:
    cards = (card("A", 24), card("B", 80, free=20))
    room = Room(Resources(cpus=2, gpus="auto"), machines=lambda: [SERVER], cards=lambda: cards)
    assert room.capacity([{}]) == Capacity("auto", int(SERVER.cpus) // 2, cards)
    assert room.share({}).device == "cuda"
    assert room.packer
    assert Room(Resources(gpus=1), machines=lambda: [SERVER]).packer is None


def no_cuda() -> tuple[Card, ...]:
    raise OSError("CUDA does not work here: the driver is too old")


@pytest.mark.parametrize(
    ("cards", "sentence"),
    [
        (tuple, "PyTorch sees no GPU here"),
        (
            lambda: (card("A", 24, free=0.5),),
            r"no GPU has 1 GiB free.*A \(0.5 of 24.0 GiB free; other programs use the rest\)",
        ),
        (no_cuda, "The GPUs of this machine cannot be used: CUDA does not work here"),
    ],
    ids=["none", "no memory", "no driver"],
)
def test_what_cannot_be_packed_is_one_sentence(
    cards: Callable[[], tuple[Card, ...]], sentence: str
) -> None:
    room = Room(Resources(gpus="auto"), machines=lambda: [SERVER], cards=cards)
    with pytest.raises(BadInput, match=sentence):
        room.capacity()


def test_what_hides_the_gpus_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    with pytest.raises(BadInput, match=r"no GPU here, where CUDA_VISIBLE_DEVICES is 5\."):
        Room(Resources(gpus="auto"), machines=lambda: [SERVER], cards=tuple).capacity()
    monkeypatch.setattr(capacity, "this_machine", lambda: [Machine(cpus=8)])
    assert list(gpu_lines(capacity_of(Resources()))) == [
        "No GPU per trial, 8 at once.",
        "CUDA_VISIBLE_DEVICES is 5, and PyTorch sees no GPU: trials use the CPU.",
    ]
    assert list(gpu_lines(capacity_of(Resources(gpus=0.0)))) == ["No GPU per trial, 8 at once."]


@pytest.mark.parametrize(("num_seen", "is_said"), [(1, True), (2, False)], ids=["one", "both"])
def test_a_gpu_that_is_listed_and_not_there_is_said(
    monkeypatch: pytest.MonkeyPatch, num_seen: int, *, is_said: bool
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,5")
    monkeypatch.setattr(capacity, "this_machine", lambda: [Machine(cpus=8, gpus=num_seen)])
    monkeypatch.setattr(capacity, "_local_gpus", lambda: num_seen)
    monkeypatch.setattr(Room, "cards", tuple(card("A", 24) for _ in range(num_seen)))
    *_, last = gpu_lines(capacity_of(Resources()))
    assert last.startswith("CUDA_VISIBLE_DEVICES is 0,5, and PyTorch sees only those") == is_said


def test_a_plan_says_that_a_share_counts_a_used_card_as_empty() -> None:
    cards = (card("A", 24, free=23.4), card("B", 24, free=9.1))
    *_, last = gpu_lines(Capacity(gpus_per_trial=0.25, num_concurrent=8, cards=cards))
    assert last.startswith("Trials take every GPU as empty: --gpus-per-trial auto counts")
    for packed in (Capacity("auto", 8, cards), Capacity(0.25, 8, cards[:1])):
        assert not any("as empty" in line for line in gpu_lines(packed))


def test_a_card_that_has_no_room_is_left_to_others() -> None:
    cards = (card("A", 24, free=0.5), card("A", 24))
    room = Room(Resources(gpus="auto"), machines=lambda: [SERVER], cards=lambda: cards)
    assert room.capacity().cards == cards[1:]
