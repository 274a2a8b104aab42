# The lab's commands. Each sets up what it needs; `make setup` does that alone.
#   make figures            the first paper's figures and the verdicts on its claims: results/output_alignment/report.html
#   make figures-all        the same with the figures beyond the paper
#   make theory             the paper's appendix B checked by machine, and its optima against trained models
#   make alignment          long-short misalignment and its regularizer on miniature language models
#   make demo               the classroom: watch models learn, live, in a browser
#   make test               the tests that take minutes together; make test-slow, those that take long by themselves;
#                           make test-browser, the classroom and the site in Chromium
#   make screenshots        the picture of the classroom in docs/classroom.md
#   make docs               the documentation as a site that needs no network: site/index.html
#   make bench              how fast the lab is on this machine, and against what; make bench ARGS=gpu, on its GPU
#   make reference          train the committed reference run (half a day on 2 cores); make reference-list says how long here;
#                           make readme renews its tables
#   make figures ARGS="seeds=20 results=/tmp/other"

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS_READY := $(VENV)/.extras-ready
BROWSER_READY := $(VENV)/.browser-ready
DOCS_READY := $(VENV)/.docs-ready
EXTRAS := bench,sweep,slurm,ray,s3,s3-server,wandb,tensorboard,lm,extend,evaluate
INSTALL = PIP_CONSTRAINT="$(CURDIR)/constraints.txt" $(BIN)/python -m pip install -qq --disable-pip-version-check
# Hundreds of processes start in the tests: what one has compiled, the others read.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.PHONY: setup figures figures-all theory alignment demo test test-slow test-browser screenshots docs bench reference reference-list readme lint clean
.DELETE_ON_ERROR:

setup: $(READY)

# pip also builds the packages that come as source under these pins (PIP_CONSTRAINT reaches the builds).
$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "error: synthlab needs Python 3.11 or later; name one with make PYTHON=..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e '.[dev]'
	@touch $@

# Of the extras only what is imported is compiled, when it is: most modules never are.
$(EXTRAS_READY): $(READY)
	$(INSTALL) --no-compile -e '.[$(EXTRAS)]'
	@touch $@

$(BROWSER_READY): $(READY)
	$(INSTALL) --no-compile -e '.[browser]'
	@touch $@

$(DOCS_READY): $(READY)
	$(INSTALL) --no-compile -e '.[docs]'
	@touch $@

figures: $(READY)
	@$(BIN)/python -m experiments output_alignment $(ARGS)

figures-all: $(READY)
	@$(BIN)/python -m experiments output_alignment/all $(ARGS)

theory: $(READY)
	@$(BIN)/python -m theory $(ARGS)

alignment: $(READY)
	@$(BIN)/python -m experiments long_short_alignment $(ARGS)

demo: $(READY)
	@$(BIN)/python -m classroom $(ARGS)

# The reference run: experiments/reference.yaml. Stopped, it goes on where it was; make reference-list says what is missing.
reference: $(READY)
	@$(BIN)/python -m experiments.reference train results/reference
	@$(BIN)/python -m theory results=results/reference
	@$(MAKE) bench && cp results/bench/bench.json docs/reference/bench.json
	@$(BIN)/python docs/speed_pictures.py
	@$(BIN)/python -m experiments.reference keep results/reference

reference-list: $(READY)
	@$(BIN)/python -m experiments.reference list results/reference

# The tables in the README and in docs/, from the reference run, its bench.json and the papers' deviations.yaml.
readme: $(READY)
	@$(BIN)/python -m experiments.reference

# Neighbours in a file share what they prepare: each process takes a row of tests, and the rest of another's at its end.
test: $(READY)
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow and not browser" $(ARGS)

test-slow: $(EXTRAS_READY)
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "slow and not browser" $(ARGS)

# One after the other: they watch the clock.
test-browser: $(BROWSER_READY) docs
	@$(BIN)/python -m pytest -m browser tests/classroom tests/docs tests/experiments/test_atlas.py $(ARGS)

screenshots: $(BROWSER_READY)
	@PYTHONPATH=tests $(BIN)/python tests/classroom/screenshots.py

# A warning ends it, and so does a page that would fetch something from elsewhere (docs/conf.py).
docs: $(DOCS_READY)
	@rm -rf site
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html -d site/.doctrees docs site
	@echo "written: site/index.html"

bench: $(EXTRAS_READY)
	@$(BIN)/python -m experiments.bench $(ARGS)

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-logo && $(BIN)/basedpyright

clean:
	rm -rf $(VENV) dist site .pytest_cache .ruff_cache .hypothesis
