"""Is self-routing better than dynamic or EM routing in one ResNet-20? On CIFAR-10, for GPUs.

The network of the self-routing paper with its own routing, with dynamic and with EM routing, with
equal shares, and with pooling in the place of capsules.

Source: Hahn, Pyeon and Kim 2019, "Self-routing capsule networks", section 4, and the released code.
Difference: the rate falls along a cosine, where the code divides it by 10 after 150 and 250 of 350
epochs; all arms are trained by the cross-entropy of their own beliefs; an eighth of the training
images is held out for validation. The arms are not of one size, as in the paper: dynamic routing
has six times the parameters of self-routing, as `plan` shows. `six_routings` matches sizes.

For a first look: `--epochs 2 --seeds 0 --set data.fraction=0.02`.
"""

from capsmodel.augmentation import Steps
from capsmodel.config import TrainingConfig
from capsmodel.data import Cifar10
from capsmodel.losses import CrossEntropy
from capsmodel.models import SelfRoutingNet
from capsmodel.optimisers import SGD, CosineRate
from capsmodel.stopping import FixedEpochs
from search_spaces.plans.listed import ListedArms
from search_spaces.sweep import Sweep
from search_spaces.tables import AblationTable, CurvesFigure, PublishedRow, PublishedTable

SWEEP = Sweep(
    name="self_routing",
    description="Self-routing, dynamic and EM routing and pooling in a ResNet-20, on CIFAR-10.",
    base=TrainingConfig(
        data=Cifar10(),
        augmentation=Steps.of_profile("cifar10"),
        model=SelfRoutingNet(),
        loss=CrossEntropy(),
        optimiser=SGD(learning_rate=0.1, momentum=0.9, weight_decay=1e-4, schedule=CosineRate()),
        stopping=FixedEpochs(epochs=350),
        batch_size=64,
    ),
    plan=ListedArms(
        baseline="self-routing",
        arms={
            "self-routing": {},
            "dynamic": {"model.routing": "dynamic"},
            "EM": {"model.routing": "em", "model.pose_kind": "matrix"},
            "uniform": {"model.routing": "uniform"},
            "average pooling": {"model.head": "average"},
            "max pooling": {"model.head": "max"},
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    tables=(
        PublishedTable(
            name="cifar10",
            title="Hahn, Pyeon and Kim 2019, test error on CIFAR-10",
            headings=("Network", "Routing"),
            rows=(
                PublishedRow(
                    labels=("ResNet-20", "self-routing"),
                    arm="self-routing",
                    published=7.86,
                    trust="printed in the paper",
                ),
            ),
            published_data="CIFAR-10",
        ),
        AblationTable(),
        CurvesFigure(),
    ),
)
