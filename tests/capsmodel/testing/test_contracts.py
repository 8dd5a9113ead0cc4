"""Every member of every family keeps its family's contract."""

import os
from functools import cache

import pytest

from capsmodel.augmentation import AUGMENTATIONS, Augmentation, Patches, Steps
from capsmodel.data import (
    DATA_SETS,
    AffineFashionMnist,
    AffineMnist,
    AffNist,
    Arrays,
    Cifar10,
    Cifar100,
    DataSet,
    FashionMnist,
    ImageFolder,
    Imagenette,
    Imagewoof,
    KMnist,
    MedMnist,
    Mnist,
    MnistOnFashion,
    MultiFashionMnist,
    MultiMnist,
    ParquetImages,
    SmallNorb,
    Svhn,
    TorchvisionData,
)
from capsmodel.evaluation import ATTACKS, EVALUATIONS, Evaluation
from capsmodel.losses import LOSSES, MARGIN_SCHEDULES, SPREAD_SCHEDULES, Loss, MarginLoss
from capsmodel.models import MODELS
from capsmodel.optimisers import LEARNING_RATE_SCHEDULES, OPTIMISERS
from capsmodel.reconstruction import RECONSTRUCTIONS
from capsmodel.routing import INITIAL_LOGITS, INVERSE_TEMPERATURES, ROUTINGS, EMRouting, Routing
from capsmodel.settings.parts import Part, kind_of
from capsmodel.squash import SQUASHES
from capsmodel.stopping import STOPPINGS
from capsmodel.testing import (
    AugmentationContract,
    DataSetContract,
    EvaluationContract,
    LossContract,
    RoutingContract,
)
from capsmodel.testing.data_contract import DataValuesContract
from capsmodel.testing.part_contract import PartContract
from capsmodel.testing.routing_contract import RoutingValuesContract
from capsmodel.training.trained import Trained
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config, small_model

FAMILIES: tuple[tuple[type[Part], ...], ...] = (
    ATTACKS,
    AUGMENTATIONS,
    DATA_SETS,
    EVALUATIONS,
    INITIAL_LOGITS,
    INVERSE_TEMPERATURES,
    LEARNING_RATE_SCHEDULES,
    LOSSES,
    MARGIN_SCHEDULES,
    MODELS,
    OPTIMISERS,
    RECONSTRUCTIONS,
    ROUTINGS,
    SPREAD_SCHEDULES,
    SQUASHES,
    STOPPINGS,
)
OTHER_PARTS = [
    part
    for family in FAMILIES
    for part in family
    if part not in (*AUGMENTATIONS, *EVALUATIONS, *LOSSES, *ROUTINGS)
]

FRACTIONS = {"digits": 0.5, "mnist": 0.02, "fashion_mnist": 0.02, "viewpoints": 0.003}
FRACTIONS |= {"multi_mnist": 0.02, "multi_fashion_mnist": 0.02}
FRACTIONS |= {"affine_mnist": 0.02, "affine_fashion_mnist": 0.02, "affine_digits": 0.5}
FRACTIONS |= {"mnist_on_fashion": 0.02}


NEED_FILES = {SmallNorb, AffNist, KMnist, Cifar10, Cifar100, Svhn}
NEED_FILES |= {ImageFolder, Arrays, TorchvisionData, MedMnist}
NEED_FILES |= {Imagenette, Imagewoof, ParquetImages}
NEED_IMAGES = {Mnist, FashionMnist, MultiMnist, MultiFashionMnist}
NEED_IMAGES |= {AffineMnist, AffineFashionMnist, MnistOnFashion}
OTHER_FILES = (FashionMnist, MultiFashionMnist, AffineMnist, AffineFashionMnist)
"""Those whose code is that of `mnist`, `multi_mnist` or `affine_digits`."""


class TestRoutings(RoutingContract):
    @pytest.fixture(params=ROUTINGS, ids=kind_of)
    def routing(self, request: pytest.FixtureRequest) -> Routing:
        return request.param()


class TestProfilesOfEMRouting(RoutingValuesContract):
    @pytest.fixture(params=["official", "normalised"])
    def routing(self, request: pytest.FixtureRequest) -> Routing:
        return EMRouting.of_profile(request.param)


class TestLosses(LossContract):
    @pytest.fixture(params=LOSSES, ids=kind_of)
    def loss(self, request: pytest.FixtureRequest) -> Loss:
        return request.param()


class TestAugmentations(AugmentationContract):
    @pytest.fixture(params=AUGMENTATIONS, ids=kind_of)
    def augmentation(self, request: pytest.FixtureRequest) -> Augmentation:
        return request.param()


class TestUnstandardisedPatches(AugmentationContract):
    @pytest.fixture
    def augmentation(self) -> Augmentation:
        return Patches(flip=True, standardise=False)


class TestSteps(AugmentationContract):
    image_shape = (3, 48, 40)

    @pytest.fixture(params=["all steps", "standardised", "middle"])
    def augmentation(self, request: pytest.FixtureRequest) -> Augmentation:
        varied = {"padding": 3, "flip": True, "rotation": 30.0, "crop": 45}
        varied |= {"shear": 0.2, "scaling": 0.5}
        colours = {"brightness": 0.5, "contrast": 0.5, "saturation": 1.0}
        settings = {
            "all steps": varied | colours,
            "standardised": varied | colours | {"mean": [0.5], "deviation": [0.2]},
            "middle": {"crop": 33, "mean": [0.1, 0.2, 0.3], "deviation": [0.1, 0.2, 0.3]},
        }
        return Steps.model_validate(settings[request.param])


class TestEvaluations(EvaluationContract):
    @pytest.fixture(
        params=[evaluation for evaluation in EVALUATIONS if "class" in evaluation.takes],
        ids=kind_of,
    )
    def evaluation(self, request: pytest.FixtureRequest) -> Evaluation:
        return request.param()


@pytest.mark.skipif("CAPSWEEP_DATA" not in os.environ, reason="it needs real images")
class TestEvaluationsOfSeveralClasses(EvaluationContract):
    @pytest.fixture(
        params=[evaluation for evaluation in EVALUATIONS if "class" not in evaluation.takes],
        ids=kind_of,
    )
    def evaluation(self, request: pytest.FixtureRequest) -> Evaluation:
        return request.param()

    @pytest.fixture
    def trained(self) -> Trained:
        return network_for_pairs()


@cache
def network_for_pairs() -> Trained:
    data = MultiMnist(fraction=0.01, halved=True, shift=2)
    model = small_model(primary_stride=4)
    return Training(small_config(data=data, model=model, loss=MarginLoss()), seed=0).trained()


class PlannedDataContract(DataValuesContract):
    def test_a_plan_knows_its_number_of_training_images(self, data: DataSet) -> None:
        declared = data.num_training_images
        assert declared is not None
        assert abs(len(data.load("cpu").train) - declared) <= data.num_classes / 2 + 1


def few_of(kind: type[DataSet]) -> DataSet:
    if kind in NEED_IMAGES and "CAPSWEEP_DATA" not in os.environ:
        pytest.skip("CAPSWEEP_DATA names no folder with real images")
    return kind(fraction=FRACTIONS[kind_of(kind)])


class TestDataSets(PlannedDataContract, DataSetContract):
    @pytest.fixture(
        scope="class",
        params=[data for data in DATA_SETS if data not in {*NEED_FILES, *OTHER_FILES}],
        ids=kind_of,
    )
    @classmethod
    def data(cls, request: pytest.FixtureRequest) -> DataSet:
        return few_of(request.param)


class TestDataSetsOfOtherFiles(PlannedDataContract):
    @pytest.fixture(scope="class", params=OTHER_FILES, ids=kind_of)
    @classmethod
    def data(cls, request: pytest.FixtureRequest) -> DataSet:
        return few_of(request.param)


LAWS_OF_PARTS = [law for name, law in vars(PartContract).items() if name.startswith("test_")]


@pytest.mark.parametrize("part", OTHER_PARTS, ids=lambda part: f"{part.family}-{kind_of(part)}")
def test_every_other_part_keeps_the_laws_of_parts(part: type[Part]) -> None:
    for law in LAWS_OF_PARTS:
        law(PartContract(), part())


def test_parts_have_laws() -> None:
    assert len(LAWS_OF_PARTS) == 6


@pytest.mark.parametrize("members", FAMILIES, ids=lambda members: members[0].family)
def test_kinds_of_a_family_are_distinct(members: tuple[type[Part], ...]) -> None:
    assert len({kind_of(member) for member in members}) == len(members)


def test_families_have_distinct_names() -> None:
    assert len({members[0].family for members in FAMILIES}) == len(FAMILIES)
