"""What an evaluation leaves in a cell's folder."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, field_validator

from capsmodel.metrics import Metric
from capsmodel.settings.parts import later
from sweeps.records.bounds import Count, Json, Seconds, Whole
from sweeps.records.evaluation_names import EvaluationKey
from sweeps.records.trial_record import SCHEMA_VERSION, MetricOfEvaluation, Slug, TrialKey

_KIND = TypeAdapter[str](
    Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
)


class EvaluationRecord(BaseModel):
    """What one evaluation found of one trial. The first that is written stands.

    Attributes:
        evaluation: Kind and all settings, as plain JSON.
        looks_at: The split whose images it looked at.
        metrics: Name -> value; fractions as fractions. What is not finite survives as NaN.
        schemas: What those metrics are.
        images: Names of what was found by image, in the safetensors file beside it.
        arrays: Names of what else that file holds.
        pictures: Names of the PNG files beside it.
        left_out: Why something else is not there, a sentence each.
        hardware: The device by its name.
        versions: Versions of packages, Python and platform.
        time: Milliseconds since 1970.
        fence: Number of the lease it was written under.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    schema_version: Literal[1] = SCHEMA_VERSION
    evaluation_key: EvaluationKey
    trial_key: TrialKey
    evaluation: Json
    looks_at: Literal["validation", "test"]
    metrics: dict[MetricOfEvaluation, float] = {}
    schemas: tuple[Metric, ...] = later(())
    images: tuple[MetricOfEvaluation, ...] = ()
    arrays: tuple[Slug, ...] = later(())
    pictures: tuple[Slug, ...] = ()
    left_out: tuple[str, ...] = ()
    hardware: str = ""
    versions: dict[str, str] = {}
    duration_seconds: Seconds = 0.0
    time: Whole
    fence: Count

    @field_validator("evaluation")
    @classmethod
    def _its_kind_is_a_name(cls, evaluation: Json) -> Json:
        """Refuse a kind that is none: pictures are written under it."""
        _KIND.validate_python(evaluation.get("kind"))
        return evaluation

    @property
    def kind(self) -> str:
        """The evaluation's kind."""
        return str(self.evaluation["kind"])

    @property
    def settings(self) -> Json:
        """The evaluation's settings, without its kind."""
        return {name: value for name, value in self.evaluation.items() if name != "kind"}

    def metric_of(self, name: str) -> Metric:
        """Return what one of the metrics is, as far as the record tells."""
        known = {schema.name: schema for schema in self.schemas}
        plain = Metric(name="unknown", words=name, direction=None, split=None, moment="end")
        return known.get(name, plain)
