"""Evaluations of a trained network after training."""

from capsmodel.evaluation.adversarial_error import AdversarialError as AdversarialError
from capsmodel.evaluation.attacks import ATTACKS as ATTACKS
from capsmodel.evaluation.attacks import BIM as BIM
from capsmodel.evaluation.attacks import FGSM as FGSM
from capsmodel.evaluation.attacks import PGD as PGD
from capsmodel.evaluation.attacks import Attack as Attack
from capsmodel.evaluation.attacks import SquareAttack as SquareAttack
from capsmodel.evaluation.base import Evaluation as Evaluation
from capsmodel.evaluation.base import Findings as Findings
from capsmodel.evaluation.base import UnsuitableNetworkError as UnsuitableNetworkError
from capsmodel.evaluation.base import beliefs_in as beliefs_in
from capsmodel.evaluation.base import checked_findings as checked_findings
from capsmodel.evaluation.base import findings_of as findings_of
from capsmodel.evaluation.base import image_errors as image_errors
from capsmodel.evaluation.capsule_activity import CapsuleActivity as CapsuleActivity
from capsmodel.evaluation.confidence import Confidence as Confidence
from capsmodel.evaluation.confusion import Confusion as Confusion
from capsmodel.evaluation.distorted_test_error import DistortedTestError as DistortedTestError
from capsmodel.evaluation.equivariance import Equivariance as Equivariance
from capsmodel.evaluation.functions import attack as attack
from capsmodel.evaluation.functions import examine as examine
from capsmodel.evaluation.overlapping_error import OverlappingError as OverlappingError
from capsmodel.evaluation.pictures import Pictures as Pictures
from capsmodel.evaluation.pictures import first_of_each_class as first_of_each_class
from capsmodel.evaluation.pictures import shares_of_children as shares_of_children
from capsmodel.evaluation.shifted_test_error import ShiftedTestError as ShiftedTestError
from capsmodel.evaluation.swapped_routing import SwappedRouting as SwappedRouting
from capsmodel.evaluation.test_error import TestError as TestError
from capsmodel.evaluation.top_k_error import TopKError as TopKError
from capsmodel.evaluation.transfer_error import TransferError as TransferError
from capsmodel.evaluation.undetected_error import UndetectedError as UndetectedError

EVALUATIONS = (
    TestError,
    ShiftedTestError,
    DistortedTestError,
    OverlappingError,
    AdversarialError,
    UndetectedError,
    TransferError,
    SwappedRouting,
    Equivariance,
    CapsuleActivity,
    Confidence,
    Confusion,
    TopKError,
    Pictures,
)
