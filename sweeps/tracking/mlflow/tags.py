"""Tags of MLflow's runs: those that its own pages know, and those of sweeps' trials."""

import getpass
from collections.abc import Mapping, Sequence

from mlflow.entities import Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_USER

from sweeps.records.suggested_command import SuggestedCommand
from sweeps.tracking.mlflow.runs import tags_of

_LONGEST = 5000  # the store refuses more


def run_tags(tags: Mapping[str, str]) -> list[RunTag]:
    """Return tags, none of them longer than is taken."""
    return [RunTag(name, value[:_LONGEST]) for name, value in tags.items()]


def changed_tags(run: Run, tags: Mapping[str, str]) -> list[RunTag]:
    """Return those that a run does not have, or with another value."""
    current = tags_of(run)
    return [tag for tag in run_tags(tags) if current.get(tag.key) != tag.value]


def changed_labels(run: Run, labels: Mapping[str, str]) -> list[RunTag]:
    """Return the labels that a run does not have as they are; one that it lacks is like ""."""
    current = tags_of(run)
    return run_tags({n: text for n, text in labels.items() if current.get(n, "") != text})


_DIRTY = "-dirty"
_MEMBER = "capsweep.sweep."


def who_tags() -> dict[str, str]:
    """Return by whom a run is made; nothing where this machine does not know."""
    try:
        return {MLFLOW_USER: getpass.getuser()}
    except (KeyError, OSError):  # a user id without a name, as in a container
        return {}


def commit_tags(git_revision: str) -> dict[str, str]:
    """Return which commit of the code a run is of, without whether files differed from it."""
    commit = git_revision.removesuffix(_DIRTY)
    return {MLFLOW_GIT_COMMIT: commit} if commit else {}


def member_tag(sweep: str) -> str:
    """Return the tag of every trial of a sweep; its value is the arm."""
    return f"{_MEMBER}{sweep}"


def sweep_note(sweep: str, description: str, answers: Sequence[str] = ()) -> str:
    """Return what a sweep asks and found, how its table is made again and its trials are found."""
    paragraphs = [description.strip(), *answers, _how_to(sweep)]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def is_written_by_capsweep(note: str, sweep: str) -> bool:
    """Return whether no person wrote a sweep's note, so that it may be replaced."""
    return not note or note.endswith(_how_to(sweep))


def _how_to(sweep: str) -> str:
    report = SuggestedCommand("report", sweep).plain
    return (
        f"Its table is made from these records by `{report}`. The filter "
        f"``tags.`{member_tag(sweep)}` LIKE '%'`` finds its trials, also those that another sweep "
        f"trained."
    )
