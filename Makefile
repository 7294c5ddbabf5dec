# make demo    fit Cora, embed 1000 newcomers, draw map.png
# make showcase   Debian's packages: fit, predict the sections of new ones, draw a map, serve a page (SHOWCASE=--once: ends then)
# make test    the tests
# make fresh   make demo and make test as on a new machine: an empty folder, an empty home
# make portable   the tests that compute, with the kernels of other processors, other threads and in random order
# make check   ruff and mypy
# make docs    the documentation site in site/, links checked, every code block run
# make fuzz-serve, make crash-serve   the server's tests with 2,000 requests and with 1,000 nodes around a kill -9
# make faults  everything that can go wrong, many times over, and a table of what was lost
# make wheel   build wheel and source archive into dist/, install the wheel in an empty environment, run it there
# make image-check   the steps of the Dockerfile without a container engine, and a server from a bundle
# make bench   the measurements of benchmarks/results, rivals included
# make format  what ruff can mend by itself
# make browser Chromium, for the tests of the page
# make clean   remove the environments and everything built
# Every target sets up its own virtual environment in .venv first.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
SHOWN := .venv/.shown
RIVALS := .venv-rivals/.installed

.PHONY: demo showcase test browser fresh portable check docs faults wheel image-check fuzz-serve crash-serve bench format clean

$(INSTALLED): pyproject.toml research/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e research
	touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/sanne demo

# Only what it needs: the environment of the tests is much larger.
$(SHOWN): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[plot,serve]"
	touch $(SHOWN)

showcase: $(SHOWN)
	$(BIN)/python examples/showcase.py $(SHOWCASE)

test: $(INSTALLED) browser
	$(BIN)/python -m pytest -n 2 --dist loadfile -rfEs

browser: $(INSTALLED)
	$(BIN)/python tests/browser.py

fresh:
	bash tests/fresh.sh

portable: $(INSTALLED)
	$(BIN)/python tests/portable.py $(PORTABLE)

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(INSTALLED) browser
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	$(BIN)/python -m pytest -m "" tests/docs

fuzz-serve: $(INSTALLED)
	SANNE_FUZZ_CASES=2000 $(BIN)/python -m pytest -s tests/serve/test_routes_fuzzed.py

crash-serve: $(INSTALLED)
	SANNE_CRASH_POSTS=1000 $(BIN)/python -m pytest -s tests/serve/test_crash.py

faults: $(INSTALLED)
	SANNE_FAULTS=1 $(BIN)/python -m pytest -m "" tests/faults

wheel: $(INSTALLED)
	SANNE_WHEEL=full $(BIN)/python -m pytest -m "" -v --durations=0 tests/test_wheel.py

image-check:
	$(PYTHON) tests/image.py

# PecanPy needs numpy < 2, so that it lives in an environment of its own.
$(RIVALS): benchmarks/rivals/requirements.txt
	test -x .venv-rivals/bin/python || $(PYTHON) -m venv .venv-rivals
	.venv-rivals/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/rivals/requirements.txt
	touch $(RIVALS)

bench: $(INSTALLED) $(RIVALS)
	$(BIN)/python benchmarks/run_walks.py .venv-rivals/bin/python
	$(BIN)/python benchmarks/run_model.py
	$(BIN)/python benchmarks/scale.py --rivals .venv-rivals/bin/python
	$(BIN)/python benchmarks/serve.py speed overload

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv .venv-rivals build dist site src/*.egg-info research/*.egg-info
