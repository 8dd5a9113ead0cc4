"""Data sets, each with a test split that never changes and a validation split of its own seed."""

from capsmodel.data.affine import AffineDataSet as AffineDataSet
from capsmodel.data.affine import AffineDigits as AffineDigits
from capsmodel.data.affine import AffineFashionMnist as AffineFashionMnist
from capsmodel.data.affine import AffineMnist as AffineMnist
from capsmodel.data.affnist import AffNist as AffNist
from capsmodel.data.archive import data_root as data_root
from capsmodel.data.arrays import Arrays as Arrays
from capsmodel.data.base import DataSet as DataSet
from capsmodel.data.base import DataSplits as DataSplits
from capsmodel.data.base import Images as Images
from capsmodel.data.base import SplitIndices as SplitIndices
from capsmodel.data.checks import DataFacts as DataFacts
from capsmodel.data.checks import facts_of as facts_of
from capsmodel.data.checks import load_checked as load_checked
from capsmodel.data.checks import near_duplicate_notes as near_duplicate_notes
from capsmodel.data.checks import num_images as num_images
from capsmodel.data.cifar import Cifar10 as Cifar10
from capsmodel.data.cifar import Cifar100 as Cifar100
from capsmodel.data.digits import Digits as Digits
from capsmodel.data.fashion_mnist import FashionMnist as FashionMnist
from capsmodel.data.image_folder import ImageFolder as ImageFolder
from capsmodel.data.imagenette import Imagenette as Imagenette
from capsmodel.data.imagenette import Imagewoof as Imagewoof
from capsmodel.data.kmnist import KMnist as KMnist
from capsmodel.data.medmnist import MedMnist as MedMnist
from capsmodel.data.mnist import Mnist as Mnist
from capsmodel.data.mnist_on_fashion import MnistOnFashion as MnistOnFashion
from capsmodel.data.multi_mnist import MultiFashionMnist as MultiFashionMnist
from capsmodel.data.multi_mnist import MultiMnist as MultiMnist
from capsmodel.data.near_duplicates import NearDuplicates as NearDuplicates
from capsmodel.data.near_duplicates import near_duplicates as near_duplicates
from capsmodel.data.parquet_images import ParquetImages as ParquetImages
from capsmodel.data.repeated_load import check_repeatable as check_repeatable
from capsmodel.data.smallnorb import SmallNorb as SmallNorb
from capsmodel.data.svhn import Svhn as Svhn
from capsmodel.data.torchvision_data import TorchvisionData as TorchvisionData
from capsmodel.data.viewed_objects import ViewedObjects as ViewedObjects
from capsmodel.data.viewed_objects import Views as Views
from capsmodel.data.viewpoints import Viewpoints as Viewpoints

DATA_SETS = (
    Digits,
    Mnist,
    FashionMnist,
    KMnist,
    Cifar10,
    Cifar100,
    Svhn,
    MedMnist,
    Imagenette,
    Imagewoof,
    SmallNorb,
    Viewpoints,
    MultiMnist,
    MultiFashionMnist,
    AffNist,
    AffineMnist,
    AffineFashionMnist,
    AffineDigits,
    MnistOnFashion,
    ImageFolder,
    Arrays,
    TorchvisionData,
    ParquetImages,
)
