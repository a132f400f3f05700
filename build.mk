# What is deployed: `make build`, `make lock`, `make sam-local`. The Makefile includes this file.

# SAM CLI has an environment of its own: it depends on much that nothing else here needs.
# uv runs it with .venv on the PATH, because it builds with the Python that it finds there.
SAM_CLI_VERSION := 1.170.0
SAM_ENVIRONMENT := uv run --no-sync uv tool run --from aws-sam-cli==$(SAM_CLI_VERSION)
SAM := $(SAM_ENVIRONMENT) sam
export SAM_CLI_TELEMETRY := 0

# Lambda's disk is read-only: what comes without .pyc files is compiled at each cold start. Theirs are
# valid unchecked, as no source changes under them, and name the sources as Lambda has them.
COMPILE := .venv/bin/python -W ignore::SyntaxWarning -m compileall -q --invalidation-mode unchecked-hash

BUILT := .aws-sam/build/template.yaml
EXPANDED := .aws-sam/expanded.json
EMULATOR := .aws-sam/aws-lambda-rie
# Folders are listed too: theirs is the time at which a file came or went.
BUILT_FROM := build.mk template.yaml samconfig.toml \
	$(shell find functions shared layers -name __pycache__ -prune -o -print)

.PHONY: build lock sam-local
.DELETE_ON_ERROR:

build: $(BUILT)  ## Build what Lambda runs, and look at it as Lambda does
	$(SAM) validate --lint --region us-east-1
	.venv/bin/pytest tests/template

lock:  ## Write uv.lock, and from it the requirements of the layers
	$(UV) lock
	$(UV) run --frozen python -m layers.lock

sam-local: $(BUILT)  ## Run every event through `sam local invoke`: needs Docker, or root on Debian
	SAM="$(SAM)" scripts/sam-local.sh

$(BUILT): $(BUILT_FROM) | $(READY)
	$(SAM) build
	for each in $(@D)/*Function; do $(COMPILE) -s $$each -p /var/task $$each || exit; done
	for each in $(@D)/*Layer; do $(COMPILE) -s $$each -p /opt $$each || exit; done

$(EXPANDED): template.yaml scripts/expand_template.py | $(READY)
	mkdir -p $(@D)
	$(SAM_ENVIRONMENT) python scripts/expand_template.py $@

# The Lambda Runtime Interface Emulator, which SAM CLI brings along.
$(EMULATOR): build.mk | $(READY)
	mkdir -p $(@D)
	$(SAM_ENVIRONMENT) python -c 'import pathlib, samcli, shutil; shutil.copy( \
		pathlib.Path(samcli.__file__).parent / "local/rapid/aws-lambda-rie-x86_64", "$@")'
