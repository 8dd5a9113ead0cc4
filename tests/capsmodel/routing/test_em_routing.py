import math

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from capsmodel.routing import (
    EMRouting,
    Fan,
    Neighbourhood,
    RisingInverseTemperature,
    Routed,
)
from tests.capsmodel.routing.em_examples import (
    ONE_PLACE,
    STRIDE_1,
    STRIDE_2,
    Layer,
    Parent,
    Procedure,
    gradients,
    results,
    route_literally,
)

SHARP = RisingInverseTemperature(final=0.3)


def assert_literal(layer: Layer, routing: EMRouting, procedure: Procedure) -> None:
    """Check values and gradients."""
    temperatures = [routing.inverse_temperature.at(i) for i in range(routing.iterations)]
    ours, literal = layer.with_gradient(), layer.with_gradient()
    routed = ours.route(routing)
    poses, activations, shares = route_literally(literal, procedure, temperatures)
    for actual, reference in zip(results(routed), (poses, activations, shares), strict=True):
        assert_close(actual, reference, rtol=1e-10, atol=1e-12)
    expected = gradients(Routed(poses, activations), literal)
    for actual, reference in zip(gradients(routed, ours), expected, strict=True):
        assert_close(actual, reference, rtol=1e-8, atol=1e-11)


def printed_logit(
    layer: Layer, mass: Tensor, variance: Tensor, parent: int, inverse_temperature: float
) -> Tensor:
    """Procedure 1: beta_a less the cost, beta_u + log sigma for each number of the pose."""
    cost = (layer.cost_bias[parent] + variance.sqrt().log()) * mass
    return inverse_temperature * (layer.activation_bias[parent] - cost.sum())


def coded_logit(
    layer: Layer, mass: Tensor, variance: Tensor, parent: int, inverse_temperature: float
) -> Tensor:
    """The authors' code, whose act_bias has the other sign."""
    constant = layer.cost_bias[parent] * len(variance) * (math.log(2 * math.pi) + 1)
    gain = mass * (-variance.log().sum() - constant)
    return inverse_temperature * (gain + 5000 * layer.activation_bias[parent])


def coded_class_logit(
    layer: Layer, mass: Tensor, variance: Tensor, parent: int, inverse_temperature: float
) -> Tensor:
    return coded_logit(layer, mass, variance, parent, inverse_temperature) / 4


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("neighbourhood", [STRIDE_1, STRIDE_2], ids=["stride 1", "stride 2"])
def test_it_equals_the_printed_procedure(neighbourhood: Neighbourhood, iterations: int) -> None:
    layer = Layer.drawn(neighbourhood, batch=1)
    for temperature in (RisingInverseTemperature(), SHARP):
        routing = EMRouting(iterations=iterations, inverse_temperature=temperature)
        assert_literal(layer, routing, Procedure(printed_logit))


def test_it_equals_the_printed_procedure_at_one_place_with_offsets() -> None:
    layer = Layer.drawn(ONE_PLACE, types=9, side=3, offset=True)
    assert_literal(layer, EMRouting(), Procedure(printed_logit))


@pytest.mark.parametrize("neighbourhood", [STRIDE_1, STRIDE_2], ids=["stride 1", "stride 2"])
def test_the_official_profile_lets_the_places_compete(neighbourhood: Neighbourhood) -> None:
    def same_type(first: Parent, second: Parent) -> bool:
        return first[1] == second[1]

    layer = Layer.drawn(neighbourhood, batch=1)._replace(activation_bias=torch.zeros(3).double())
    procedure = Procedure(
        coded_logit, same_type, floor=5e-4, momentum=0.9, starts_at_each_place=True
    )
    assert_literal(layer, EMRouting.of_profile("official"), procedure)


def test_the_official_profile_lets_the_classes_compete_at_a_quarter_of_the_temperature() -> None:
    layer = Layer.drawn(ONE_PLACE, types=9)
    procedure = Procedure(coded_class_logit, floor=5e-4, momentum=0.9)
    assert_literal(layer, EMRouting.of_profile("official"), procedure)


def test_the_normalised_profile_scales_the_mass_by_the_children_that_a_place_sees() -> None:
    def logit(
        layer: Layer, mass: Tensor, variance: Tensor, parent: int, inverse_temperature: float
    ) -> Tensor:
        scaled = mass * 100 / ((3 * 3 * 2) / 3)  # 9 places of 2 types for 3 types of parents
        return printed_logit(layer, scaled, variance, parent, inverse_temperature)

    layer = Layer.drawn(STRIDE_2, batch=1)
    assert_literal(layer, EMRouting.of_profile("normalised"), Procedure(logit, floor=1e-9))


def test_types_that_compete_at_each_place_count_a_child_at_every_place_that_sees_it() -> None:
    layer = Layer.drawn(STRIDE_1, batch=1)
    settings = EMRouting(competition="types")
    shares = results(layer.route(settings))[2]
    assert_close(shares.sum(dim=2), torch.ones_like(shares[:, :, 0]))


@pytest.mark.parametrize("iterations", [2, 3])
def test_the_last_iteration_alone_passes_gradients_on(iterations: int) -> None:
    layer = Layer.drawn(STRIDE_1, batch=1)
    routing = EMRouting(iterations=iterations, gradient="last", centre_momentum=0.9)
    procedure = Procedure(printed_logit, momentum=0.9, last_gradient=True)
    assert_literal(layer, routing, procedure)


# Pitfalls and switches.


def test_types_alone_compete_as_all_parents_do_where_no_windows_overlap() -> None:
    layer = Layer.drawn(Neighbourhood(6, 4, 2, 2))
    by_parents, by_types = (
        layer.route(EMRouting(competition=each)) for each in ("parents", "types")
    )
    assert_close(by_parents.poses, by_types.poses)
    assert_close(by_parents.activations, by_types.activations)


def test_types_alone_miss_that_places_share_a_child() -> None:
    layer = Layer.drawn(STRIDE_1)
    by_parents, by_types = (
        layer.route(EMRouting(competition=each)) for each in ("parents", "types")
    )
    assert (by_parents.poses - by_types.poses).abs().max() > 1e-2


@pytest.mark.parametrize(
    "changed",
    [
        {"class_temperature_factor": 0.25},
        {"variance_floor": 1e-2},
        {"centre_momentum": 0.9},
        {"log_variance_weight": 1.0},
        {"activation_bias_scale": 5.0},
        {"cost_bias_scale": 2.8},
        {"scale_by_children": True},
        {"iterations": 2},
        {"inverse_temperature": SHARP},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_each_setting_changes_the_activations(changed: dict[str, object]) -> None:
    layer = Layer.drawn(ONE_PLACE, types=7)
    other = layer.route(EMRouting.model_validate(changed))
    assert (layer.route(EMRouting()).activations - other.activations).abs().max() > 1e-5


@pytest.mark.parametrize(
    ("neighbourhood", "expected"), [(STRIDE_1, (1.0, 2.0)), (ONE_PLACE, (3.0, 4.0))]
)
def test_the_betas_start_where_the_settings_say(
    neighbourhood: Neighbourhood, expected: tuple[float, float]
) -> None:
    routing = EMRouting(
        initial_activation_bias=1.0,
        initial_cost_bias=2.0,
        class_activation_bias=3.0,
        class_cost_bias=4.0,
    )
    router = routing.build(Fan(18, 5, 16, neighbourhood))
    router.initialise(torch.Generator())
    assert [parameter.tolist() for parameter in router.parameters()] == [
        [value] * 5 for value in expected
    ]


def test_the_couplings_keep_no_graph() -> None:
    layer = Layer.drawn(STRIDE_1).with_gradient()
    assert not results(layer.route(EMRouting()))[2].requires_grad


@pytest.mark.parametrize(
    "refused",
    [{"iterations": 0}, {"variance_floor": -1e-9}, {"centre_momentum": 0}, {"competition": "all"}],
    ids=lambda refused: next(iter(refused)),
)
def test_what_makes_no_sense_is_refused(refused: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        EMRouting.model_validate(refused)


def test_a_profile_sets_whatever_another_one_sets() -> None:
    official, normalised = (EMRouting.profiles[name] for name in ("official", "normalised"))
    assert set(official) == set(normalised) == set(EMRouting.profiles["paper"])
    assert EMRouting.of_profile("paper") == EMRouting()
