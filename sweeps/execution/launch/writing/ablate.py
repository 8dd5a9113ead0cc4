"""A sweep file for the path from a search's base to its winner, and what it would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import ValidationError

from capsmodel.settings.messages import explain
from sweeps.execution.driver.survey import Survey
from sweeps.execution.launch.run import plan
from sweeps.execution.launch.writing.ablate_options import AblateOptions
from sweeps.execution.launch.writing.asked_path import asked_path
from sweeps.execution.launch.writing.new_file import refuse_other_file, write_new
from sweeps.records.errors import BadInput
from sweeps.tracking.opening import open_store


@dataclass(frozen=True)
class WrittenPath:
    """A sweep file that was written.

    Attributes:
        arm: Of the search, where the path ends.
        survey: What a launch of it would do.
        num_there: Trainings of base and target that are finished, whoever trained them.
    """

    path: Path
    arm: str
    survey: Survey
    num_there: int


def ablate(
    search: str,
    *,
    arm: str | None = None,
    seeds: Sequence[int] | None = None,
    name: str | None = None,
    out: str | None = None,
    storage: str | Path | None = None,
    tracking_uri: str | None = None,
) -> WrittenPath:
    """Write the file of a path from a search's base to its winner, and survey it.

    `search` is the name of a launched search, or the path of the file that declares it. The options
    are the fields of `AblateOptions`, which says what each means.

    Raises:
        BadInput: In one sentence, if there can be no such path or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    arguments = locals()
    given = {name: arguments[name] for name in AblateOptions.model_fields}
    try:
        options = AblateOptions.model_validate(given)
        store = open_store(options.tracking_uri, options.storage)
        asked = asked_path(search, options, store)
        sweep, text = asked.sweep, asked.text()
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise error if isinstance(error, BadInput) else BadInput(str(error)) from error
    path = Path(f"{sweep.name}.py" if options.out is None else options.out)
    with TemporaryDirectory() as folder:  # parts of the user's own are surveyed by a file alone
        file = Path(folder, f"{sweep.name}.py")
        file.write_text(text, encoding="utf-8")
        survey = plan(file, storage=options.storage, tracking_uri=options.tracking_uri)
    keys = asked.keys(survey.definition.sweep)
    if keys != asked.keys(sweep):
        raise BadInput(
            f"The code of the parts of '{search}' cannot be copied into another file so that its "
            f"trainings stay the same: put the parts into a package, and import them."
        )
    num_there = sum(record.is_counted for record in store.records(keys).values())
    refuse_other_file(path, text)
    write_new(path, text)
    return WrittenPath(path, asked.arm, survey, num_there)
