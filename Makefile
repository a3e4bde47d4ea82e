# weft's tasks. Each makes the environment that it needs; nothing is installed outside this folder.
#   make demo              train a classifier of handwritten digits, and a model that writes Python
#   make test [k=scan]     run the tests, or matching ones, or a folder (k=lax); JOBS=4 processes
#   make test WHOLE=1      run all combinations of parameters; SEED=7 takes another sample
#   make check-change      check the files that differ from main, in a minute
#   make check             check everything: lint, types, tests
#   make test-newest       run the engine's tests on the newest Python and jaxlib
#   make test-ecosystem    run programs of 20 libraries for JAX, and samples of their tests, on weft;
#                          QUICK=1 leaves out the samples, k=flax runs the programs that match
#   make bench [PEERS=jax,torch] [ONLY=eager,step] [QUICK=1]
#   make tune              measure the sizes up to which NumPy is faster: core/host_policy.py
#   make accuracy          measure the error of every elementwise function: docs/accuracy.md
#   make exports           write the __init__ files of namespaces, and their stubs, from their modules
#   make names             list the names of JAX that weft does not have, with the reasons
#   make docs              write the site into build/docs, and check links and search
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

JOBS ?= $(shell n=$$(env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2); echo $$((n < 8 ? n : 8)))
PEERS ?= jax
PIP := -m pip install --quiet --disable-pip-version-check
comma := ,

# A Python that can make environments: 3.11 if it is here (the oldest that weft runs on), or a later one.
works = $(1) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	if $(call works,$$p); then command -v $$p; break; fi; done)

.PHONY: help demo test test-newest test-ecosystem bench tune accuracy lint format exports names types \
	docs check-change check clean

help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/.demo
	.venv/bin/python examples/demo.py

# k=lax, k=tests/lax and k=test_loops.py collect that folder or file only; k=scan is an expression.
named = $(filter tests/%,$(wildcard $(k) tests/$(k) tests/*/$(k) tests/*/*/$(k)))
chosen = $(if $(filter 1,$(words $(k))),$(named))

test: .venv/.test
	.venv/bin/python -m pytest -n $(JOBS) --dist worksteal $(if $(WHOLE),--whole) \
		$(if $(SEED),--sample-seed $(SEED)) $(or $(chosen),$(if $(k),-k "$(k)"))

test-newest:
	$(PYTHON) tests/newest.py -n $(JOBS) -q $(if $(k),-k "$(k)")

# The libraries of 2024 and those of today side by side. Their own plugins for pytest stay out: they
# would be imported before there is a jax.
samples = $(if $(k)$(QUICK),,yes)
test-ecosystem: .venv-ecosystem/.ready $(if $(samples),.venv-ecosystem/.samples)
	run() { PYTHONPATH=.venv-ecosystem/$$1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \
		WEFT_CACHE_DIR=$(CURDIR)/.venv-ecosystem/programs \
		.venv-ecosystem/bin/python -m pytest -q -p pytest_timeout --era=$$1 \
		-c tests/ecosystem/pytest.ini $(addprefix tests/ecosystem/,compare.py imports.py serialization.py) \
		$(if $(k),-k "$(k)") $(if $(samples),&& WEFT_CACHE_DIR=$(CURDIR)/.venv-ecosystem/programs \
		.venv-ecosystem/bin/python tests/ecosystem/samples.py $$1 .venv-ecosystem); }; \
	status=0; run 2024 >.venv-ecosystem/2024.log 2>&1 & run today || status=$$?; \
	wait $$! || status=$$?; cat .venv-ecosystem/2024.log; exit $$status

# The peers' environments (.venv-jax, .venv-torch) are made on demand, of pyproject.toml's extras.
bench: .venv/.base
	.venv/bin/python benchmarks/run.py --peers $(PEERS) $(if $(QUICK),--quick) $(subst $(comma), ,$(ONLY))

tune: .venv/.base
	WEFT_CACHE_DIR= .venv/bin/python benchmarks/tune.py

accuracy: .venv/.test
	.venv/bin/python benchmarks/accuracy.py

lint: .venv/.lint
	.venv/bin/ruff check src tests examples benchmarks
	.venv/bin/ruff format --check src tests examples benchmarks
	.venv/bin/python -m pytest -q -p no:cacheprovider tests/structure

format: .venv/.lint
	.venv/bin/ruff check --fix-only src tests examples benchmarks
	.venv/bin/ruff format src tests examples benchmarks

exports: .venv/bin/python
	.venv/bin/python tests/structure/exports.py
	.venv/bin/python tests/structure/name_table.py

names: .venv/.base
	.venv/bin/python tests/names/compare.py

types: .venv/.lint
	.venv/bin/mypy

docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	.venv/bin/python docs/site/check_search.py build/docs
	@echo "python3 -m http.server --directory build/docs 8000    # the search needs a server"

check-change: .venv/.lint
	.venv/bin/python tests/structure/check_change.py $(BRANCH)

check: lint types test

clean:
	rm -rf .venv .venv-* build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Libraries that need jax: without what they need, so that no jax can be imported there.
needs = tests/ecosystem/requirements
.venv-ecosystem/.ready: pyproject.toml $(needs)/common.txt $(wildcard $(needs)/libraries_*.txt)
	@test -n "$(PYTHON)" || { echo "weft needs Python 3.11 or newer, with venv; none was found" >&2; exit 1; }
	rm -rf .venv-ecosystem
	$(PYTHON) -m venv .venv-ecosystem
	.venv-ecosystem/bin/python $(PIP) -e . -r $(needs)/common.txt
	for era in 2024 today; do .venv-ecosystem/bin/python $(PIP) --no-deps \
		--target .venv-ecosystem/$$era -r $(needs)/libraries_$$era.txt; done
	touch $@

.venv-ecosystem/.samples: .venv-ecosystem/.ready $(needs)/samples.txt
	.venv-ecosystem/bin/python $(PIP) -r $(needs)/samples.txt
	touch $@

# Environments. A stamp says which extras are in one; a changed pyproject.toml installs again.
.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "weft needs Python 3.11 or newer, with venv; none was found" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.base: pyproject.toml | .venv/bin/python
	.venv/bin/python $(PIP) -e .
	touch $@

.venv/.test: pyproject.toml | .venv/bin/python
	.venv/bin/python $(PIP) -e '.[test,interop,tf]'
	touch $@

.venv/.lint: pyproject.toml | .venv/bin/python
	.venv/bin/python $(PIP) -e '.[lint,test,interop,tf]'
	touch $@

.venv/.docs: pyproject.toml | .venv/bin/python
	.venv/bin/python $(PIP) -e '.[docs]'
	touch $@

.venv/.demo: pyproject.toml | .venv/bin/python
	@echo "installing weft, scikit-learn and matplotlib into .venv (up to 170 MB to download)"
	.venv/bin/python $(filter-out --quiet,$(PIP)) -e '.[train,viz]'
	touch $@
