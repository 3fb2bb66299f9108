# What `make run` does: the whole loop against a rehearsal robot.
LOOP = trueup run --out out/run

# The first of these that is Python 3.11 or newer makes .venv; `make PYTHON=...` names another.
PYTHONS = $(or $(PYTHON),python3 python3.13 python3.12 python3.11)

BIN = .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_NO_INPUT = 1

.PHONY: help run test test-lerobot check bench docs clean system
.NOTPARALLEL:

help:  ## print this list (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

run: .venv/installed-run  ## install trueup in .venv and go round the loop once: it needs no robot and no GPU
	$(BIN)/$(LOOP)

test: system check  ## install what drawing and a browser need from the system, then `make check` (what CI runs)

check: .venv/installed-dev  ## format, lint, types and tests; `make check PYTEST="-m 'not slow'"` for less
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/pyright
	$(BIN)/pytest -n auto --dist loadfile --durations=10 --durations-min=1 $(PYTEST)

test-lerobot: .venv-lerobot/installed  ## what needs the real LeRobot, in .venv-lerobot (gigabytes)
	.venv-lerobot/bin/pytest tests/lerobot $(PYTEST)

bench: .venv/installed-bench  ## measure speed, beside the peer packages, and print a table
	$(BIN)/python -m benchmarks $(BENCH)

docs: run  ## go round the loop, and draw the pictures of the tutorial from it
	$(BIN)/python tools/tutorial_pictures.py out/run docs

clean:  ## remove .venv and caches; run folders in out/ stay
	rm -rf .venv .venv-lerobot build dist .pytest_cache .ruff_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

system: .venv/installed-dev
	@$(BIN)/python tools/offscreen_gl.py
	@$(BIN)/python tools/browser.py

# The dependencies of each target: none, or the extra of that name.
.venv/installed-run: EXTRA =
.venv/installed-%: EXTRA = [$*]
.venv/installed-run .venv/installed-dev .venv/installed-bench: .venv/installed-%: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing trueup$(EXTRA) into .venv (a minute or two)"
	@$(BIN)/python -m pip install -qq --progress-bar off -c constraints.txt -e '.$(EXTRA)'
	@touch $@

# LeRobot wants other versions of some packages than ours, so it lives apart and nothing pins it there.
.venv-lerobot/installed: pyproject.toml | $(BIN)/python
	@$(BIN)/python -m venv .venv-lerobot
	@echo "Installing trueup[lerobot] into .venv-lerobot (several minutes)"
	@.venv-lerobot/bin/python -m pip install -qq --progress-bar off -e '.[lerobot]' 'pytest>=9' 'hypothesis>=6.120'
	@touch $@

$(BIN)/python:
	@for python in $(PYTHONS); do \
	    if "$$python" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then "$$python" -m venv .venv; exit; fi; \
	done; \
	echo "trueup needs Python 3.11 or newer with its venv module, and none of '$(PYTHONS)' is that:" \
	    "install one (Debian: apt-get install python3-venv), or name it with make PYTHON=/path/to/python." >&2; \
	exit 1
