#!/usr/bin/env bash
# The fast tests with the oldest releases that pyproject.toml allows, in .venv-lowest.
# Run it after a lower bound was changed; with other packages it finds out where a bound can be.
set -euo pipefail
cd "$(dirname "$0")/.."
"${PYTHON:-python3}" -m venv .venv-lowest
.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python \
  --resolution lowest-direct --editable ".[dev]"
.venv-lowest/bin/pytest -q -n 2
