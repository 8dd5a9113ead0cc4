"""Commands that tell what can be run: the named sweeps, and the parts of trainings."""

from typing import Annotated

import typer

from sweeps.cli.answers.text import JsonOption, answer
from sweeps.records.errors import BadInput


def list_sweeps(as_json: JsonOption = False) -> None:
    """List the named sweeps."""
    from search_spaces.catalogue import named_sweeps

    if as_json:
        from sweeps.cli.answers.launches import list_answer

        answer(list_answer(named_sweeps()))
        return
    from sweeps.cli.printing.console import print_names

    print_names([(entry.name, entry.summary) for entry in named_sweeps()])


def parts(
    kind: Annotated[str | None, typer.Argument(help="Of one kind or family, in full.")] = None,
) -> None:
    """List the parts that trainings are made of, or one of them with its settings."""
    from capsmodel.config import TrainingConfig
    from capsmodel.part_descriptions import described_parts, profiles_of
    from sweeps.cli.printing.parts import print_parts

    try:
        descriptions = described_parts(kind)
    except ValueError as error:
        raise BadInput(str(error)) from None
    print_parts(descriptions, profiles_of(TrainingConfig), in_full=kind is not None)
