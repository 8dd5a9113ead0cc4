"""A user's own sweep is one Python file; what cannot be is told in one sentence."""

import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from search_spaces.sweep_file import custom_parts, module_from_text, sweep_from_file
from search_spaces.trial_key import trial_key

PART = '''
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from capsmodel import TrainingConfig
from capsmodel.functional import squash
from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep


class Base(VectorRouting):
    """Shared by two, without a kind."""

    is_symmetric: ClassVar[bool] = True

    def route(self, votes, *, generator):
        return squash(votes.mean(dim=1))


class Mean(Base):
    kind: Literal["mean"] = "mean"
    power: Annotated[int, Field(ge=1, le=3)] = 1


SWEEP = Sweep(
    name="own",
    base=TrainingConfig(),
    plan=ListedArms(baseline="dynamic", arms={"dynamic": {}, "mean": {"model.routing": Mean()}}),
    seeds=(0,),
    parts=(Mean,),
)
'''


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("capsweep_sweep_"):
            del sys.modules[name]


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is looked at
        sweep_from_file(written(folder, text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_gives_its_sweep_and_its_text(tmp_path: Path) -> None:
    sweep, text = sweep_from_file(written(tmp_path, PART))
    assert (sweep.name, text) == ("own", PART)
    assert [arm.name for arm in sweep.arms()] == ["dynamic", "mean"]


def test_the_file_may_postpone_its_annotations(tmp_path: Path) -> None:
    sweep, _ = sweep_from_file(written(tmp_path, "from __future__ import annotations\n" + PART))
    (part,) = sweep.parts
    with pytest.raises(ValueError, match="less than or equal to 3"):
        part.model_validate({"power": 4})


def test_the_module_is_named_after_the_texts_hash() -> None:
    name = module_from_text(PART).__name__
    assert name == "capsweep_sweep_" + hashlib.sha256(PART.encode()).hexdigest()[:16]
    assert module_from_text(PART) is sys.modules[name]


def test_a_part_gets_the_version_of_its_source(tmp_path: Path) -> None:
    first, _ = sweep_from_file(written(tmp_path, PART))
    second, _ = sweep_from_file(written(tmp_path, PART + "\n# later\n"))
    third, _ = sweep_from_file(written(tmp_path, PART.replace("mean(dim=1)", "sum(dim=1)")))
    versions = [sweep.parts[0].protocol_version for sweep in (first, second, third)]
    assert versions[0] == versions[1] != versions[2]
    keys = [[trial_key(arm.config, 0) for arm in s.arms()] for s in (first, second, third)]
    assert keys[0] == keys[1]
    assert keys[0][0] == keys[2][0], "an arm that does not use the part keeps its key"
    assert keys[0][1] != keys[2][1]


def test_a_base_class_without_a_kind_is_not_a_part() -> None:
    assert [part.__name__ for part in custom_parts(module_from_text(PART))] == ["Mean"]


def test_a_declared_part_of_an_installed_package_travels_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site"
    package.mkdir()
    (package / "installed_routing.py").write_text(PART.partition("SWEEP")[0])
    monkeypatch.syspath_prepend(str(package))
    text = "from installed_routing import *\nSWEEP" + PART.partition("SWEEP")[2]
    try:
        assert [part.__name__ for part in custom_parts(module_from_text(text))] == ["Mean"]
        (part,) = sweep_from_file(written(tmp_path, text))[0].parts
        assert isinstance(part.protocol_version, str), "the code of its module"
    finally:
        del sys.modules["installed_routing"]


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, "x = 1\nclass :\n") == (
        f"{tmp_path / 'mine.py'} is not valid Python: line 2: invalid syntax."
    )


def test_a_file_without_a_sweep_says_what_to_write(tmp_path: Path) -> None:
    for text in ("", "x = 1", "SWEEP = 3", "Sweep = None"):
        assert refusal(tmp_path, text).endswith("defines no sweep: assign one, SWEEP = Sweep(...).")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("raise RuntimeError('first\\nsecond')", "cannot be run: RuntimeError: first second"),
        (
            "x = 1\nimport no_such_package_anywhere",
            "No module named 'no_such_package_anywhere'; a sweep file imports installed packages "
            "and modules of its own folder, as the workers have no others (line 2).",
        ),
        ("x = 1\n\nfrom search_spaces import Swep", "cannot import name 'Swep' from"),
        ("from search_spaces import Swep", "(line 1)."),
        ("x = 1\ny = z", "NameError: name 'z' is not defined (line 2)."),
        ("import sys; sys.exit(0)", "cannot be run: SystemExit: 0"),
        (PART.replace("seeds=(0,)", "seeds=(0, 0)"), "A seed is listed twice: 0, 0 (line"),
        (PART.replace('name="own"', 'name="Own"'), "name must be a text of up to 64 small letters"),
        (PART.replace('"mean"] = "mean"', '"dynamic"] = "dynamic"'), "built in"),
    ],
)
def test_an_exception_in_the_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, text)


def test_a_file_that_failed_is_run_anew() -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="ZeroDivisionError"):
            module_from_text("1 / 0")


def test_ctrl_c_in_the_file_stays_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt):
        module_from_text("raise KeyboardInterrupt")


def test_a_job_of_ray_says_on_which_machine_it_looked_for_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with pytest.raises(ValueError, match=rf"'none\.py' on {os.uname().nodename} \(No such file"):
        sweep_from_file(Path("none.py"))


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'")
    for name in ("none.py", "latin.py", ".", "n" * 300 + ".py"):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is looked at
            sweep_from_file(tmp_path / name)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)
