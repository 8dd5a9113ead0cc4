"""Tags that MLflow's own pages know: who, from which commit, and what for."""

import getpass

from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_USER

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
    """Return the tag that every trial of a sweep has, whoever trained it: its value is the arm."""
    return f"{_MEMBER}{sweep}"


def sweep_note(sweep: str, description: str) -> str:
    """Return what a sweep asks, how its table is made again and its trials are found."""
    asked = f"{description.strip()}\n\n" if description.strip() else ""
    return f"{asked}{_how_to(sweep)}"


def is_written_by_capsweep(note: str, sweep: str) -> bool:
    """Return whether no person wrote a sweep's note, so that it may be replaced."""
    return not note or note.endswith(_how_to(sweep))


def _how_to(sweep: str) -> str:
    return (
        f"Its table is made from these records by `capsweep report {sweep}`. The filter "
        f"``tags.`{member_tag(sweep)}` LIKE '%'`` finds its trials, also those that another sweep "
        f"trained."
    )
