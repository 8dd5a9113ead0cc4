"""Ray as it is in the command line: with token authentication."""

import os

os.environ.setdefault("RAY_AUTH_MODE", "token")  # which ray reads when a test first imports it
