"""Data sets, each with a test split that never changes and a validation split of its own seed."""

from capsmodel.data.base import DataSet as DataSet
from capsmodel.data.base import DataSplits as DataSplits
from capsmodel.data.base import Images as Images
from capsmodel.data.digits import Digits as Digits

DATA_SETS = (Digits,)
