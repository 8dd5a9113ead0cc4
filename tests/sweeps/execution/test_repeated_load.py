"""`check` calls a user's `load()` twice and names what differs."""

from pathlib import Path

import pytest

from capsmodel.data import check_repeatable, load_checked
from search_spaces.data_fingerprint import check_unchanged
from sweeps.execution.plan.changes import Changes
from sweeps.execution.sweep_check import CheckFailed, loaded_sweep
from tests.sweeps.execution.test_sweep_check import broken, results

LOAD = "        return splits\n"
TRAIN = "the training split"
CASES = {
    "random pixels": (
        "        splits.train.images.clamp_(min=0.2 * float(torch.rand(1))); return splits\n",
        "1,257 of the 1,257 images of the training split differ, first image 0",
    ),
    "pixels by the clock": (
        "        from datetime import datetime; "
        "splits.test.images[5] *= datetime.now().microsecond / 1e6; return splits\n",
        "1 of the 360 images of the test split differs, image 5",
    ),
    "random labels": (
        "        splits.validation.labels[7:] = torch.randint(10, (173,)); return splits\n",
        "of the 180 labels of the validation split differ, first that of image",
    ),
    "a random order": (
        "        order = torch.randperm(1257); "
        "return type(splits)(splits.train.take(order), splits.validation, splits.test)\n",
        "the 1,257 images of the training split come in another order",
    ),
    "a random number of images": (
        "        self._calls.append(0); return type(splits)("
        "splits.train.take(slice(1000 + len(self._calls))), splits.validation, splits.test)\n"
        "    _calls = []\n",
        "the training split has 1,001 images, then 1,002",
    ),
}


@pytest.mark.parametrize(("load", "difference"), CASES.values(), ids=CASES)
def test_what_load_gives_otherwise_when_called_again_is_named(
    tmp_path: Path, load: str, difference: str
) -> None:
    file, _ = broken(tmp_path, LOAD, load)
    data = loaded_sweep(file, Changes()).base.data
    splits = load_checked(data, "cpu")
    with pytest.raises(ValueError, match="gives other data") as refused:
        check_repeatable(data, splits)
    assert str(refused.value).startswith("load() of data 'my_data' gives other data when it is")
    assert difference in str(refused.value)
    with pytest.raises(ValueError, match="gives other data"):  # as a worker finds it
        check_unchanged(data, splits, "of an earlier call")


def test_check_waits_for_another_second_of_the_clock(tmp_path: Path) -> None:
    """And says nothing of the data at first, as they are right."""
    second = "        import time; splits.train.images[0] *= int(time.time()) % 99 / 99; "
    file, _ = broken(tmp_path, LOAD, f"{second}return splits\n")
    failures = [str(result) for result in results(file) if isinstance(result, CheckFailed)]
    assert len(failures) == 1
    assert "1 of the 1,257 images of the training split differs, image 0" in failures[0]
