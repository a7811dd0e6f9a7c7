# Fresh clone: "make demo" shows the library at work, "make test" checks it.
# Everything is installed into $(VENV); nothing outside this folder is touched.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
TESTS  ?= tests
PEERS  ?= $(VENV)-peers
BENCH  ?= $(VENV)-bench

# For test-slow: where to look for newer Pythons, and the second type checker (it brings its own node).
found      = $(shell for p in python$(1) $(HOME)/.pyenv/versions/$(1)*/bin/python; do \
                 if "$$p" -c "import venv" >/dev/null 2>&1; then echo "$$p"; break; fi; done)
PYTHON312 ?= $(call found,3.12)
PYTHON313 ?= $(call found,3.13)
PYRIGHT   := pyright[nodejs]>=1.1.400

.PHONY: demo play test test-slow browser scripts peers lint english tree types layers unit coverage docs format bench records clean help
.DELETE_ON_ERROR:

help:
	@echo 'make demo       solve and cross-check a dice game, after installing into $(VENV)'
	@echo 'make play       the page in the browser: play any game, with advice'
	@echo 'make test       style, types, architecture, documentation, tests: what a change must pass'
	@echo 'make test-slow  coverage, the slow tests, pyright, and the tests against an installed wheel, also on Python 3.12 and 3.13'
	@echo 'make browser    every game played in a browser: writes browser.json'
	@echo 'make peers      other solvers (Storm, QuantEcon, ...) answer for exported models'
	@echo 'make coverage   the tests, and how much of the code they run'
	@echo 'make docs       the documentation, in docs/_build/html'
	@echo 'make english    phrases that read as if translated, with what to write instead; part of make test'
	@echo 'make format     let ruff lay out the code'
	@echo 'make bench      the benchmarks, beside other solvers'
	@echo 'make records    the cheap records of docs/records.json, computed again; RECORDS=--all computes every one'
	@echo 'make clean      remove what was built, except $(VENV)'

# --- Installation: repeated only when pyproject.toml has changed ---

# pip compiles what it copies, and an editable installation stays where it is. Where PYTHONDONTWRITEBYTECODE is set,
# every command would compile it anew.
COMPILE := @$(BIN)/python -m compileall -q mdpdice games solvers

$(BIN)/python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'mdpdice needs Python 3.11 or newer, and "$(PYTHON)" is not. Try: make PYTHON=python3.12 ...' >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' || { \
	    echo '"$(PYTHON)" cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo 'Installing mdpdice into $(VENV); the first time this takes a minute or two.'
	$(BIN)/python -m pip install -qq --editable .
	$(COMPILE)
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo 'Installing mdpdice and its development tools into $(VENV); the first time this takes a few minutes.'
	$(BIN)/python -m pip install -qq --editable '.[dev,docs,plot,remote,serve,umb]'
	$(COMPILE)
	@touch $@ $(VENV)/.installed

# --- Use ---

demo: $(VENV)/.installed
	$(BIN)/mdpdice crosscheck farkle
	$(BIN)/python examples/kcd_public_solver.py
	@echo 'To play, with advice: "make play" in the browser, "$(BIN)/mdpdice play farkle" in the terminal.'

play: $(VENV)/.installed
	@$(BIN)/python -c 'import starlette, uvicorn' 2>/dev/null || $(BIN)/python -m pip install -qq --editable '.[serve]'
	$(BIN)/mdpdice serve --open

# The peers come into an environment of their own; those that cannot be had on a platform are reported as missing.
bench: $(VENV)/.installed
	$(BIN)/python -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install -qq --editable '.[peers]' || $(BENCH)/bin/python -m pip install -qq --editable .
	@failed=; for script in first exploration strategies sweeps games flat averages; do echo "== $$script"; \
	    $(BENCH)/bin/python benchmarks/$$script.py || failed="$$failed $$script"; done; \
	    [ -z "$$failed" ] || { echo "goals not met:$$failed" >&2; exit 1; }

# Names of records, --all or --write: see docs/records.py.
records: $(VENV)/.installed
	$(BIN)/python docs/records.py $(RECORDS)

# --- Checks ---

# What reads only the source runs side by side, on two cores; what takes longest comes first.
test: $(VENV)/.installed-dev
	$(MAKE) --jobs=2 --output-sync docs types layers lint english
	$(MAKE) unit

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

english:
	@$(PYTHON) docs/english.py

tree: $(VENV)/.installed-dev
	$(BIN)/python .ci/link_tree.py

types: tree
	$(BIN)/mypy
	$(BIN)/mypy examples

layers: tree
	cd .typed && ../$(BIN)/lint-imports ../pyproject.toml

# The examples in the text are run by tests/docs and tests/packaging.
docs: $(VENV)/.installed-dev
	$(BIN)/sphinx-build -W -n --keep-going -q -b html docs docs/_build/html

# Two processes, as many as the smallest machine that this is meant for has cores.
unit: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist loadfile $(TESTS)

coverage: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=term $(TESTS)

# The page, in Debian's chromium. With --pictures FOLDER the script takes a picture of every game.
browser: $(VENV)/.installed-dev
	$(BIN)/python tests/web/browser.py

# The types in the comments of the page's modules. Node's npm brings the compiler; without it they are not checked.
SCRIPTS := --noEmit --allowJs --checkJs --strict --noUnusedLocals --target es2023 --module es2022 \
    --moduleResolution bundler --lib es2023,dom,dom.iterable
scripts:
	@if command -v npm >/dev/null; then \
	    npm exec --yes --package=typescript@5.9 -- tsc $(SCRIPTS) mdpdice/web/static/*.js; \
	else echo 'NOT CHECKED: the types of the page need npm'; fi

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format .

# Run the whole suite against the wheel, in a clean environment and away from the checkout, whose
# folders would shadow what is installed.  The wheel is built from the sdist, so that one is tested too.
define test_wheel
	scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && \
	$(BIN)/python -m build --outdir "$$scratch/dist" . && \
	"$(1)" -m venv "$$scratch/venv" && \
	"$$scratch/venv/bin/python" -m pip install -qq "$$(echo "$$scratch"/dist/*.whl)[dev,docs,plot,remote,serve,umb]" && \
	"$$scratch/venv/bin/python" -m pip list 2>/dev/null | grep -i -E '^(mdpdice|numpy|pulp) ' && \
	cd "$$scratch" && venv/bin/python -P -m pytest -n 2 --dist loadfile -p no:cacheprovider $(addprefix $(CURDIR)/,$(TESTS))
endef

# Other people's solvers answer for exported models, in an environment of their own.  They are not made for
# every platform; where they are not, this step fails and says which one is missing.  UMB needs Python 3.12, which is
# taken where there is one.
peers: $(VENV)/.installed-dev
	"$(or $(PYTHON312),$(BIN)/python)" -m venv --clear $(PEERS)
	$(PEERS)/bin/python -m pip install -qq --editable '.[peers]'
	cd $(PEERS) && MDPDICE_PEERS=1 bin/python -P -m pytest -p no:cacheprovider $(CURDIR)/tests/formats/peers

test-slow: coverage peers tree scripts
	$(BIN)/python -m pip install -qq '$(PYRIGHT)'
	$(BIN)/pytest -m slow $(TESTS)
	cd .typed && ../$(BIN)/pyright --pythonpath ../$(BIN)/python
	$(call test_wheel,$(BIN)/python)
	$(if $(PYTHON312),$(call test_wheel,$(PYTHON312)),@echo 'NOT TESTED on Python 3.12: set PYTHON312=/path/to/python3.12')
	$(if $(PYTHON313),$(call test_wheel,$(PYTHON313)),@echo 'NOT TESTED on Python 3.13: set PYTHON313=/path/to/python3.13')

clean:
	rm -rf .typed build dist mdpdice.egg-info docs/_build docs/_gallery docs/_pages browser.json .coverage .coverage.* \
	    .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find mdpdice games solvers tests examples benchmarks docs -name __pycache__ -prune -exec rm -rf {} +
