"""Japanese cursive characters in the files and sizes of MNIST."""

from typing import ClassVar, Literal

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.idx import IdxImages


class KMnist(IdxImages):
    """70,000 grey images of ten cursive Hiragana, 28 by 28 pixels: 10,000 for the test.

    Source: Clanuwat, Bober-Irizar, Kitamoto, Lamb, Yamamoto and Ha 2018, arXiv:1812.01718.
    Difference: a part of the 60,000 training images is held out for validation.
    """

    kind: Literal["kmnist"] = "kmnist"
    num_unsplit: ClassVar[int | None] = 60_000
    archives: ClassVar[Archives] = Archives(
        "KMNIST",
        (
            Archive("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
            Archive("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
            Archive("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
            Archive("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
        ),
    )
    class_names: ClassVar[tuple[str, ...]] = (
        "o",
        "ki",
        "su",
        "tsu",
        "na",
        "ha",
        "ma",
        "ya",
        "re",
        "wo",
    )
    fingerprint: ClassVar[str] = archives.fingerprint
