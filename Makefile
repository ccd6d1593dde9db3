# Every target sets up what it needs in .venv: a fresh machine wants only Python 3.11+, make and the package index.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Cluster tests wait more than they compute: two workers more than there are cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
# Of the control plane that control-plane builds and test-cluster runs on: `make test-cluster VERSION=1.36.4`.
ifdef VERSION
export MOORAGE_CONTROL_PLANE_VERSION := $(VERSION)
endif

# A run of the tests starts hundreds of processes: what one has compiled the others need not compile again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test check format bench control-plane test-cluster test-scaffold clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[36m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The runtime alone: what a user of the package gets.
$(VENV)/.runtime: pyproject.toml constraints.txt
	@echo "setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "moorage needs Python 3.11 or newer; set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25.1"
	@$(PIP) install --constraint constraints.txt --editable '.[speed]'
	@touch $@

# The tools of the workshop: tests, linters, types, and the clients of others that we test against.
$(VENV)/.dev: $(VENV)/.runtime
	@$(PIP) install --constraint constraints.txt --group dev --group peers
	@touch $@

setup: $(VENV)/.dev ## Create .venv with everything for development

demo: $(VENV)/.runtime ## Start a cluster in one process, schedule real workloads, show where each pod went and why
	@$(BIN)/moorage demo

test: $(VENV)/.dev ## The whole suite, on the embedded control plane (no network, no Docker)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

check: $(VENV)/.dev ## Format, lint, types, import layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.dev ## Put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(VENV)/.dev ## Measure decisions (and kube-scheduler beside them, where its binary is at hand)
	@$(BIN)/python -m bench

control-plane: $(VENV)/.runtime ## Build etcd, kube-apiserver, kube-scheduler and friends with Go into the user's cache
	@$(BIN)/python -m tools.control_plane

# Each of the two workers has a control plane of its own.
test-cluster: $(VENV)/.dev ## The cluster tests on a real control plane, its programs on ours (skipped with a clear line where Go is missing)
	@if $(BIN)/python -m tools.control_plane --check; then \
	  $(BIN)/python -m tools.control_plane && MOORAGE_TEST_CLUSTER=real $(BIN)/python -m pytest -n 2 --dist worksteal -q -m "cluster or stock"; \
	else \
	  echo "test-cluster skipped: no control plane binaries, and no Go to build them with"; \
	fi

test-scaffold: $(VENV)/.dev ## A new plugin's package passes its own tests where only a wheel of moorage is installed
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	$(PIP) wheel --no-deps --wheel-dir "$$folder" .; wheel=$$(echo "$$folder"/moorage-*.whl); \
	$(PYTHON) -m venv "$$folder/fresh"; "$$folder/fresh/bin/pip" install --quiet --disable-pip-version-check "$$wheel"; \
	"$$folder/fresh/bin/moorage" new plugin prefer-green --points all --into "$$folder"; \
	cp "$$folder/prefer-green/manifests.yaml" "$$folder/made.yaml"; \
	$(MAKE) --no-print-directory -C "$$folder/prefer-green" test manifests MOORAGE="$$wheel"; \
	cmp "$$folder/made.yaml" "$$folder/prefer-green/manifests.yaml"; \
	cd "$$folder/prefer-green" && .venv/bin/moorage config validate scheduler.yaml

clean: ## Remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
