"""The command line."""

from sweeps.cli.commands import main as main
