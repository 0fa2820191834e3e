# Two commands for a fresh machine: `make demo` and `make test`. Both install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long lint install system clean

demo: install
	$(BIN)/beholder demo

test: $(VENV)/.dev system
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest -m "not long" -n auto --maxprocesses 4 --dist worksteal

test-long: $(VENV)/.dev system
	$(BIN)/pytest

install: $(VENV)/.installed system

system:
	@PYTHON=$(BIN)/python sh tools/install_system.sh

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . $$($(PYTHON) tools/dev_requirements.py)
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) beholder-demo beholder-demo-*
