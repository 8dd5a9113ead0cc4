"""Small files in the true formats of CIFAR and SVHN, offered by the mirrors of a test."""

import hashlib
import io
import tarfile
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from scipy.io import savemat

from capsmodel.data import Cifar10, Cifar100, Svhn
from capsmodel.data.archive import Archive, Archives

NUM_TRAIN, NUM_TEST = 200, 50


def pixels(number: int, seed: int) -> np.ndarray:
    """Return images: red, green and blue one after the other, each row by row."""
    return np.random.default_rng(seed).integers(0, 256, (number, 3, 32, 32), np.uint8)


def records(images: np.ndarray, labels: Sequence[np.ndarray]) -> bytes:
    """Return CIFAR's records: the labels, then the values of an image."""
    columns = [*(column[:, None] for column in labels), images.reshape(len(images), -1)]
    return np.concatenate(columns, axis=1).astype(np.uint8).tobytes()


def packed(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", compresslevel=1) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def labels(number: int, classes: int) -> np.ndarray:
    return np.arange(number) % classes


def cifar10() -> bytes:
    folder, train = "cifar-10-batches-bin", pixels(NUM_TRAIN, 0)
    files = {f"{folder}/batches.meta.txt": b"airplane\n"}
    for place, part in enumerate(np.split(np.arange(NUM_TRAIN), 5)):
        content = records(train[part], [labels(NUM_TRAIN, 10)[part]])
        files[f"{folder}/data_batch_{place + 1}.bin"] = content
    test = records(pixels(NUM_TEST, 1), [labels(NUM_TEST, 10)])
    return packed(files | {f"{folder}/test_batch.bin": test})


def cifar100() -> bytes:
    files: dict[str, bytes] = {}
    for name, number in (("train", 2 * NUM_TRAIN), ("test", 4 * NUM_TEST)):
        fine = labels(number, 100)
        content = records(pixels(number, number), [fine // 5, fine])
        files[f"cifar-100-binary/{name}.bin"] = content
    return packed(files)


def svhn(number: int, seed: int) -> bytes:
    """Return a MATLAB file whose images are height x width x colours x number, and 0 is 10."""
    out = io.BytesIO()
    classes = labels(number, 10).astype(np.uint8)[:, None]
    values = {
        "X": pixels(number, seed).transpose(2, 3, 1, 0),
        "y": np.where(classes == 0, 10, classes),
    }
    savemat(out, values, do_compression=True)
    return out.getvalue()


def archives(title: str, contents: Mapping[str, bytes]) -> Archives:
    hashes = {name: hashlib.md5(content).hexdigest() for name, content in contents.items()}
    return Archives(title, tuple(Archive(name, md5) for name, md5 in hashes.items()))


CIFAR10 = {"cifar-10-binary.tar.gz": cifar10()}
CIFAR100 = {"cifar-100-binary.tar.gz": cifar100()}
SVHN = {"train_32x32.mat": svhn(NUM_TRAIN, 0), "test_32x32.mat": svhn(NUM_TEST, 1)}


class FewOfCifar10(Cifar10):
    archives = archives("CIFAR10", CIFAR10)
    own_mirrors: ClassVar[list[str]] = []

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        return cls.own_mirrors


class FewOfCifar100(Cifar100):
    archives = archives("CIFAR100", CIFAR100)
    own_mirrors: ClassVar[list[str]] = []

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        return cls.own_mirrors


class FewOfSvhn(Svhn):
    archives = archives("SVHN", SVHN)
    own_mirrors: ClassVar[list[str]] = []

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        return cls.own_mirrors


FILES: dict[type[FewOfCifar10 | FewOfCifar100 | FewOfSvhn], dict[str, bytes]] = {
    FewOfCifar10: CIFAR10,
    FewOfCifar100: CIFAR100,
    FewOfSvhn: SVHN,
}
