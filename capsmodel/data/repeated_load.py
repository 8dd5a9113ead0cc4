"""Whether a data set gives the same when it is loaded again, as each trial does."""

from collections.abc import Iterator

from torch import Tensor

from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.data.checks import load_checked


def check_repeatable(data: DataSet, splits: DataSplits) -> None:
    """Load a data set on the CPU again and compare it with what it gave before.

    Args:
        data: The data set.
        splits: What it gave before, checked, on the CPU.

    Raises:
        ValueError: If it gives something else; the sentence names the first difference.
    """
    difference = next(_differences(splits, load_checked(data, "cpu")), None)
    if difference:
        raise ValueError(
            f"load() of data '{data.kind}' gives other data when it is called again: {difference}. "
            f"Each trial loads anew and would refuse them: draw by a generator with a fixed seed, "
            f"and use neither the clock nor what an earlier call left behind."
        )


def _differences(before: DataSplits, after: DataSplits) -> Iterator[str]:
    extra = [*before.extra_tests], [*after.extra_tests]
    if extra[0] != extra[1]:
        yield f"the extra tests are {', '.join(extra[0])}, then {', '.join(extra[1])}"
        return
    pairs = {
        "the training split": (before.train, after.train),
        "the validation split": (before.validation, after.validation),
        "the test split": (before.test, after.test),
        **{
            f"the extra test '{name}'": (images, after.extra_tests[name])
            for name, images in before.extra_tests.items()
        },
    }
    for split, (first, second) in pairs.items():
        yield from _differences_of_split(split, first, second)


def _differences_of_split(split: str, before: Images, after: Images) -> Iterator[str]:
    if len(before) != len(after):
        yield f"{split} has {len(before):,} images, then {len(after):,}"
        return
    differing = _differing(before.images, after.images)
    if differing and _sorted_images(before) == _sorted_images(after):
        yield f"the {len(before):,} images of {split} come in another order"
    elif differing:
        yield f"{_counted(differing, len(before), 'images', split)}image {differing[0]}"
    pairs = {"labels": (before.labels, after.labels), "objects": (before.objects, after.objects)}
    for name, (first, second) in pairs.items():
        if unlike := _differing(first, second):
            counted = _counted(unlike, len(before), name, split)
            yield f"{counted}that of image {unlike[0]}"


def _differing(before: Tensor | None, after: Tensor | None) -> list[int]:
    """Return the images of which two tensors differ; all, if only one is there or has its shape."""
    if before is None or after is None:
        present = after if before is None else before
        return [] if present is None else [*range(len(present))]
    if before.shape != after.shape or before.dtype != after.dtype:
        return [*range(len(before))]
    return (before != after).reshape(len(before), -1).any(dim=1).nonzero().flatten().tolist()


def _sorted_images(images: Images) -> list[bytes]:
    return sorted(image.numpy().tobytes() for image in images.images)


def _counted(differing: list[int], num: int, name: str, split: str) -> str:
    verb = "differ, first " if len(differing) > 1 else "differs, "
    return f"{len(differing):,} of the {num:,} {name} of {split} {verb}"
