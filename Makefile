# Each target does all of its own set-up, in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: quickstart test test-slow format clean

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
	$(BIN)/pytest -q -m slow

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "capsweep needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing into .venv (about a minute, once)"
	$(INSTALL) --editable .
	@touch $@

.venv/installed-dev: .venv/installed
	$(INSTALL) --editable ".[dev]"
	@touch $@
