"""Are drawn bars learnt? A data set of a user's own, and a search over a network for it."""

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field

from capsmodel.data import DataSet, DataSplits, Images
from capsmodel.overrides import with_settings
from capsmodel.search_range import Ints
from search_spaces import Asha, Confirm, Search, SensitivityTable, Space, Sweep
from search_spaces.quickstart import SMALL_CAPSNET

NUM_CLASSES = 4


class Bars(DataSet):
    """One bright row of an 8 by 8 image, its class by where it is; the rest is noise."""

    kind: Literal["bars"] = "bars"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = NUM_CLASSES
    noise: Annotated[float, Field(ge=0, le=1)] = 0.25

    def load(self, device):
        """Return the splits on a device."""
        drawn, tests = self._drawn(400, seed=1), self._drawn(100, seed=2)
        indices = self.split(drawn.labels.tolist(), tests.labels.tolist())
        return DataSplits(
            train=_take(drawn, indices.train, device),
            validation=_take(drawn, indices.validation, device),
            test=_take(tests, indices.test, device),
        )

    def _drawn(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        labels = torch.arange(count) % NUM_CLASSES
        images = self.noise * torch.rand(count, *self.image_shape, generator=generator)
        images[torch.arange(count), 0, 2 * labels] = 1.0
        return Images(images, labels)


def _take(images, indices, device):
    chosen = torch.tensor(indices)
    return Images(images.images[chosen].to(device), images.labels[chosen].to(device))


BASE = with_settings(SMALL_CAPSNET, {"data": Bars(), "stopping.epochs": 4})

SWEEP = Sweep(
    name="bars",
    parts=[Bars],
    base=BASE,
    plan=Search(
        space=Space.of(BASE.model, at="model")
        .only(
            "model.routing",
            "model.routing.iterations",
            "model.routing.bias",
            "model.routing.gradient",
            "model.routing.squash",
            "model.routing.initial_logits",
            "model.routing.initial_logits.deviation",
            "model.routing.inverse_temperature",
            "model.routing.inverse_temperature.value",
            "model.routing.inverse_temperature.final",
            "model.routing.inverse_temperature.decay",
            "model.routing.class_temperature_factor",
            "model.routing.variance_floor",
            "model.routing.centre_momentum",
            "model.routing.log_variance_weight",
            "model.routing.competition",
            "model.routing.scale_by_children",
            "model.class_dim",
        )
        .varied({"model.routing.iterations": Ints(1, 8)}),
        sampler="random",
        scheduler=Asha(grace=0.5, reduction_factor=2),
        trials=6,
        seeds=[0],
        confirm=Confirm(best=1, seeds=[101, 102]),
    ),
    tables=[SensitivityTable()],
)
