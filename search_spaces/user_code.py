"""Lines of a user's sweep file in an error."""

import linecache
import traceback

MODULE_PREFIX = "capsweep_sweep_"
"""The module of a sweep file is called so, followed by the hash of its text."""


def line_in_sweep_file(error: BaseException) -> str:
    """Return the last line of a sweep file that an error passed, "" if it passed none.

    Such as `mine.py, line 30: poses = torch.einsum("bio,biop->bop", shares, votes)`.
    """
    lines = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__")).startswith(MODULE_PREFIX)
    ]
    if not lines:
        return ""
    filename, number = lines[-1]
    return f"{filename}, line {number}: {linecache.getline(filename, number).strip()}"
