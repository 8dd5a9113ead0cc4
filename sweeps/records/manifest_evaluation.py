"""An evaluation that a sweep declares, as its manifest tells of it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from capsmodel.metrics import Metric
from capsmodel.settings.parts import later
from sweeps.records.bounds import Json
from sweeps.records.evaluation_names import EvaluationKey
from sweeps.records.trial_record import Slug


class ManifestEvaluation(BaseModel):
    """One evaluation of all finished trials of a sweep.

    Attributes:
        evaluation_key: Key of the results that belong to it, whichever sweep made them.
        settings: All of them, as plain JSON, without the kind.
        looks_at: The split whose images it looks at.
        metrics: What it gives; their names are those among the evaluation's own.
        primary: The metric or curve that arms are compared by; "" for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    evaluation_key: EvaluationKey
    kind: Slug
    settings: Json = {}
    looks_at: Literal["validation", "test"]
    metrics: tuple[Metric, ...] = ()
    primary: str = later("")
