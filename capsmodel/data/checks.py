"""Checks of loaded data, the same for every data set, and the fingerprint of a user's own."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from capsmodel.data.base import WHITE, DataSet, DataSplits, Images, train_share
from capsmodel.data.label_pixels import label_pixels
from capsmodel.data.near_duplicates import NearDuplicates
from capsmodel.data.unlike_pixels import unlike_pixels
from capsmodel.metrics import percent
from capsmodel.settings.parts import is_built_in

_MAIN = ("training", "validation", "test")
_MOST_SHARED = 0.001  # of the smaller of two splits
_NEARLY_BLACK = 0.25  # of white, for the brightest pixel of all: fewer than 7 bits of 8
_NUM_NAMED = 3  # pairs of images
_OBJECT_TYPES = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


@dataclass(frozen=True)
class DataFacts:
    """Facts of loaded data that belong in a report.

    Attributes:
        num_images: Split -> number of its images; extra tests by their names.
        notes: Anything unusual that is allowed, a sentence each.
        fingerprint: Hash of all images, labels and objects, split by split; of the data sets of
            this library the declared one.
    """

    num_images: Mapping[str, int]
    notes: tuple[str, ...]
    fingerprint: str


def load_checked(data: DataSet, device: str | torch.device) -> DataSplits:
    """Return the splits of a data set on a device, checked and with labels as 64-bit integers.

    The data sets of this library prove by their fingerprints that they are as published, so of
    them only the labels are checked.

    Raises:
        ValueError: As in `DataSet.load`; or if the splits are not what the data set declares. It
            names the split, the first image at fault, what was given and what is allowed.
    """
    if not data.is_of_user:
        return _with_checked_labels(data, data.load(device))
    check_declared(data)
    splits = _loaded(data, device)
    _check_types(data, splits)
    _check_number_of_classes(data, splits)
    splits = _with_checked_labels(data, splits)
    for name, images in _named(splits):
        _check_pixels(_place(data, name), images.images)
    _check_training_classes(data, splits)
    return splits


def _loaded(data: DataSet, device: str | torch.device) -> DataSplits:
    """Load a data set, with the share of the training images that its settings ask for.

    A user's class need not look at `train_fraction`, so its training images are cut here.
    """
    if data.train_fraction == 1 or is_built_in(type(data)):
        return data.load(device)
    uncut: Any = data.model_copy(update={"train_fraction": 1.0}).load(device)
    train = getattr(uncut, "train", None)
    if isinstance(train, Images) and type(train) is not Images:  # made anew in each epoch
        cut = data.load(device)
        if len(cut.train) < len(train):
            return cut
        raise ValueError(
            f"The data '{data.kind}' do not look at train_fraction where they make their training "
            f"images: let load() do so, or leave it at 1."
        )
    _check_types(data, uncut)
    return _with_train_share(data, _with_checked_labels(data, uncut))


def _with_train_share(data: DataSet, splits: DataSplits) -> DataSplits:
    train = splits.train
    if train.labels.is_meta:
        return splits
    if train.labels.ndim != 1:
        raise ValueError(
            f"The data '{data.kind}' have several classes an image, so that no share of each can "
            f"be taken: leave train_fraction at 1."
        )
    labels = train.labels.tolist()
    chosen = train_share(
        [*range(len(labels))], labels, data.train_fraction, f"{data.kind}/fraction"
    )
    cut = Images(
        images=train.images[chosen],
        labels=train.labels[chosen],
        objects=None if train.objects is None else train.objects[chosen],
        parts=None if train.parts is None else train.parts[chosen],
        files=tuple(train.files[index] for index in chosen) if train.files else (),
    )
    return replace(splits, train=cut)


def facts_of(data: DataSet, splits: DataSplits) -> DataFacts:
    """Return the facts of the loaded splits. Every image of a user's data set is hashed.

    Raises:
        ValueError: If two splits share more images than chance explains, and the data set does not
            declare `shared_images`.
    """
    counts = num_images(splits)
    if not data.is_of_user:
        return DataFacts(counts, notes=(), fingerprint=data.fingerprint)
    digests = {name: _digests(images) for name, images in _named(splits)}
    notes = [
        *data.notes_on_files(),
        *_channels_perhaps_last(data),
        *_constant_channels(data, splits.train),
        *_nearly_black(data, splits),
        *_label_pixels(data, splits.train),
        *_missing_classes(data, splits),
        *_single_images(data, splits),
        *_unlike_pixels(data, splits),
        *_several_labels(data, splits, digests),
        *_blank_images(data, splits, digests),
        *_shared_objects(data, splits),
        *_shared_images(data, digests),
    ]
    return DataFacts(counts, tuple(notes), _fingerprint(splits, digests))


def num_images(splits: DataSplits) -> dict[str, int]:
    """Return split -> number of its images; extra tests by their names."""
    return {name: len(images) for name, images in _named(splits)}


def _named(splits: DataSplits) -> Iterator[tuple[str, Images]]:
    yield from zip(_MAIN, (splits.train, splits.validation, splits.test), strict=True)
    yield from splits.extra_tests.items()


def _place(data: DataSet, split: str) -> str:
    place = f"the {split} split" if split in _MAIN else f"the extra test '{split}'"
    return f"{place} of data '{data.kind}'"


# Declarations, types and shapes.


def check_declared(data: DataSet) -> None:
    """Check what a user's class declares, which is known without loading.

    Raises:
        ValueError: If it declares a fingerprint, or an image_shape, num_classes or class_names that
            are none.
    """
    ancestors = [base for base in type(data).__mro__ if issubclass(base, DataSet)]
    if any("fingerprint" in vars(ancestor) for ancestor in ancestors if not is_built_in(ancestor)):
        raise ValueError(
            f"The data '{data.kind}' declare a fingerprint, which is now computed from the images "
            f"that load() returns: delete it."
        )
    shifted: Any = getattr(data, "shifted_test", None)
    if shifted not in (True, False, None):
        raise ValueError(
            f"shifted_test of data '{data.kind}' must be True, False or None, got {shifted!r}."
        )
    shape: Any = getattr(data, "image_shape", None)  # a user's class may lack it
    sizes = list(shape) if isinstance(shape, tuple) else []
    if [type(size) for size in sizes] != [int] * 3 or min(sizes) < 1:
        raise ValueError(
            f"image_shape of data '{data.kind}' must be channels, height and width, a tuple of "
            f"three whole numbers from 1, got {shape!r}."
        )
    if _may_end_in_channels(data.image_shape) and shape[0] == shape[1]:
        raise ValueError(
            f"image_shape of data '{data.kind}' must be channels, height and width, got {shape}, "
            f"which has the channels last: declare {(shape[2], *shape[:2])}, and hand "
            f"images.permute(0, 3, 1, 2)."
        )
    classes: Any = getattr(data, "num_classes", None)
    if type(classes) is not int or classes < 2:
        raise ValueError(
            f"num_classes of data '{data.kind}' must be a whole number from 2, got {classes!r}."
        )
    names: Any = data.class_names
    are_texts = isinstance(names, tuple) and all(isinstance(name, str) for name in cast(Any, names))
    if names != () and not (are_texts and len(set(names)) == len(names) == classes):
        raise ValueError(
            f"class_names of data '{data.kind}' must be a tuple of {classes} different texts, one "
            f"for each class, or (), got {names!r:.200}."
        )


def _may_end_in_channels(shape: tuple[int, int, int]) -> bool:
    """Return whether a shape is that of grey or colour images with their channels last."""
    return shape[2] in {1, 3, 4} and min(shape[:2]) > 4


def _check_types(data: DataSet, splits: Any) -> None:
    if not isinstance(splits, DataSplits):
        raise ValueError(
            f"load() of data '{data.kind}' must return DataSplits, got {_type(splits)}: return "
            f"DataSplits(train=..., validation=..., test=...)."
        )
    extra: Any = splits.extra_tests
    if not isinstance(extra, Mapping):
        raise ValueError(
            f"extra_tests of data '{data.kind}' must map names to Images, got {_type(extra)}."
        )
    if taken := [name for name in _MAIN if name in extra]:
        raise ValueError(
            f"An extra test of data '{data.kind}' cannot be called '{taken[0]}', the name of a "
            f"split: choose another name."
        )
    for name, images in _named(splits):
        _check_split(data, _place(data, name), images)


def _check_split(data: DataSet, place: str, split: Any) -> None:
    if not isinstance(split, Images):
        raise ValueError(f"{_sentence(place)} must be Images, got {_type(split)}.")
    tensors: dict[str, Any] = {"images": split.images, "labels": split.labels}
    tensors |= {"objects": split.objects} if split.objects is not None else {}
    tensors |= {"parts": split.parts} if split.parts is not None else {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                f"The {name} of {place} must be a tensor, got {_type(tensor)}: hand "
                f"torch.as_tensor(...)."
            )
    # Those that are made when they are taken are stored in another shape.
    images = split.images if type(split) is Images else split.take(slice(1)).images
    _check_images_as_declared(data, place, images)
    for name, tensor in tensors.items():
        if tensor.ndim > 0 and len(tensor) != len(split.images):
            raise ValueError(
                f"There are {len(split.images)} images, but {len(tensor)} {name} in {place}: hand "
                f"one for each image."
            )
    _check_parts(data, place, split.parts)
    _check_files(place, split.files, len(split.images))
    objects = split.objects
    if objects is not None and (objects.ndim != 1 or objects.dtype not in _OBJECT_TYPES):
        raise ValueError(
            f"The objects of {place} must be one whole number an image, got {_dtype(objects)} of "
            f"shape {list(objects.shape)}."
        )


def _check_parts(data: DataSet, place: str, parts: Any) -> None:
    if parts is not None and (parts.ndim != 5 or tuple(parts.shape[2:]) != data.image_shape):
        expected = ", ".join(map(str, data.image_shape))
        raise ValueError(
            f"The parts of {place} must be of shape [images, classes of an image, {expected}], got "
            f"{list(parts.shape)}."
        )


def _check_files(place: str, files: Any, num_images: int) -> None:
    is_known = isinstance(files, tuple) and all(type(file) is str for file in cast(Any, files))
    if not is_known or len(files) not in {0, num_images}:
        raise ValueError(
            f"The files of {place} must be a tuple of {num_images} texts, one for each image, or "
            f"(), got {files!r:.80}."
        )


def _check_images_as_declared(data: DataSet, place: str, images: Tensor) -> None:
    if images.dtype not in {torch.float32, torch.uint8}:
        is_float = images.dtype.is_floating_point
        remedy = "hand images.float()" if is_float else "hand uint8, or float32 in [0, 1]"
        raise ValueError(
            f"The images of {place} must be float32 in [0, 1] or uint8, got {_dtype(images)}: "
            f"{remedy}."
        )
    if images.ndim != 4 or tuple(images.shape[1:]) != data.image_shape:
        expected = ", ".join(map(str, data.image_shape))
        raise ValueError(
            f"The images of {place} must be of shape [images, {expected}], as image_shape "
            f"declares, got {list(images.shape)}: correct the one or the other."
        )
    if len(images) == 0:
        raise ValueError(f"There is no image in {place}: each split needs at least one.")


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


def _type(value: object) -> str:
    return type(value).__name__


def _dtype(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


# Values.


def _with_checked_labels(data: DataSet, splits: DataSplits) -> DataSplits:
    checked = {name: _checked_labels(data, name, images) for name, images in _named(splits)}
    return replace(
        splits,
        train=checked["training"],
        validation=checked["validation"],
        test=checked["test"],
        extra_tests={name: checked[name] for name in splits.extra_tests},
    )


def _checked_labels(data: DataSet, split: str, images: Images) -> Images:
    labels = data.task.checked(images.labels, data.num_classes, _place(data, split))
    return replace(images, labels=labels)


def _check_pixels(place: str, images: Tensor) -> None:
    if images.is_meta or images.dtype == torch.uint8:
        return
    smallest, largest = (extreme.item() for extreme in images.aminmax())
    if smallest >= 0 and largest <= 1:  # neither holds if a pixel is NaN
        return
    where = (~((images >= 0) & (images <= 1))).nonzero()[0].tolist()
    value = images[tuple(where)].item()
    remedy = "remove or repair the image"
    if math.isfinite(smallest) and math.isfinite(largest):
        remedy = f"the split has {smallest:g} to {largest:g}; scale it to [0, 1]"
        if smallest >= 0 and largest <= 255 and bool((images == images.round()).all()):
            remedy += ", or hand the grey values 0 to 255 as uint8"
    raise ValueError(
        f"Image {where[0]} of {place} has a pixel of {value:g}, and pixels are numbers in [0, 1]: "
        f"{remedy}."
    )


def _channels_perhaps_last(data: DataSet) -> Iterator[str]:
    if _may_end_in_channels(data.image_shape):
        channels, height, width = data.image_shape
        yield (
            f"The images of data '{data.kind}' are taken as {channels} channels of {height} x "
            f"{width} pixels, as image_shape declares: if it has the channels last, declare "
            f"{(width, channels, height)}, and hand images.permute(0, 3, 1, 2)."
        )


def _constant_channels(data: DataSet, train: Images) -> Iterator[str]:
    """Yield a note on channels that are the same in all training images."""
    if type(train) is not Images:  # made when they are taken, and stored in another form
        return
    axes = (0, 2, 3)
    is_constant = train.images.amax(axes) == train.images.amin(axes)
    if channels := is_constant.nonzero().flatten().tolist():
        *others, last = map(str, channels)
        named = f"Channels {', '.join(others)} and {last}" if others else f"Channel {last}"
        yield (
            f"{named} of {len(is_constant)} ha{'ve' if others else 's'} a single value in all "
            f"images of {_place(data, 'training')}: no network learns anything from "
            f"{'them' if others else 'it'}."
        )


def _label_pixels(data: DataSet, train: Images) -> Iterator[str]:
    """Yield a note if single pixels of the training images tell the class."""
    if type(train) is not Images or train.labels.ndim != 1:
        return
    if number := len(places := label_pixels(train, data.num_classes)):
        channel, row, column = places[0].tolist()
        first = f"in row {row}, column {column} of channel {channel}"
        these = (
            f"Each of {number:,} pixels, the first {first}," if number > 1 else f"The pixel {first}"
        )
        yield (
            f"{these} alone tells the class of all images of {_place(data, 'training')}: it has a "
            f"single value in each class, another than in the others. If labels were written into "
            f"the images, remove them, as a network need see nothing else."
        )


def _nearly_black(data: DataSet, splits: DataSplits) -> Iterator[str]:
    """Yield a note if all images are so dark that their values were meant for another range."""
    brightest = max(_brightness(images.images) for _, images in _named(splits))
    if 0 < brightest < _NEARLY_BLACK:
        yield (
            f"All images of data '{data.kind}' are nearly black: no pixel is above "
            f"{brightest:.2g} of white; scale them, or declare the bits of arrays and pictures, so "
            f"that the largest value there can be is white."
        )


def _brightness(images: Tensor) -> float:
    """Return the largest value of images, as a share of white."""
    return images.max().item() / (WHITE if images.dtype == torch.uint8 else 1)


def _check_number_of_classes(data: DataSet, splits: DataSplits) -> None:
    """Check that there can be an image of each class, before classes are counted one by one."""
    num = len(splits.train)
    if splits.train.labels.ndim == 1 and data.num_classes > sum(num_images(splits).values()):
        raise ValueError(
            f"There are {num} images in {_place(data, 'training')}, which declares "
            f"{data.num_classes} classes, and each needs one: number the classes from 0, and set "
            f"num_classes to their number."
        )


def _check_training_classes(data: DataSet, splits: DataSplits) -> None:
    if splits.train.labels.is_meta:
        return
    train, *others = (_counts(data, images) for _, images in _named(splits))
    if absent := (train == 0).nonzero().flatten().tolist():
        is_elsewhere = bool((torch.stack(others)[:, absent].sum(dim=0) > 0).all())
        remedy = (
            "all that there are of it are held out in other splits, so add training images"
            if is_elsewhere
            else "add images of it, or number the classes that exist from 0"
        )
        raise ValueError(
            f"No image of {_classes(data, absent)} is in {_place(data, 'training')}, which "
            f"declares {data.num_classes} classes: {remedy}."
        )


def _missing_classes(data: DataSet, splits: DataSplits) -> Iterator[str]:
    for name, images in [*_named(splits)][1:]:
        counts = _counts(data, images)
        present = counts.nonzero().flatten().tolist()
        if len(present) == 1 < len(images):
            yield (
                f"Only images of {_classes(data, present)} are in {_place(data, name)}, "
                f"{len(images):,} in all, where a network that always answers so makes no error: "
                f"add images of the other classes."
            )
        elif absent := (counts == 0).nonzero().flatten().tolist():
            yield f"No image of {_classes(data, absent)} is in {_place(data, name)}."


def _single_images(data: DataSet, splits: DataSplits) -> Iterator[str]:
    """Yield a note for each split of one image, or with a class of one."""
    for name, images in _named(splits):
        if len(images) == 1:
            yield f"There is one image in {_place(data, name)}: its error is 0 or 100 %."
        elif single := (_counts(data, images) == 1).nonzero().flatten().tolist():
            each = " each" * (len(single) > 1)
            yield f"Only one image{each} of {_classes(data, single)} is in {_place(data, name)}."


def _unlike_pixels(data: DataSet, splits: DataSplits) -> Iterator[str]:
    """Yield a note for validation and test; extra tests are mostly of another kind by design."""
    compared = {_place(data, "validation"): splits.validation}
    if not data.has_shifted_test:
        compared[_place(data, "test")] = splits.test
    yield from unlike_pixels(compared, splits.train)


def _counts(data: DataSet, images: Images) -> Tensor:
    """Return the number of images of each class."""
    return data.task.counts(images.labels, data.num_classes)


def _classes(data: DataSet, classes: list[int]) -> str:
    names = [data.name_of(label) for label in classes]
    if len(names) == 1:
        return f"class {names[0]}"
    most = 5
    named = ", ".join(names[:most])
    return f"classes {named}" + (f" and {len(classes) - most} more" if len(classes) > most else "")


# Hashes.


def _digests(images: Images) -> list[bytes]:
    """Return a hash of each image, of its pixels alone."""
    pixels = np.ascontiguousarray(images.images.cpu().numpy()).reshape(len(images), -1)
    return [hashlib.blake2b(row.data, digest_size=16).digest() for row in pixels]


def _fingerprint(splits: DataSplits, digests: Mapping[str, list[bytes]]) -> str:
    digest = hashlib.sha256()
    for name, images in _named(splits):
        facts = (name, list(images.images.shape), _dtype(images.images))
        digest.update(repr(facts).encode())
        digest.update(b"".join(digests[name]))
        for tensor in (images.labels, images.objects, images.parts):
            if tensor is not None:
                digest.update(np.ascontiguousarray(tensor.cpu().numpy()).data)
    return digest.hexdigest()


def _shared_images(data: DataSet, digests: Mapping[str, list[bytes]]) -> Iterator[str]:
    """Yield a note for each two splits that share images; extra tests may share with each other.

    Raises:
        ValueError: If they share too many.
    """
    for first, second in combinations(digests, 2):
        if first not in _MAIN or (first == "test" and second not in _MAIN):
            continue
        counts = Counter(digests[first]), Counter(digests[second])
        if not (both := counts[0].keys() & counts[1].keys()):
            continue
        place = next(index for index, digest in enumerate(digests[second]) if digest in both)
        twin = digests[first].index(digests[second][place])
        num = min(sum(counted[digest] for digest in both) for counted in counts)
        share = num / min(len(digests[first]), len(digests[second]))
        occurs = "image occurs" if num == 1 else "images occur"
        sentence = (
            f"{num} {occurs} in both {_place(data, first)} and {_place(data, second)} "
            f"({percent(share):.3g} % of the smaller), {'first ' * (num > 1)}image {twin} of the "
            f"one and {place} of the other"
        )
        if share > _MOST_SHARED and not data.shared_images:
            raise ValueError(
                f"{sentence}: an error on images that were used before says nothing. Remove "
                f"them, or, where they are part of the published data, say so by "
                f'shared_images = "known: SOURCE" in the data set.'
            )
        yield f"{sentence}{f' ({data.shared_images})' if data.shared_images else ''}."


def _several_labels(
    data: DataSet, splits: DataSplits, digests: Mapping[str, list[bytes]]
) -> Iterator[str]:
    """Yield a note for each split in which one image has several labels."""
    for name, images in _named(splits):
        labels = images.labels.cpu().numpy()
        num_copies, firsts = 0, list[list[int]]()  # of each image, the first of each label
        for indices in _repeated(digests[name]):
            if _are_blank(images, indices[0]):
                continue
            of_label = {labels[index].tobytes(): index for index in reversed(indices)}
            if len(of_label) > 1:
                num_copies += len(indices)
                firsts.append(sorted(of_label.values()))
        if not firsts:
            continue
        one, other, *_ = firsts[0]
        have = "images of {} have" if len(firsts) > 1 else "image of {} has"
        names = [data.name_of(int(labels[index])) for index in (one, other) if labels.ndim == 1]
        yield (
            f"{len(firsts):,} {have.format(_place(data, name))} several labels ({num_copies:,} "
            f"copies, {'up to ' * (len(firsts) > 1)}{max(map(len, firsts))} labels): "
            f"{_image_text(images, one)} and {_image_text(images, other)} are alike"
            f"{f', under {names[0]} and {names[1]}' if names else ''}. At most one label of an "
            f"image is right: keep that one."
        )


def _blank_images(
    data: DataSet, splits: DataSplits, digests: Mapping[str, list[bytes]]
) -> Iterator[str]:
    """Yield a note for each split in which images of several classes show nothing."""
    for name, images in _named(splits):
        for indices in _repeated(digests[name]):
            if _are_blank(images, indices[0]) and len(images.labels[indices].unique(dim=0)) > 1:
                value = images.take(slice(indices[0], indices[0] + 1)).images.flatten()[0]
                yield (
                    f"{len(indices):,} images of {_place(data, name)} are blank, under several "
                    f"labels: each of their pixels is {float(value):.3g}, first in "
                    f"{_image_text(images, indices[0])} and {_image_text(images, indices[1])}. "
                    f"Remove them, or mend what wrote or read them."
                )


def _are_blank(images: Images, index: int) -> bool:
    pixels = images.images[index]
    return type(images) is Images and bool((pixels == pixels.flatten()[0]).all())


def _shared_objects(data: DataSet, splits: DataSplits) -> Iterator[str]:
    """Yield a note for validation and test where they have numbers of objects of training."""
    for name, images in [*_named(splits)][1 : len(_MAIN)]:
        if images.objects is None or splits.train.objects is None:
            continue
        objects = images.objects.unique()
        if num_shared := int(torch.isin(objects, splits.train.objects).sum()):
            yield (
                f"{num_shared:,} of the {len(objects):,} numbers of objects in "
                f"{_place(data, name)} are in the training split too. Where they are the same "
                f"objects, its errors are no errors on new ones, which \N{PLUS-MINUS SIGN} is for: "
                f"put all images of an object into one split."
            )


def _repeated(digests: list[bytes]) -> list[list[int]]:
    """Return the images that occur several times, the places of each."""
    places: dict[bytes, list[int]] = {}
    for index, digest in enumerate(digests):
        places.setdefault(digest, []).append(index)
    return [indices for indices in places.values() if len(indices) > 1]


def _image_text(images: Images, index: int) -> str:
    return f"'{images.files[index]}'" if images.files else f"image {index}"


def near_duplicate_notes(
    data: DataSet, splits: DataSplits, duplicates: Iterable[NearDuplicates]
) -> Iterator[str]:
    """Yield a note for each two splits of which one has changed copies of images of the other."""
    named = dict(_named(splits))
    for of_split, original_split in product(duplicates, _MAIN[:2]):
        pairs = [pair for pair in of_split.pairs if pair.original_split == original_split]
        if not (num := len(pairs)):
            continue
        changes = {
            "mirrored": sum(pair.is_mirrored for pair in pairs),
            "moved by a pixel": sum(pair.is_moved for pair in pairs),
        }
        counts = "".join(f", {number:,} {change}" for change, number in changes.items() if number)
        images, originals = named[of_split.split], named[original_split]
        names = [
            f"{_image_text(images, pair.image)} and {_image_text(originals, pair.original)}"
            for pair in pairs[:_NUM_NAMED]
        ]
        are = "images of {} are near-duplicates" if num > 1 else "image of {} is a near-duplicate"
        yield (
            f"{num:,} {are.format(_place(data, of_split.split))} of images in the "
            f"{original_split} split "
            f"({percent(num / of_split.num_compared):.2g} % of {of_split.num_compared:,}{counts}): "
            f"{'first ' * (num > 1)}{', '.join(names)}. An error on copies is too small: look at "
            f"them, and remove what was saved again, mirrored or moved"
            f"{f' ({data.shared_images})' if data.shared_images else ''}."
        )
