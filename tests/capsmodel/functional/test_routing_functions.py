"""Routings and losses as functions: the values of the papers' procedures, without any settings."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import (
    Margins,
    dynamic_routing,
    em_routing,
    heinsen_routing,
    inverted_attention_routing,
    leaky_routing,
    margin_loss,
    random_routing,
    self_attention_routing,
    spread_loss,
    squash,
    uniform_routing,
    variational_bayes_routing,
)
from capsmodel.routing import (
    ROUTINGS,
    GivenVotes,
    Neighbourhood,
    Routing,
    SelfRouting,
)
from tests.capsmodel.routing.em_examples import (
    STRIDE_1,
    STRIDE_2,
    Layer,
    Procedure,
    route_literally,
)
from tests.capsmodel.routing.routed import router_for, seeded, some_votes
from tests.capsmodel.routing.test_routing import GOLDEN
from tests.capsmodel.routing.test_routing import route_literally as agree_literally

VOTES = torch.arange(8, dtype=torch.float64).reshape(1, 2, 2, 2)


@pytest.mark.parametrize("iterations", GOLDEN)
def test_dynamic_routing_gives_the_values_worked_out_by_hand(iterations: int) -> None:
    poses = dynamic_routing(VOTES, iterations).poses.flatten()
    assert_close(poses, torch.tensor(GOLDEN[iterations], dtype=torch.float64), atol=6e-9, rtol=0)


@pytest.mark.parametrize("leak", [False, True])
@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_agreement_is_the_printed_procedure(iterations: int, leak: bool) -> None:
    votes = some_votes(2, 5, 3, 4)
    actual = (leaky_routing if leak else dynamic_routing)(votes, iterations).poses
    assert_close(actual, agree_literally(votes, iterations, leak=leak), atol=1e-13, rtol=0)


@pytest.mark.parametrize(
    "around", [Neighbourhood(), STRIDE_1, STRIDE_2], ids=["one place", "stride 1", "stride 2"]
)
@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_em_is_the_printed_procedure(iterations: int, around: Neighbourhood) -> None:
    layer = Layer.drawn(around, types=2 if around.num_places > 1 else 5)

    def logit(_: Layer, mass: Tensor, variance: Tensor, parent: int, temperature: float) -> Tensor:
        cost = (0.7 + variance.log() / 2).sum() * mass
        return temperature * (0.3 - cost)

    temperatures = [0.5, 1.0, 1.5][:iterations]
    actual = em_routing(
        layer.votes_in_full().values,
        layer.votes_in_full().activations.t(),
        iterations,
        activation_bias=0.3,
        cost_bias=torch.full((3,), 0.7, dtype=torch.float64),
        inverse_temperature=temperatures.__getitem__,
        neighbourhood=around,
    )
    poses, activations, _ = route_literally(layer, Procedure(logit), temperatures)
    assert_close(actual.poses, poses, atol=1e-12, rtol=1e-12)
    assert_close(actual.activations, activations, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(
    "routing",
    [routing() for routing in ROUTINGS if routing is not SelfRouting],
    ids=lambda routing: routing.kind,
)
def test_settings_compute_what_the_functions_do(routing: Routing) -> None:
    votes = some_votes(2, 5, 3, 4)
    activations = some_votes(2, 5).sigmoid()
    functions = {
        "dynamic": lambda: dynamic_routing(votes),
        "leaky": lambda: leaky_routing(votes),
        "uniform": lambda: uniform_routing(votes),
        "random": lambda: random_routing(votes, seeded(7)),
        "em": lambda: em_routing(votes, activations),
        "heinsen": lambda: heinsen_routing(votes, activations),
        "variational_bayes": lambda: variational_bayes_routing(votes, activations),
        "inverted_attention": lambda: inverted_attention_routing(votes),
        "self_attention": lambda: self_attention_routing(votes),
    }
    votes_in_full = GivenVotes(activations.t(), Neighbourhood(), votes)
    routed = router_for(routing, votes)(votes_in_full, seeded(7))
    expected = functions[routing.kind]()
    assert torch.equal(routed.poses, expected.poses)
    if routed.logits is None:  # a layer may have more that it learned
        assert torch.equal(routed.activations, expected.activations)


def test_children_may_compete_for_each_parent() -> None:
    votes = some_votes(2, 5, 3, 4)
    logits, poses = torch.zeros(2, 5, 3).double(), votes
    for _ in range(3):
        couplings = logits.softmax(dim=1)
        poses = squash(torch.einsum("bio,biop->bop", couplings, votes))
        logits = logits + torch.einsum("biop,bop->bio", votes, poses)
    routed = dynamic_routing(votes, competition="children")
    assert_close(routed.poses, poses)
    assert routed.couplings is not None
    assert_close(routed.couplings.values.sum(dim=0), torch.ones(2, 3).double())


def test_types_may_compete_at_each_place_on_its_own() -> None:
    around = Neighbourhood(3, 3, kernel_size=2)
    votes = some_votes(8, 8, 3, 4)  # two images of 4 places, two types in windows of 4
    routed = dynamic_routing(votes, competition="types", neighbourhood=around)
    assert_close(routed.poses, dynamic_routing(votes).poses)
    assert not torch.allclose(routed.poses, dynamic_routing(votes, neighbourhood=around).poses)


@pytest.mark.parametrize("competition", ["types", "children"])
@pytest.mark.parametrize("kernel", [1, 2])
def test_the_gradient_of_every_competition_is_that_of_finite_differences(
    competition: str, kernel: int
) -> None:
    around = Neighbourhood(2, 2, kernel_size=kernel)

    def route(votes: Tensor) -> Tensor:
        return dynamic_routing(votes, competition=competition, neighbourhood=around).poses  # pyright: ignore

    votes = some_votes(around.num_places, kernel * kernel * 2, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(route, votes)


def test_losses_have_the_values_worked_out_by_hand() -> None:
    labels = torch.arange(10)
    for length, loss in {0.0: 0.81, 0.1: 0.64, 0.5: 0.88, 0.9: 2.88, 1.0: 3.645}.items():
        lengths = torch.full((10, 10), length, dtype=torch.float64)
        assert_close(margin_loss(lengths, labels), torch.tensor(loss).double())
        assert_close(spread_loss(lengths, labels, 0.5), torch.tensor(9 * 0.25).double())
    lengths = torch.full((10, 10), 0.5, dtype=torch.float64)
    halved = margin_loss(lengths, labels, Margins(down_weight=1.0), over_classes="half_mean")
    assert_close(halved, torch.tensor((0.16 + 9 * 0.16) / 20).double())


def test_an_image_may_be_of_several_classes_or_of_none() -> None:
    lengths = torch.tensor([[0.8, 0.9, 0.3], [0.1, 0.2, 0.0], [0.5, 0.1, 0.1]])
    is_true_class = torch.tensor([[True, True, False], [False, False, False], [True, False, False]])
    by_hand = [0.1**2 + 0.5 * 0.2**2, 0.5 * 0.1**2, 0.4**2]
    assert_close(margin_loss(lengths, is_true_class), torch.tensor(sum(by_hand) / 3))
    assert_close(
        margin_loss(lengths[2:], is_true_class[2:]), margin_loss(lengths[2:], torch.tensor([0]))
    )
    weighted = margin_loss(lengths, is_true_class, class_weights=(1.0, 2.0, 3.0))
    assert_close(weighted, torch.tensor((1.5 * by_hand[0] + by_hand[2]) / 3))
    with pytest.raises(ValueError, match=r"image 0 is 0\.8 for class 0: labels of several classes"):
        margin_loss(lengths, lengths)


def test_a_class_may_weigh_more() -> None:
    lengths, labels = torch.zeros(2, 2), torch.tensor([0, 1])
    assert_close(margin_loss(lengths, labels, class_weights=(1.0, 3.0)), torch.tensor(2 * 0.81))
    assert_close(spread_loss(lengths, labels, class_weights=(1.0, 3.0)), torch.tensor(2 * 0.81))


def test_functions_load_neither_pydantic_nor_rich() -> None:
    program = (
        "import sys, capsmodel.functional\n"
        "loaded = {name for name in sys.modules if name.startswith('capsmodel.')}\n"
        "light = ('functional', 'chance', 'spelling', 'torch_internals')\n"
        "allowed = tuple(f'capsmodel.{name}' for name in light)\n"
        "print({'pydantic', 'rich'} & set(sys.modules), "
        "{name for name in loaded if not name.startswith(allowed)})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set() set()"
