"""The routings of `routings_across` on six published data sets, in the paper's network, for a GPU.

MNIST, Fashion-MNIST, KMNIST, SVHN, CIFAR-10 and smallNORB, five seeds on each, with the verdict on
other data sets like these, which six allow. The network is that of Sabour, Frosst and Hinton 2017;
smallNORB's pairs of 48 by 48 pixels go through a first convolution of step 2.

This sweep has been planned and checked, and never trained: a network of that size takes about an
hour a training on one large card, the whole about a week. Files that are missing are downloaded
before the first training; `capsweep plan` names them.
"""

from capsmodel.config import TrainingConfig
from capsmodel.data import Mnist
from capsmodel.losses import CrossEntropy
from capsmodel.models import CapsNet, ConvNet
from capsmodel.optimisers import Adam, CosineRate
from capsmodel.stopping import FixedEpochs
from search_spaces.named.routings_across import ROUTINGS
from search_spaces.plans.listed import ListedArms, MatchedArm
from search_spaces.sweep import Sweep
from search_spaces.tables import DataSetsTable

SWEEP = Sweep(
    name="routings_across_full",
    description="Routings and a CNN of equal size in the paper's network on six data sets.",
    base=TrainingConfig(
        data=Mnist(),
        model=CapsNet(),
        loss=CrossEntropy(),
        optimiser=Adam(learning_rate=1e-3, schedule=CosineRate(), warmup_steps=400),
        stopping=FixedEpochs(epochs=50),
    ),
    plan=ListedArms(
        baseline="uniform",
        arms={
            **ROUTINGS,
            "CNN of equal size": MatchedArm(
                {"model": ConvNet(conv_channels=(128, 256), conv_kernel=5, hidden=(256,))},
                matched_to="dynamic",
                width="model.hidden",
            ),
        },
    ),
    seeds=(0, 1, 2, 3, 4),
    across={
        "MNIST": {"data": "mnist"},
        "Fashion-MNIST": {"data": "fashion_mnist"},
        "KMNIST": {"data": "kmnist"},
        "SVHN": {"data": "svhn"},
        "CIFAR-10": {"data": "cifar10"},
        "smallNORB": {"data": "smallnorb", "model.conv_stride": 2},
    },
    across_table=DataSetsTable(other_data_sets=True, ranks=True),
)
