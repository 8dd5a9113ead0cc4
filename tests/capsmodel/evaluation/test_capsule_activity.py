"""Figures of capsules and their shares: by hand, by laws, and of networks."""

import itertools
import math
from collections import defaultdict
from typing import Any

import pytest
import torch
from torch import Tensor

from capsmodel import Trained, Training
from capsmodel.evaluation import CapsuleActivity, Findings, findings_of
from capsmodel.evaluation.capsule_activity import (
    draw_for,
    gradient_norms,
    is_starving,
    with_random_routing,
)
from capsmodel.evaluation.layer_activity import LayerActivity, Moved
from capsmodel.functional import Neighbourhood
from capsmodel.losses import CrossEntropy
from capsmodel.models import ConvNet, MatrixCapsNet, Model
from capsmodel.reconstruction import NoReconstruction
from capsmodel.routing import (
    Couplings,
    DynamicRouting,
    EMRouting,
    LeakyRouting,
    RandomRouting,
    Routing,
    UniformRouting,
)
from tests.capsmodel.small_config import small_config, small_model


def fully_connected(lengths: list[list[float]], couplings: list[list[list[float]]]) -> Moved:
    """Return children by image, each with its couplings to all parents."""
    values = torch.tensor(couplings).transpose(0, 1)
    return Moved(torch.tensor(lengths).t(), Couplings(values, Neighbourhood()))


def test_figures_of_couplings_by_hand() -> None:
    """Two children, two parents, three images; the second child is active in two of them."""
    activity = LayerActivity()
    lengths = [[0.5, 0.05], [0.5, 0.2], [0.9, 0.3]]
    couplings = [[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.4]], [[1.0, 0.0], [0.9, 0.1]]]
    activity.add([fully_connected(lengths, couplings)] * 2)
    by_image = activity.by_image()
    torch.testing.assert_close(by_image["active"], torch.tensor([0.5, 1, 1]).double())
    torch.testing.assert_close(by_image["single_parent"], torch.ones(3).double())
    bits = [-(p * math.log2(p) + (1 - p) * math.log2(1 - p)) for p in (0.2, 0.9)]
    expected = torch.tensor([1, 1 - bits[0] / 2, 1 - bits[1] / 2]).double()
    torch.testing.assert_close(by_image["polarisation"], expected, rtol=1e-6, atol=1e-6)
    # the shares of the second child are .2 and .9 where it is active, those of the first are 1
    assert activity.dynamics() == pytest.approx((0 + 0 + 0.35 + 0.35) / 4)
    assert [activity.share_dead(at) for at in (0.1, 0.4, 1.0)] == [0, 0.5, 1]
    assert activity.length_spread() == 0


def test_lengths_that_change_as_much_by_shifts_as_between_images_have_a_spread_of_one() -> None:
    unshifted, shifted = ([[0.2], [0.4]], [[0.4], [0.2]])
    activity = LayerActivity()
    activity.add([fully_connected(lengths, [[[1.0, 0.0]]] * 2) for lengths in (unshifted, shifted)])
    assert activity.length_spread() == pytest.approx(1)


def literal(activations: Tensor, values: Tensor, around: Neighbourhood) -> dict[str, float]:
    """Return the figures by loops over children, each found by the places that see it."""
    edges, sites, _ = values.shape
    types, places = edges // around.window_size, around.num_places
    shares: dict[tuple[int, ...], list[float]] = defaultdict(list)
    lengths: dict[tuple[int, ...], float] = {}
    for edge, site in itertools.product(range(edges), range(sites)):
        (window, kind), (image, place) = divmod(edge, types), divmod(site, places)
        row = place // around.out_width * around.stride + window // around.kernel_size
        column = place % around.out_width * around.stride + window % around.kernel_size
        child = (image, row, column, kind)
        shares[child] += values[edge, site].tolist()
        lengths[child] = float(activations[edge, site])
    images = sites // places
    where = sorted({child[1:] for child in lengths})
    scaled = {child: [c / sum(each) for c in each] for child, each in shares.items()}
    active = {child for child in lengths if lengths[child] >= 0.1}
    by_image: dict[str, list[float]] = defaultdict(list)
    for image in range(images):
        mine = [child for child in active if child[0] == image]
        by_image["active"].append(len(mine) / len(where))
        singles = [any(c >= 0.5 for c in scaled[child]) for child in mine]
        by_image["single_parent"].append(sum(singles) / len(mine))
        entropies = [-sum(c * math.log(c) for c in scaled[child] if c) for child in mine]
        numbers = [len(scaled[child]) for child in mine]
        polarised = [1 - h / math.log(n) for h, n in zip(entropies, numbers, strict=True)]
        by_image["polarisation"].append(sum(polarised) / len(mine))
    deviations: list[float] = []
    for place in where:
        rows = [scaled[i, *place] for i in range(images) if (i, *place) in active]
        if len(rows) >= 2:
            deviations += torch.tensor(rows).double().std(dim=0, correction=0).tolist()
    largest = [max(lengths[i, *place] for i in range(images)) for place in where]
    return {
        **{name: sum(each) / images for name, each in by_image.items()},
        "dynamics": sum(deviations) / len(deviations),
        "dead": sum(length < 0.1 for length in largest) / len(where),
    }


@pytest.mark.parametrize(
    "around",
    [Neighbourhood(3, 4, 2, 1), Neighbourhood(5, 4, 2, 2), Neighbourhood(3, 3, 3, 1)],
    ids=["overlapping", "apart", "one-place"],
)
def test_figures_are_those_of_the_definitions(around: Neighbourhood) -> None:
    generator = torch.Generator().manual_seed(0)
    types, images, out_caps = 2, 6, 3
    rows, columns = around.height, around.width
    grid = torch.rand(images, rows * columns, types, 1, generator=generator) ** 4
    activations = around.edges(grid).squeeze(2)
    values = torch.rand(*activations.shape, out_caps, generator=generator) ** 6
    activity = LayerActivity()
    per_batch = 3 * around.num_places
    for batch in range(2):
        some = slice(batch * per_batch, (batch + 1) * per_batch)
        moved = Moved(activations[:, some], Couplings(values[:, some], around))
        activity.add([moved, moved])
    figures = {name: row.mean().item() for name, row in activity.by_image().items()}
    figures |= {"dynamics": activity.dynamics(), "dead": activity.share_dead(0.1)}
    assert figures == pytest.approx(literal(activations, values, around), rel=1e-5, abs=1e-6)
    assert 0 < figures["single_parent"] < 1


def test_one_parent_by_chance_has_the_largest_dynamics_and_full_polarisation() -> None:
    parents = torch.eye(10).repeat(3, 1).unsqueeze(0)
    activity = LayerActivity()
    activity.add([Moved(torch.ones(1, 30), Couplings(parents, Neighbourhood()))])
    assert activity.dynamics() == pytest.approx(0.3)
    assert activity.by_image()["polarisation"].tolist() == pytest.approx([1.0] * 30)
    assert activity.by_image()["single_parent"].tolist() == [1.0] * 30


def trained(model: Model, epochs: int = 0, **changes: Any) -> Trained:
    training = Training(small_config(model=model, **changes), seed=0)
    for _, _ in zip(range(epochs), training, strict=False):
        pass
    return training.trained()


def matrix(routing: Routing) -> MatrixCapsNet:
    return MatrixCapsNet(
        conv_channels=8,
        conv_stride=1,
        conv_kernel=3,
        primary_types=2,
        first_types=3,
        first_stride=1,
        second_types=4,
        pose_size=4,
        routing=routing,
        reconstruction=NoReconstruction(),
    )


def found_in(network: Trained, **settings: Any) -> Findings:
    evaluation = CapsuleActivity.model_validate({"num_images": 12} | settings)
    return findings_of(evaluation, network, network.config.data.load("cpu"))


@pytest.mark.parametrize(
    "model",
    [
        small_model(routing=UniformRouting(bias=True)),
        small_model(routing=RandomRouting()),
        matrix(UniformRouting()),
        small_model(routing=DynamicRouting(iterations=1)),
    ],
    ids=["uniform", "random", "matrix-uniform", "one-iteration"],
)
def test_couplings_that_are_alike_for_all_images_have_no_dynamics(model: Model) -> None:
    metrics = found_in(trained(model, epochs=1)).metrics
    assert metrics["dynamics"] == pytest.approx(0, abs=1e-7)
    assert metrics["polarisation"] == pytest.approx(0, abs=0.02)
    assert metrics["random_routing_dynamics"] > 0.01


@pytest.mark.parametrize(
    "routing", [EMRouting(), DynamicRouting(), LeakyRouting()], ids=["em", "dynamic", "leaky"]
)
def test_random_routing_has_the_figures_of_uniform_draws(routing: Routing) -> None:
    """Of J = 10 parents a uniform draw has this deviation, and the entropy 1/2 + ... + 1/10."""
    network = trained(small_model(routing=routing))
    metrics = found_in(network, num_images=40).metrics
    entropy = sum(1 / k for k in range(2, 11))
    deviation, polarisation = math.sqrt(9 / 1100), 1 - entropy / math.log(10)
    assert metrics["random_routing_dynamics"] == pytest.approx(deviation, rel=0.05)
    assert metrics["random_routing_polarisation"] == pytest.approx(polarisation, rel=0.05)


def test_random_routing_draws_by_the_image_not_by_its_batch() -> None:
    network = trained(small_model())
    data = network.config.data.load("cpu")
    few, more = (
        CapsuleActivity(num_images=n).evaluate(network, data).images["random_routing_polarisation"]
        for n in (10, 70)
    )
    assert torch.equal(few, more[:10])


@pytest.mark.parametrize(
    ("layer", "routing"),
    [("primary", DynamicRouting()), ("first", EMRouting()), ("second", DynamicRouting())],
    ids=["primary-dynamic", "first-em", "second-dynamic"],
)
def test_every_layer_below_the_classes_has_its_figures(layer: str, routing: Routing) -> None:
    network = trained(matrix(routing))
    evaluation = CapsuleActivity(layer=layer, num_images=10)
    findings = findings_of(evaluation, network, network.config.data.load("cpu"))
    assert [*findings.metrics] == [metric.name for metric in evaluation.metrics]
    types = {"primary": 2, "first": 3, "second": 4}[layer]
    assert len(gradient_norms(network, layer, network.config.data.load("cpu").test.take(slice(2))))
    assert (types * findings.metrics["starving"]) % 1 == pytest.approx(0, abs=1e-9)


def test_the_gradient_of_each_type_is_that_of_its_weights() -> None:
    """Of a second type whose votes are all zero no weight has a gradient."""
    network = trained(small_model(), loss=CrossEntropy())
    with torch.no_grad():
        children = network.network.get_submodule("capsules").get_parameter("weight")
        children[len(children) // 2 :] = 0
    split = network.config.data.load("cpu").test.take(slice(4))
    norms = gradient_norms(network, "primary", split)
    assert norms[0] > 0
    assert norms[1] == 0
    convolution = network.network.get_submodule("primary.convolution")
    expected = 0.0
    for index in range(4):
        image = split.take(slice(index, index + 1))
        network.network.zero_grad()
        loss = network.config.loss.judge(network.outputs(image.images), image.labels, 1.0)
        loss.backward()
        both = [parameter.grad for parameter in convolution.parameters()]
        expected += (
            math.sqrt(
                sum(float(gradient.square().sum()) for gradient in both if gradient is not None)
            )
            / 4
        )
    assert norms[0].item() == pytest.approx(expected)


def test_each_capsule_of_a_hidden_layer_is_a_type_with_its_own_gradient() -> None:
    network = trained(small_model(hidden_capsules=(5, 4), hidden_dim=6), loss=CrossEntropy())
    metrics = found_in(network, layer="hidden.layers.1").metrics
    assert (4 * metrics["starving"]) % 1 == pytest.approx(0, abs=1e-9)
    split = network.config.data.load("cpu").test.take(slice(1))
    norms = gradient_norms(network, "hidden.layers.0", split)
    loss = network.config.loss.judge(network.outputs(split.images), split.labels, 1.0)
    loss.backward()
    gradient = network.network.get_parameter("hidden.layers.0.weight").grad
    assert gradient is not None
    assert norms.tolist() == pytest.approx(
        [float(gradient[:, :, 6 * capsule : 6 * capsule + 6].norm()) for capsule in range(5)]
    )


def test_a_type_starves_far_below_the_median_gradient() -> None:
    norms = torch.tensor([1.0, 2.0, 3.0, 0.0019, 0.0021, 4.0, 2.0])
    assert is_starving(norms).tolist() == [False, False, False, True, False, False, False]
    assert not is_starving(torch.zeros(3)).any()


def test_a_type_that_is_dead_from_the_start_does_not_starve() -> None:
    network = trained(small_model(primary_types=3), epochs=1)
    with torch.no_grad():
        convolution: Any = network.network.get_submodule("primary.convolution")
        convolution.weight[:4] = convolution.bias[:4] = 0
    assert found_in(network).metrics["starving"] == pytest.approx(1 / 3)
    assert found_in(network).metrics["dead.threshold_0.001"] == pytest.approx(1 / 3)
    small = trained(small_model(primary_types=3, routing=UniformRouting()))
    assert found_in(small).metrics["untrained_starving"] == 0


def test_an_untrained_network_has_the_figures_of_its_beginning() -> None:
    metrics = found_in(trained(small_model())).metrics
    for name in ("active", "dynamics", "polarisation", "starving", "length_spread"):
        assert metrics[name] == metrics[f"untrained_{name}"]
    begun, ended = (trained(small_model(), epochs=n) for n in (0, 3))
    images = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    assert torch.equal(
        ended.as_initialised().predict(images).lengths, begun.predict(images).lengths
    )


@pytest.mark.parametrize(
    "routing", [LeakyRouting(), DynamicRouting(competition="types")], ids=["leaky", "types"]
)
def test_by_chance_a_child_gives_away_as_much_as_before(routing: Routing) -> None:
    network = trained(matrix(routing))
    images = network.config.data.load("cpu").test.take(slice(4)).images
    before = network.inspect(images).outputs.couplings["first"]
    drawing = with_random_routing(network)
    draw_for(drawing.network, range(4))
    after = drawing.inspect(images).outputs.couplings["first"]
    sums, drawn_sums = (
        layer.neighbourhood.sum_over_parents(layer.values.sum(dim=2)) for layer in (before, after)
    )
    torch.testing.assert_close(sums, drawn_sums)
    assert not torch.allclose(before.values, after.values)


def test_layers_without_an_active_capsule_say_so() -> None:
    network = trained(small_model())
    with torch.no_grad():
        convolution: Any = network.network.get_submodule("primary.convolution")
        convolution.weight.mul_(1e-3)
    findings = found_in(network)
    assert findings.metrics["dead.threshold_0.1"] == 1
    assert findings.metrics["dynamics"] == findings.metrics["single_parent"] == 0
    assert findings.left_out[0] == (
        "As trained, no capsule of the layer is active in 12 of 12 images, whose polarisation and "
        "single parents count as 0."
    )


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            ConvNet(conv_channels=(4,), conv_kernel=3, hidden=(8,)),
            "capsule_activity is for capsules under the routings dynamic, leaky, uniform, random",
        ),
        (
            small_model(),
            "capsule_activity looks at the layer 'second', got the model 'capsnet', whose layers "
            "of capsules below the classes are: primary.",
        ),
        (
            matrix(EMRouting()).model_copy(update={"second_types": 0}),
            "capsule_activity looks at the layer 'second', got the model 'matrix_capsnet', whose "
            "layers of capsules below the classes are: primary, first.",
        ),
    ],
    ids=["cnn", "capsnet", "matrix"],
)
def test_a_network_without_the_layer_has_no_figures_but_a_reason(model: Any, reason: str) -> None:
    findings = found_in(trained(model), layer="second")
    assert not findings.metrics
    (sentence,) = findings.left_out
    assert sentence.startswith(reason)
