"""Tags of runs as MLflow takes them."""

from collections.abc import Mapping

from mlflow.entities import Run, RunTag

from sweeps.tracking.mlflow.runs import tags_of

_LONGEST = 5000  # the store refuses more


def run_tags(tags: Mapping[str, str]) -> list[RunTag]:
    """Return tags, none of them longer than is taken."""
    return [RunTag(name, value[:_LONGEST]) for name, value in tags.items()]


def changed_tags(run: Run, tags: Mapping[str, str]) -> list[RunTag]:
    """Return those that a run does not have, or with another value."""
    told = tags_of(run)
    return [tag for tag in run_tags(tags) if told.get(tag.key) != tag.value]
