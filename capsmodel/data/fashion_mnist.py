"""Articles of clothing in the files and sizes of MNIST."""

from typing import ClassVar, Literal

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.idx import IdxImages


class FashionMnist(IdxImages):
    """70,000 grey images of ten kinds of clothing, 28 by 28 pixels: 10,000 for the test.

    Source: Xiao, Rasul and Vollgraf 2017, arXiv:1708.07747.
    Difference: a part of the 60,000 training images is held out for validation.
    """

    kind: Literal["fashion_mnist"] = "fashion_mnist"
    num_unsplit: ClassVar[int | None] = 60_000
    archives: ClassVar[Archives] = Archives(
        "FashionMNIST",
        (
            Archive("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d", 26_421_880),
            Archive("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe", 29_515),
            Archive("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79", 4_422_102),
            Archive("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310", 5_148),
        ),
    )
    class_names: ClassVar[tuple[str, ...]] = (
        "t-shirt",
        "trouser",
        "pullover",
        "dress",
        "coat",
        "sandal",
        "shirt",
        "sneaker",
        "bag",
        "ankle boot",
    )
    fingerprint: ClassVar[str] = archives.fingerprint
