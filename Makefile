# make demo    fit Cora, embed 1000 newcomers, draw map.png
# make test    the tests
# make check   ruff and mypy
# Every target sets up its own virtual environment in .venv first.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check format clean

$(INSTALLED): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/sanne demo

test: $(INSTALLED)
	$(BIN)/python -m pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build dist src/*.egg-info
