"""The routing of Heinsen is that of the released code."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import heinsen_routing
from capsmodel.functional.neighbourhood import ONE_PLACE
from capsmodel.functional.votes import GivenVotes
from capsmodel.layers import Capsules
from capsmodel.routing import Fan, HeinsenRouting
from tests.capsmodel.routing.published_votes import CASES, VOTES, assert_alike, assert_golden
from tests.capsmodel.routing.routed import some_votes


def route_literally(
    votes: Tensor, activations: Tensor, use: Tensor, ignore: Tensor, iterations: int
) -> tuple[Tensor, Tensor]:
    """Route image after image, pair after pair; return centres and scores."""
    _, in_caps, out_caps, _ = votes.shape
    all_centres: list[Tensor] = []
    all_scores: list[Tensor] = []
    for image, present in zip(votes, activations, strict=True):
        shares = [[votes.new_tensor(1 / out_caps)] * out_caps for _ in range(in_caps)]
        centres: list[Tensor] = []
        variances: list[Tensor] = []
        scores: list[Tensor] = []
        for iteration in range(iterations):
            if iteration:
                for i in range(in_caps):
                    densities = [
                        scores[j].sigmoid()
                        * (-((image[i, j] - centres[j]) ** 2) / (2 * variances[j])).sum().exp()
                        / variances[j].prod().sqrt()
                        for j in range(out_caps)
                    ]
                    shares[i] = [density / torch.stack(densities).sum() for density in densities]
            centres, variances, scores = [], [], []
            for j in range(out_caps):
                used = [present[i] * shares[i][j] for i in range(in_caps)]
                mass = torch.stack(used).sum() + 1e-5
                weighed = [used[i] * image[i, j] for i in range(in_caps)]
                centres.append(torch.stack(weighed).sum(dim=0) / mass)
                spread = [used[i] * (image[i, j] - centres[j]) ** 2 for i in range(in_caps)]
                variances.append(torch.stack(spread).sum(dim=0) / mass + 1e-5)
                worth = [
                    use[i, j] * used[i] - ignore[i, j] * (present[i] - used[i])
                    for i in range(in_caps)
                ]
                scores.append(torch.stack(worth).sum())
        all_centres.append(torch.stack(centres))
        all_scores.append(torch.stack(scores))
    return torch.stack(all_centres), torch.stack(all_scores)


def routed_by_functions(
    votes: Tensor, activations: Tensor, use: Tensor, ignore: Tensor, iterations: int
) -> tuple[Tensor, Tensor]:
    routed = heinsen_routing(votes, activations, iterations, use=use, ignore=ignore)
    assert routed.logits is not None
    assert_close(routed.activations, routed.logits.sigmoid())
    return routed.poses, routed.logits


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("shape", CASES)
def test_it_equals_the_released_formulae_and_so_do_its_gradients(
    shape: tuple[int, ...], iterations: int
) -> None:
    assert_alike(
        lambda *inputs: routed_by_functions(*inputs, iterations),
        lambda *inputs: route_literally(*inputs, iterations),
        some_votes(*shape),
        some_votes(*shape[:2]).sigmoid(),
        some_votes(*shape[1:3]),
        some_votes(*shape[1:3]).flip(0),
    )


def test_it_has_the_values_of_the_released_code() -> None:
    present = torch.tensor([[-1.0, 0.0, 2.0]]).double().sigmoid()
    numbers = torch.arange(6).double().reshape(3, 2)
    routed = heinsen_routing(VOTES, present, 3, use=numbers.cos(), ignore=numbers.sin())
    assert routed.logits is not None
    assert routed.couplings is not None
    assert_golden(routed.logits, -0.31098603, 0.00113986)
    shares = (0.89971058, 0.10028942, 0.12742171, 0.87257829, 0.64099207, 0.35900793)
    assert_golden(routed.couplings.values, *shares)
    first = (-0.1143464, -0.35956815, -0.2742046, 0.0632614)
    second = (0.04383909, 0.54139866, 0.5411988, 0.04342326)
    assert_golden(routed.poses, *first, *second)


def test_votes_that_are_moved_move_the_centres_in_proportion_to_their_mass() -> None:
    # the epsilon that is added to a mass draws its centre towards zero, by mass / (mass + epsilon)
    votes, present = some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid()
    routed = heinsen_routing(votes, present, epsilon=1e-12)
    moved = heinsen_routing(votes + 3, present, epsilon=1e-12)
    assert_close(moved.poses, routed.poses + 3, rtol=1e-6, atol=1e-6)
    assert_close(moved.activations, routed.activations)


def test_a_child_that_is_absent_has_no_effect() -> None:
    votes, present, worth = some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid(), some_votes(6, 3)
    present[:, 2] = 0
    others = [0, 1, 3, 4, 5]
    routed = heinsen_routing(votes, present, use=worth, ignore=-worth)
    without = heinsen_routing(
        votes[:, others], present[:, others], use=worth[others], ignore=-worth[others]
    )
    assert_close(routed.poses, without.poses)
    assert_close(routed.activations, without.activations)


def test_children_that_share_their_matrices_have_one_worth_for_each_parent() -> None:
    votes, present = some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid()
    router = HeinsenRouting().build(Fan(6, 3, 4, shared=True)).double()
    for seed, parameter in enumerate(router.parameters()):
        assert parameter.shape == (1, 3)
        parameter.data = some_votes(2, 3)[seed : seed + 1]
    use, ignore = (bias.repeat(6, 1) for bias in router.parameters())
    expected = heinsen_routing(votes, present, use=use, ignore=ignore)
    routed = router(GivenVotes(present.t(), ONE_PLACE, votes))
    assert_close(routed.logits, expected.logits)
    assert_close(routed.poses, expected.poses)


def test_a_layer_learns_both_worths_of_each_pair() -> None:
    capsules = Capsules(6, 4, 3, 5, routing="heinsen")
    router, poses = capsules.router, some_votes(2, 6, 4).float()
    assert sum(parameter.numel() for parameter in router.parameters()) == 2 * 6 * 3
    routed = capsules(poses)
    assert bool((routed.activations == 0.5).all())  # worths begin at zero
    routed.logits[:, 0].sum().backward()
    assert bool((router.use.grad[:, 0] > 0).all())
    assert bool((router.ignore.grad[:, 0] < 0).all())
