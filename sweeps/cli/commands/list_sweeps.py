"""`capsweep list`."""

from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.terminal import console, plain, table_of
from sweeps.cli.verbosity import is_quiet
from sweeps.records.suggested_command import SuggestedCommand


def list_sweeps(as_json: JsonOption = False) -> None:
    """List the named sweeps."""
    from search_spaces.catalogue import named_sweeps

    entries = named_sweeps()
    if as_json:
        from sweeps.cli.answers import ListAnswer, ShippedSweep

        sweeps = tuple(ShippedSweep(name=entry.name, asks=entry.summary) for entry in entries)
        print_json(ListAnswer(sweeps=sweeps))
        return
    table = table_of("sweep", "what it asks")
    for entry in entries:
        table.add_row(entry.name, plain(entry.summary))
    out = console()
    out.print(table)
    if not is_quiet():
        out.print(
            f"\nRun one: {SuggestedCommand('run', 'NAME')}. "
            f"See what it would do first: {SuggestedCommand('plan', 'NAME')}."
        )
