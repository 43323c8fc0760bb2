# Everything runs in .venv, made from the hash-pinned requirements-dev.lock. Needed: make, bash and Python 3.11 to 3.13.
# Another interpreter than python3: make run PYTHON=python3.12

PYTHON ?= python3
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN := .venv/bin
PACKAGES := agent media harness_tools transports
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
READY := .venv/.ready-$(VERSION)
PIP := $(BIN)/python -m pip --disable-pip-version-check
COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: help run demo weights test check soak bench lock changelog clean environment generated
.PHONY: check-format check-lint check-types check-imports check-generated check-unit

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: demo ## A call between a scripted caller and the scripted agent, with a report at the end

demo: environment ## The same as run
	@$(BIN)/venus demo

weights: environment ## Install the speech models, where they are not: once, some 330 MB
	@$(BIN)/venus models install --all

test: environment weights ## Every test; long loops at one tenth
	@$(BIN)/python -m pytest

soak: environment weights ## Every test, long loops in full
	@VENUS_SOAK=1 $(BIN)/python -m pytest

bench: environment weights ## Every benchmark; prints figures
	@$(BIN)/venus bench core
	@$(BIN)/venus bench voice

check: environment ## Format, lint, types, import rules, generated files, unit tests
	@$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=target \
		check-unit check-types check-format check-lint check-imports check-generated

check-format:
	@$(BIN)/ruff format --check --quiet . || { echo "format: run .venv/bin/ruff format ."; exit 1; }

check-lint:
	@$(BIN)/ruff check .

check-types:
	@$(BIN)/mypy $(PACKAGES)

check-imports:
	@$(BIN)/lint-imports --no-logo

check-generated:
	@$(BIN)/python -m agent.frontends.generate --check
	@$(BIN)/python -m agent.timeline.catalogue_page --check

check-unit:
	@$(BIN)/python -m pytest -q -m unit

generated: environment ## Write the generated files anew
	@$(BIN)/python -m agent.frontends.generate
	@$(BIN)/python -m agent.timeline.catalogue_page

lock: environment ## Resolve the dependencies of pyproject.toml anew
	@$(COMPILE) --upgrade --output-file=requirements.lock pyproject.toml
	@$(COMPILE) --upgrade --extra=dev --constraint=requirements.lock --output-file=requirements-dev.lock pyproject.toml

changelog: environment ## Gather changes/ into CHANGELOG.md for the version of pyproject.toml
	@$(BIN)/towncrier build --yes --version "$$($(BIN)/python -c 'import importlib.metadata as m; print(m.version("venus-line"))')"

clean: ## Remove the environment, caches and build results
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

environment: $(READY)

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null || \
		{ echo "$(PYTHON) is $(or $(VERSION),not there); Python 3.11, 3.12 or 3.13 is needed: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
		{ echo "$(PYTHON) has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Setting up .venv from requirements-dev.lock: once, about a minute."
	@$(BIN)/python -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != "$(VERSION)")' 2>/dev/null || $(PYTHON) -m venv --clear .venv
	@wanted=$$(grep -c '==' requirements-dev.lock); [ -t 1 ] && tty=1 || tty=0; \
	$(PIP) install --no-color --progress-bar=off --require-hashes -r requirements-dev.lock 2>&1 | tee .venv/install.log | \
		awk -v wanted=$$wanted -v tty=$$tty \
			'/^Collecting|^Processing|^Requirement already/ { ++n; if (tty) printf "\r  %d of %d packages", n, wanted; fflush() } \
			/^Installing collected/ { printf "\r  %d packages fetched, installing\n", n; fflush() }' || \
		{ grep -v '^Collecting\|^Processing\|^  Using\|^  Downloading' .venv/install.log | tail -n 20; exit 1; }
	@$(PIP) install --no-deps --no-build-isolation -e . >>.venv/install.log 2>&1 || { tail -n 20 .venv/install.log; exit 1; }
	@rm -f .venv/.ready-* && touch $@
