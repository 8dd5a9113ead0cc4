"""The evaluation key holds all that decides what an evaluation finds, the trial apart."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from capsmodel import Trained
from capsmodel.data import DataSplits
from capsmodel.evaluation import Confidence, Evaluation, Findings, ShiftedTestError, TestError
from search_spaces.evaluation_key import evaluation_identity, evaluation_key
from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.sweep import Sweep
from search_spaces.sweep_file import sweep_from_file
from search_spaces.trial_key import trial_key


class Brightness(Evaluation):
    """A look at the images alone."""

    kind: Literal["brightness"] = "brightness"
    most: Annotated[int, Field(ge=1)] = 10

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        raise NotImplementedError


class BrightnessWithANewSetting(Brightness):
    """The same with another setting."""

    extra: float = 0.5


class LaterBrightness(Brightness):
    """The same settings, another behaviour."""

    protocol_version: ClassVar[int | str] = 2


class BrightnessOfOtherData(Brightness):
    """The same over data of its own."""

    fingerprint: ClassVar[str] = "ab" * 32


def with_evaluations(*evaluations: Evaluation, parts: tuple[type, ...] = ()) -> Sweep:
    fields = {name: getattr(QUICKSTART, name) for name in Sweep.model_fields}
    return Sweep(**{**fields, "evaluations": evaluations, "parts": parts, "tables": ()})


def test_a_key_is_pinned() -> None:
    assert evaluation_identity(ShiftedTestError(pixels=3)) == {
        "kind": "shifted_test_error",
        "settings": {"pixels": 3},
        "data": "",
        "versions": {"evaluation": 2},
    }
    assert evaluation_key(ShiftedTestError()) == PINNED_SHIFTED
    assert evaluation_key(Confidence(split="test")) == PINNED_CONFIDENCE


PINNED_SHIFTED = "7eb3d15b8bcda18474c5"
PINNED_CONFIDENCE = "7c8a69b35387e0b07af6"


def test_a_new_setting_leaves_old_keys_as_they_were() -> None:
    assert evaluation_key(BrightnessWithANewSetting()) == evaluation_key(Brightness())
    assert evaluation_key(BrightnessWithANewSetting(extra=1.0)) != evaluation_key(Brightness())


@pytest.mark.parametrize(
    "other", [Brightness(most=11), LaterBrightness(), BrightnessOfOtherData(), Confidence()]
)
def test_whatever_decides_a_finding_changes_the_key(other: Evaluation) -> None:
    assert evaluation_key(other) != evaluation_key(Brightness())


def test_a_setting_equal_to_its_default_is_left_out() -> None:
    assert evaluation_key(Brightness(most=10)) == evaluation_key(Brightness())


def test_trial_keys_know_nothing_of_evaluations() -> None:
    declared = with_evaluations(ShiftedTestError(), Confidence())
    pairs = zip(declared.arms(), QUICKSTART.arms(), strict=True)
    assert all(
        trial_key(arm.config, 0) == trial_key(plain_arm.config, 0) for arm, plain_arm in pairs
    )


def test_one_evaluation_is_declared_with_several_settings() -> None:
    assert len(with_evaluations(Confidence(), Confidence(bins=10)).evaluations) == 2


@pytest.mark.parametrize(
    ("evaluations", "sentence"),
    [
        ((Confidence(), Confidence(bins=15)), "The evaluation 'confidence' is declared twice"),
        ((TestError(),), "Every trial measures 'test_error' at its end"),
        ((Brightness(),), r"Brightness is a part of your own: declare it, Sweep\(parts="),
    ],
)
def test_what_cannot_be_declared_is_refused(
    evaluations: tuple[Evaluation, ...], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        with_evaluations(*evaluations)


def test_ones_own_evaluation_is_declared_with_its_class() -> None:
    assert with_evaluations(Brightness(), parts=(Brightness,)).evaluations == (Brightness(),)


def test_a_kind_that_is_built_in_is_not_overridden() -> None:
    class Other(Brightness):
        kind: Literal["confidence"] = "confidence"  # pyright: ignore[reportIncompatibleVariableOverride]

    with pytest.raises(ValueError, match="'confidence' of Other is built in"):
        with_evaluations(parts=(Other,))


FILE = '''"""A sweep with an evaluation of its own."""
from typing import Literal
from capsmodel.evaluation import Evaluation, Findings
from search_spaces import Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

class Constant(Evaluation):
    """A number."""
    kind: Literal["constant"] = "constant"
    def evaluate(self, trained, data):
        """Return nothing."""
        return Findings()  # a comment

SWEEP = Sweep(name="constant", parts=[Constant], base=QUICKSTART.base, plan=QUICKSTART.plan,
              seeds=[0], evaluations=[Constant()])
'''


def test_the_code_of_ones_own_evaluation_is_in_its_key(tmp_path: Path) -> None:
    keys: list[str] = []
    trial_keys: list[str] = []
    for place, text in enumerate(
        (
            FILE,
            FILE.replace("# a comment", "").replace("seeds=[0]", "seeds=[0, 1]"),
            FILE.replace("Findings()", "Findings({})"),
        )
    ):
        path = tmp_path / f"file{place}.py"
        path.write_text(text)
        sweep, _ = sweep_from_file(path)
        keys.append(evaluation_key(sweep.evaluations[0]))
        trial_keys.append(trial_key(sweep.arms()[0].config, 0))
    assert keys[0] == keys[1] != keys[2]
    assert len(set(trial_keys)) == 1
