# make demo: the whole flow on handwritten digits. make test: all tests. Both set up .venv first, and work offline afterwards.

PYTHON ?= python3
JOBS ?= auto
FUZZ_SECONDS ?= 300
FUZZ_SEED ?= 1
PARSER_FUZZ_SECONDS ?= 80
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Each of these would compile the core, in a folder of its own; the one in the source tree is made once, for all environments.
INSTALL := VTA_WITHOUT_CORE=1 $(PIP) install --no-build-isolation --editable
NATIVE := $(wildcard native/*.py native/*/*.cc native/*/*.h)
PACKAGE := pyproject.toml setup.py

.PHONY: demo test pythons rtl opencl report optional site rtl-test fuzz fuzz-parsers fuzz-import lint types sanitize dist clean setup help

help:
	@echo "make demo      quantise, compile and run the digits network; results in out/demo"
	@echo "make test      run the tests (JOBS=n processes)"
	@echo "make pythons   both on the oldest and the newest other Python that is here"
	@echo "make rtl       what the tests of the hardware need; make test then runs them, too"
	@echo "make opencl    what the tests of the OpenCL kernel need; make test then runs them, too"
	@echo "make report    what pages for browsers need (Chromium too, for their tests, is a package of the system); make test then runs them, too"
	@echo "make optional  what searches, clusters, completion, notebooks, the site, cocotb and wake words need; make test then runs their tests, too"
	@echo "make site      the documents as pages, in build/site"
	@echo "make rtl-test  the tests of the hardware alone, and make fuzz"
	@echo "make fuzz      random programs on all engines for FUZZ_SECONDS (default 300) from FUZZ_SEED"
	@echo "make fuzz-parsers  damaged files for every reader of files, for PARSER_FUZZ_SECONDS (default 80) from FUZZ_SEED"
	@echo "make fuzz-import  random models, imported and compared with the frameworks, for FUZZ_SECONDS"
	@echo "make lint      ruff, and the order of imports; make types: mypy"
	@echo "make sanitize  simulator tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make dist      wheel and sdist, installed and tried in an empty environment"
	@echo "make clean     remove everything that was built"

demo: $(VENV)/.native
	$(BIN)/vta demo -o out/demo

test: setup
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(PYTEST_OPTIONS)

pythons:
	@for python in $$($(PYTHON) tools/pythons.py); do \
		echo "== $$python"; \
		$(MAKE) demo test PYTHON=$$python VENV=.venv-$$(basename $$python) || exit 1; \
	done

rtl: $(VENV)/.rtl

opencl: $(VENV)/.opencl

report: $(VENV)/.report

optional: $(VENV)/.optional

site: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

rtl-test: rtl
	$(BIN)/python -m pytest -n $(JOBS) tests/hardware tests/devices tests/cases/test_dependency_tokens.py tests/cases/test_large_transfers.py \
		tests/cases/test_sane_figures.py $(PYTEST_OPTIONS)
	$(MAKE) fuzz

fuzz: rtl
	$(BIN)/python -m vta.testing.fuzz --config sim sim_4x8 sim_1x8 --devices sim,cycle,rtl,stalled \
		--programs 1000000 --seed $(FUZZ_SEED) --limit-seconds $(FUZZ_SECONDS)

fuzz-parsers: setup
	$(BIN)/python -m vta.testing.parser_fuzz --mutants 1000000 --seed $(FUZZ_SEED) --limit-seconds $(PARSER_FUZZ_SECONDS)
fuzz-import: setup
	$(BIN)/python -m vta.testing.import_fuzz --graphs 100000 --seed $(FUZZ_SEED) --limit-seconds $(FUZZ_SECONDS)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-cache

types: setup
	$(BIN)/mypy

sanitize: setup
	PYTHON=$(BIN)/python sh tools/sanitize.sh

dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .
	PYTHON=$(BIN)/python sh tools/try_dist.sh dist

setup: $(VENV)/.dev

clean:
	rm -rf $(VENV) .venv-python* build dist out *.egg-info vta/_core* .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.created:
	@command -v g++ >/dev/null || { echo "g++ is missing (Debian: apt-get install g++)" >&2; exit 1; }
	PYTHON=$(PYTHON) sh tools/make_venv.sh $(VENV)
	$(PIP) install 'setuptools>=77' wheel 'cffi>=1.17'
	@touch $@

# The package is installed editable; the build runs in this environment, so that it needs no network later.
$(VENV)/.package: $(VENV)/.created $(PACKAGE)
	$(INSTALL) .
	@touch $@

$(VENV)/.native: $(VENV)/.package $(NATIVE)
	$(BIN)/python setup.py --quiet build_ext --inplace
	@touch $@

$(VENV)/.dev: $(VENV)/.native
	$(INSTALL) '.[dev]'
	@touch $@

$(VENV)/.rtl: $(VENV)/.dev
	$(INSTALL) '.[rtl]'
	@touch $@

$(VENV)/.opencl: $(VENV)/.dev
	$(INSTALL) '.[opencl]'
	@touch $@

$(VENV)/.report: $(VENV)/.dev
	$(INSTALL) '.[report]' 'selenium>=4.20'
	@touch $@

$(VENV)/.optional: $(VENV)/.dev
	$(INSTALL) '.[search,cluster,completion,docs,notebooks,cocotb]' 'pymicro-wakeword>=2'
	@touch $@

$(VENV)/.docs: $(VENV)/.native
	$(INSTALL) '.[docs]'
	@touch $@
