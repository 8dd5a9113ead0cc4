# Each target does all of its own set-up, in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-annotate \
	--custom-compile-command "make lock"

.PHONY: quickstart test test-slow format lock clean

quickstart: .venv/installed
	$(BIN)/capsweep run quickstart
	$(BIN)/capsweep run quickstart_search

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n 2

test-slow: .venv/installed-dev
	$(BIN)/pytest -q -m slow -n 2 --dist worksteal --durations=8

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Newer versions of everything that is installed, each with the hashes of its files.
lock: .venv/bin/python
	$(INSTALL) uv
	$(LOCK) --upgrade --extra dev --output-file requirements-dev.txt
	$(LOCK) --extra aws --constraint requirements-dev.txt --output-file requirements.txt

clean:
	rm -rf .venv

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "capsweep needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml requirements.txt
	@echo "Installing into .venv (about a minute, once)"
	$(INSTALL) --require-hashes --requirement requirements.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(INSTALL) --require-hashes --requirement requirements-dev.txt
	@touch $@
