# Each target does all of its own set-up, in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Says every ten seconds how far an installation is: pip itself is silent for minutes while it
# unpacks. What it downloads is put where it counts too, and not in /tmp, which may be small.
SHOW_PROGRESS = mkdir -p .venv/downloads; export TMPDIR="$(CURDIR)/.venv/downloads"; \
	(while sleep 10 <&- >&- 2>&-; kill -0 $$$$; do echo "  $$(du -sm .venv | cut -f1) MB are in .venv"; done) 2> /dev/null & \
	progress=$$!; trap "kill $$progress; rm -rf .venv/downloads" EXIT;
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate \
	--custom-compile-command "make lock"
EC2 := tests/cluster/emulated_ec2

# Writes the requirements of the second file that the first lacks: a name and its indented hashes.
define ONLY_IN_SECOND
NR == FNR { is_known[$$0]; next }
/^#/ { print; next }
!has_begun++ { print "-r requirements.txt" }
/^[^ ]/ { is_wanted = !($$0 in is_known) }
is_wanted
endef
export ONLY_IN_SECOND

.PHONY: quickstart test test-slow test-plain-ray test-cluster test-nightly format lock clean

quickstart: .venv/installed
	$(BIN)/capsweep run quickstart
	$(BIN)/capsweep run quickstart_search

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pyright & types=$$!; $(BIN)/pytest -q -n 2 --durations=8; tests=$$?; wait $$types && exit $$tests

# Only the files with slow tests, as to import all takes half a minute. -m overrides the one in
# pyproject.toml, so each target here excludes what is nightly itself.
test-slow: .venv/installed-dev
	$(BIN)/pytest -q -m "slow and not nightly" -n 2 --dist worksteal --durations=8 \
		$$(grep -rl --include="test_*.py" "mark\.slow" tests)

# Without the private parts of Ray that only save time.
test-plain-ray: .venv/installed-dev
	CAPSWEEP_PLAIN_RAY=1 $(BIN)/pytest -q -m "slow and not nightly" tests/end_to_end/test_kills.py

# Several hosts with ssh servers on this machine, which takes root and Debian's openssh-server; for
# the emulated EC2 also rsync, which Ray calls. The tests of a file share its hosts, so each file
# stays in one process; the longest files begin.
test-cluster: .venv/installed-dev .venv-moto/installed
	$(BIN)/pytest -q -m "cluster and not nightly" -n 2 --dist loadfile --no-loadscope-reorder --durations=8 tests/cluster

# What .ci/run runs, then what it leaves out; shapes are checked in every test.
test-nightly: export CAPSWEEP_CHECK_SHAPES = 1
test-nightly: test test-slow test-plain-ray test-cluster
	$(BIN)/pytest -q -m "nightly and not gpu" -n 2 --dist loadfile --durations=8

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Newer versions of everything that is installed, each with the hashes of its files.
lock: .venv/bin/python
	$(INSTALL) uv
	$(LOCK) pyproject.toml --upgrade --extra dev --output-file .venv/all-requirements.txt
	$(LOCK) pyproject.toml --extra sweeps --extra aws --extra postgres --constraint .venv/all-requirements.txt --output-file requirements.txt
	awk "$$ONLY_IN_SECOND" requirements.txt .venv/all-requirements.txt > requirements-dev.txt
	$(LOCK) $(EC2)/requirements.in --upgrade --output-file $(EC2)/requirements.txt

clean:
	rm -rf .venv .venv-lowest .venv-moto

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "capsweep needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml requirements.txt
	@echo "Installing into .venv, once: several GB and some minutes, see docs/install.md"
	@$(SHOW_PROGRESS) $(INSTALL) --require-hashes --requirement requirements.txt
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	@echo "Installing what the tests need into .venv"
	@$(SHOW_PROGRESS) $(INSTALL) --require-hashes --requirement requirements-dev.txt
	@touch $@

# apart from .venv, as moto has its own wishes for what both need
.venv-moto/installed: .venv/bin/python $(EC2)/requirements.txt
	.venv/bin/python -m venv .venv-moto
	.venv-moto/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(EC2)/requirements.txt
	@touch $@
