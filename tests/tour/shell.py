"""A shell whose capsweep starts at once: it forks this process, which has imported all of it.

Each line is run in a process of its own. Starting Python and importing took most of a tour's time.
"""

import gc
import os
import pkgutil
import shlex
import subprocess
import sys
from importlib import import_module

from sweeps.cli import entry
from tests.tour.screens import TRAINING


def main() -> None:
    """Prompt with the number of the line and the last exit code, run the line, and go on."""
    for package in map(import_module, ("capsmodel", "search_spaces", "sweeps")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "testing" not in module.name:  # pytest rewrites what is first imported by it
                import_module(module.name)
    gc.freeze()
    number, code = 1, 0
    while True:
        sys.stdout.write(f"<{number} {code}> ")
        sys.stdout.flush()
        line = sys.stdin.readline().strip()
        code = _exit_code(line)
        number += 1


def _exit_code(line: str) -> int:
    argv = shlex.split(line)
    if argv[0] != "capsweep" or line == TRAINING:  # a launch looks at how its process was started
        return subprocess.run(argv, check=False).returncode
    child = os.fork()
    if not child:
        sys.argv = argv
        entry.main_process()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main()
