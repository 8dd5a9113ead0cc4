"""The command line."""

from sweeps.cli.commands import main as main
from sweeps.cli.commands import main_process as main_process
