"""The command line."""

from sweeps.cli.entry import main as main
from sweeps.cli.entry import main_process as main_process
