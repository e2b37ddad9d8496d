# Two commands on a machine that has only Python (3.11 to 3.13) and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup demo test test-wide bench regress check lock wheel hashes hardness ablation readme clean

setup: $(VENV)/.ready

# Exactly the locked versions, hashes checked; then the project itself, editable and without a network.
$(VENV)/.ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "Python 3.11 to 3.13 is needed, this is %s; name one with PYTHON=" % sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

demo: setup
	$(BIN)/geotrain-bench run demo --out results/demo
	$(BIN)/geotrain-bench report results/demo

test: setup
	$(BIN)/python -m pytest -n auto

test-wide: setup
	$(BIN)/python -m pytest -m "wide or not wide" -o addopts="--strict-markers --benchmark-skip"

bench: setup
	$(BIN)/python -m pytest tests -o addopts="--strict-markers --benchmark-only"

# Is a planner worse than it was? `ACCEPT=1` keeps the new runs as the reference, for a change made on purpose.
regress: setup
	$(BIN)/geotrain-bench run regression --out results/regression --fresh --jobs 2
	$(BIN)/geotrain-bench compare results/reference/regression results/regression $(if $(ACCEPT),|| true)
	$(if $(ACCEPT),rm -rf results/reference/regression && cp -r results/regression results/reference/)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: setup
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .

# The content hashes of the shipped suites' instances, after a family or a suite was changed on purpose.
hashes: setup
	$(BIN)/python -m scripts.write_hashes

# What `describe` says of all suites, for docs/measuring.md; minutes, where best known values are missing.
hardness: setup
	$(BIN)/python -m scripts.write_hardness

# What each part of `memetic` is worth: an hour on one core, and it resumes if the code is the same.
# Then `make readme`. After a change of the solver: `.venv/bin/python -m scripts.write_ablation --fresh`.
ablation: setup
	$(BIN)/python -m scripts.write_ablation

# The tables in README.md, docs/measuring.md and docs/memetic.md, from what is kept in results/.
readme: setup
	$(BIN)/python -m scripts.write_readme

# One lock for every supported Python; needs uv (a maintainer's tool, not a user's).
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --generate-hashes --no-header --quiet -o requirements.lock

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
