# `make demo` and `make test` need Python 3 and make, and nothing else: they fetch the rest.

UV := $(shell command -v uv || echo .tools/bin/uv)
export PATH := $(CURDIR)/.tools/bin:$(PATH)
READY := .venv/.ready

# mutmut runs in the environment of the project, without being a part of it.
MUTMUT := $(UV) run --no-sync --with mutmut==3.8.1 mutmut

# The sets that docs/relevance.md has figures of.
JUDGED := cranfield chronoqa cmrc2018 xquad-en xquad-zh

.PHONY: help setup demo serve test soak check mutants relevance clean
.DEFAULT_GOAL := help

help:  ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Install uv if it is missing, Python 3.13 and the locked dependencies

$(READY): pyproject.toml uv.lock .python-version scripts/install-uv.sh
	@command -v $(UV) >/dev/null || scripts/install-uv.sh .tools
	$(UV) sync --locked
	@touch $@

demo: $(READY)  ## Ingest the examples and answer their queries, on real engines
	@exec .venv/bin/winnow demo

serve: $(READY)  ## Serve the API on port 8000; Ctrl-C ends it
	@exec .venv/bin/winnow serve

test: $(READY)  ## Run every test against the real engines
	.venv/bin/pytest

soak: $(READY)  ## Crashes, outages and random histories in full, on the real engines: about twenty minutes
	WINNOW_SOAK=1 .venv/bin/pytest tests/soak

check: $(READY)  ## Formatting, lint, types, import rules, template, lock drift, dependencies
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy .
	.venv/bin/lint-imports
	.venv/bin/cfn-lint template.yaml
	$(UV) lock --check
	.venv/bin/deptry .

mutants: $(READY)  ## Spoil the filter in some 3,500 places, and name those that no test misses
	rm -rf mutants
	PYTEST_ADDOPTS=--ignore=tests/integration $(MUTMUT) run "shared.metadata.*"
	$(MUTMUT) run "shared.postgres.conditions.*"
	$(MUTMUT) results
	.venv/bin/python scripts/mutants.py

relevance: $(READY)  ## Rank the judged sets in DATA by every way to search, and write docs/relevance.md; takes hours
	@test -d "$(DATA)" || { echo "DATA=FOLDER is needed, which holds $(JUDGED)." >&2; exit 2; }
	.venv/bin/winnow eval $(JUDGED:%=$(DATA)/%) --json docs/relevance.json
	.venv/bin/python -m bench.relevance docs/relevance.json

clean:  ## Remove what was built, and the demo's home
	rm -rf .aws-sam .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .winnow mutants

-include build.mk
