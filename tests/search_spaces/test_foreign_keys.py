"""The key of a network of the user's follows its code, in whatever file that is."""

from pathlib import Path

import pytest

from search_spaces.sweep_file import code_outside, sweep_from_file
from search_spaces.trial_key import trial_key

NETS = '''
"""Networks of a lab."""

import math

from torch import nn

from lab.blocks import scaled


class Base(nn.Module):
    def __init__(self, image_shape: tuple[int, int, int], num_classes: int, width: int = 4):
        super().__init__()
        self.layers = nn.Linear(math.prod(image_shape), num_classes)  # one layer

    def forward(self, images):
        return self.layers(scaled(images.flatten(1)))


class Other(Base):
    pass
'''
SWEEP = """
from capsmodel import TrainingConfig, model
from nets import Base, Other
from search_spaces import ListedArms, Sweep

Net = model(kind="net")(Base)

SWEEP = Sweep(
    name="own",
    base=TrainingConfig(),
    plan=ListedArms(baseline="capsnet", arms={"capsnet": {}, "net": {"model": Net()}}),
    seeds=(0,),
    parts=(Net,),
)
"""
FILES = {"mine.py": SWEEP, "nets.py": NETS, "lab/blocks.py": "def scaled(x):\n    return 2.0 * x\n"}


def key(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    sweep, _ = sweep_from_file(folder / "mine.py")
    return trial_key(sweep.arms()[1].config, 0)


@pytest.mark.parametrize(
    ("file", "before", "after", "changes"),
    [
        ("nets.py", "# one layer", "# a layer", False),
        ("nets.py", '"""Networks of a lab."""', "", False),
        ("mine.py", "seeds=(0,)", "seeds=(1, 2)", False),
        ("mine.py", "Net = model", "# any class\nNet = model", False),
        ("nets.py", "images.flatten(1)", "images.flatten(1) / 2", True),
        ("lab/blocks.py", "2.0", "3.0", True),
        ("mine.py", 'model(kind="net")', 'model(kind="net", returns="lengths")', True),
        ("mine.py", "(Base)", "(Other)", True),
        ("mine.py", "Net()", "Net(width=8)", True),
    ],
)
def test_a_key_changes_with_code_and_settings_alone(
    tmp_path: Path, file: str, before: str, after: str, changes: bool
) -> None:
    assert before in FILES[file]
    edited = FILES | {file: FILES[file].replace(before, after)}
    assert (key(tmp_path / "a", FILES) != key(tmp_path / "b", edited)) == changes


def test_a_file_of_weights_is_covered_and_any_other_is_not(tmp_path: Path) -> None:
    reads = NETS.replace("width: int = 4", "weights: PretrainedWeights | None = None").replace(
        "super().__init__()",
        "super().__init__()\n        torch.load(weights)\n        torch.load('x.pt')",
    )
    reads = reads.replace("import math", "import math\nimport torch").replace(
        "from torch import nn",
        "from torch import nn\nfrom capsmodel.models import PretrainedWeights",
    )
    key(tmp_path, FILES | {"nets.py": reads})
    (line,) = code_outside(sweep_from_file(tmp_path / "mine.py")[1]).not_covered
    number = 1 + reads.splitlines().index("        torch.load('x.pt')")
    assert line == f"nets, line {number}: torch.load(...) reads a file"


WRAPPED = """
from capsmodel import TrainingConfig, model
from search_spaces import ListedArms, Sweep
from torch.nn import Bilinear, Linear


def with_width(layer):
    class Wide(layer):
        def __init__(self, width: int = 4):
            pass

    return Wide


Net = model(kind="net")(with_width(Linear))
"""


def test_a_class_of_another_library_is_known_by_its_name_in_the_file(tmp_path: Path) -> None:
    """The version of capsweep's own requirements stands in the record, not in the key."""
    text = WRAPPED + SWEEP[SWEEP.index("\nSWEEP") :]
    texts = (text, text.replace("with_width(Linear)", "with_width(Bilinear)"))
    keys = {key(tmp_path / str(number), {"mine.py": text}) for number, text in enumerate(texts)}
    assert len(keys) == 2
