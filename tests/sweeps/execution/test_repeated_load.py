"""`check` loads data of a user's own class twice and names what differs."""

from pathlib import Path

import pytest

from sweeps.execution.sweep_check import CheckFailed
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
        "of the 180 labels of the validation split differ, first that of image 7",
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
    "seconds of the clock": (
        "        import time; splits.train.images[0] *= int(time.time()) % 2; return splits\n",
        "1 of the 1,257 images of the training split differs, image 0",
    ),
}


@pytest.mark.xfail(strict=True, reason="load() is called once")
@pytest.mark.parametrize(("load", "difference"), CASES.values(), ids=CASES)
def test_what_load_gives_otherwise_when_called_again_is_named(
    tmp_path: Path, load: str, difference: str
) -> None:
    file, _ = broken(tmp_path, LOAD, load)
    failures = [str(result) for result in results(file) if isinstance(result, CheckFailed)]
    assert len(failures) == 1
    assert failures[0].startswith("load() of data 'my_data' gives other data when it is called")
    assert difference in failures[0]
    assert failures[0].count("\n") == 0
