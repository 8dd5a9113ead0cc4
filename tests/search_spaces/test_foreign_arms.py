"""Networks of the user's in designs and searches: matched in size, varied by their settings."""

from typing import Annotated

from pydantic import Field
from torch import Tensor, nn

from capsmodel import TrainingConfig, model, num_parameters
from capsmodel.search_range import Ints
from search_spaces import ListedArms, MatchedArm, Space, Sweep
from tests.capsmodel.small_config import small_config


@model
class Wide(nn.Module):
    def __init__(
        self, num_classes: int, width: Annotated[int, Field(ge=1), Ints(8, 64)] = 16
    ) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(64, width), nn.Linear(width, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.body(images.flatten(1)).relu())


BASE: TrainingConfig = small_config()


def test_one_is_made_as_large_as_the_baseline() -> None:
    matched = MatchedArm(
        {"model": Wide(), "loss": "cross_entropy"}, matched_to="capsules", width="model.width"
    )
    plan = ListedArms(baseline="capsules", arms={"capsules": {}, "of equal size": matched})
    sweep = Sweep(name="own", base=BASE, plan=plan, seeds=(0,), parts=(Wide,))
    capsules, arm = sweep.arms()
    wanted, size = num_parameters(capsules.config), num_parameters(arm.config)
    assert abs(size - wanted) <= (64 + 1 + 10) / 2 + 1


def test_a_space_varies_its_settings() -> None:
    space = Space.of(BASE.model_copy(update={"model": Wide()}))
    (width,) = space.varied({"model": ("wide",)}).only("model.width").dimensions
    assert {width.at(unit) for unit in (0.0, 1.0)} == {8, 64}
    assert Space.of(Wide).dimensions[0].name == "width"
