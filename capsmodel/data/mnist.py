"""MNIST, the handwritten digits of the first capsule network."""

from typing import ClassVar, Literal

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.idx import IdxImages


class Mnist(IdxImages):
    """70,000 grey images of handwritten digits, 28 by 28 pixels: 10,000 for the test.

    Source: LeCun, Bottou, Bengio and Haffner 1998, Gradient-based learning applied to document
    recognition, Proceedings of the IEEE 86(11).
    Difference: a part of the 60,000 training images is held out for validation.
    """

    kind: Literal["mnist"] = "mnist"
    num_unsplit: ClassVar[int | None] = 60_000
    archives: ClassVar[Archives] = Archives(
        "MNIST",
        (
            Archive("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873", 9_912_422),
            Archive("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28_881),
            Archive("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3", 1_648_877),
            Archive("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4_542),
        ),
    )
    fingerprint: ClassVar[str] = archives.fingerprint
