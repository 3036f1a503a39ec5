# Each verb makes what it needs on a fresh machine; a second call is fast.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --constraint constraints.txt
INSTALL := $(PIP) --no-build-isolation --editable
BUILD := hatchling editables
UV := .venv-uv/bin/uv
UV_VERSION := 0.13.8
RUNS := runs/demo
TORCH := torch==2.13.0

.PHONY: demo test test-slow test-full browser check bench calibration reproduction schema glossary constraints wheels clean

demo: .venv/demo.stamp  ## a horizon sweep, then two models of cartpole judged: an answer, and a page to open
	@$(BIN)/wmel sweep --env maze_toy --output $(RUNS)/maze.json
	@echo
	@$(BIN)/wmel study studies/demo.toml --output $(RUNS)/cartpole-study --executor processes --rerun changed
	@$(BIN)/wmel report $(RUNS)/cartpole-study
	@echo; echo "Open $(RUNS)/cartpole-study/report.html in a browser."

test: .venv/all.stamp  ## every test but the slow ones
	$(BIN)/python -m pytest -n 2 -m "not slow" --durations=10

test-slow: .venv/all.stamp browser  ## the tests that take long or install something
	$(BIN)/python -m pytest -n 2 -m slow --durations=10

test-full: .venv/all.stamp browser $(UV)  ## what does not fit into the others; writes docs/test-full.md. STEPS="tests bench" runs some of it
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/test_full $(STEPS)

browser:  ## Debian's chromium, for the tests that open a report
	@command -v chromium >/dev/null || apt-get install -y -qq chromium >/dev/null 2>&1 || \
	  (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || \
	  echo "no chromium could be installed: the tests that open a report in a browser are skipped"

check: .venv/all.stamp  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: .venv/all.stamp  ## ratios side by side; fails if one misses its bound
	@failed=0; for file in startup files_walked planner_overhead intervals adapters maze_sweep physics_oracle learned_model tdmpc2_planning esnr head_to_head study_speed memory; do \
	  $(BIN)/python benchmarks/$$file.py || failed=1; \
	done; exit $$failed

calibration: .venv/all.stamp  ## check every bound of verdicts and intervals, write docs/calibration.md anew (about 10 minutes)
	$(BIN)/python benchmarks/claims.py

reproduction: .venv/all.stamp  ## run what is missing of studies/paper, write results/ and docs/reproduction.md
	@for file in studies/paper/*.toml; do study=$$(basename $$file .toml); \
	  $(BIN)/wmel study $$file --output runs/paper/$$study --executor processes --keep || exit $$?; \
	  $(BIN)/wmel report runs/paper/$$study --output results/$$study || exit $$?; \
	  rm -rf results/$$study/cells; cp -r runs/paper/$$study/study.json runs/paper/$$study/cells results/$$study/; \
	done
	$(BIN)/python benchmarks/reproduction.py

schema: .venv/core.stamp  ## write docs/record.schema.json anew
	$(BIN)/python -c "from wmel.reports.records import schema_text; print(schema_text(), end='')" > docs/record.schema.json

glossary: .venv/all.stamp  ## write docs/glossary.md and docs/metrics.md anew
	$(BIN)/python -c "from wmel.glossary.pages import glossary_text; print(glossary_text(), end='')" > docs/glossary.md
	$(BIN)/python -c "from wmel.glossary.pages import metrics_text; print(metrics_text(), end='')" > docs/metrics.md

constraints: $(UV)  ## write constraints.txt anew: the newest versions of all that `make test` installs, less GPU libraries
	printf '%s\n' $(TORCH) $(BUILD) | $(UV) pip compile - pyproject.toml --all-extras --upgrade --quiet \
	  --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
	  --annotation-style line --custom-compile-command "make constraints" --output-file .venv-uv/resolved.txt
	grep -vE '^(cuda|nvidia|triton)' .venv-uv/resolved.txt > constraints.txt

wheels: $(UV)  ## download every wheel of the core and of each extra for Python 3.11, 3.12 and 3.13, at the versions of constraints.txt
	UV=$(UV) .ci/wheels

clean:
	rm -rf .venv .venv-uv runs .pytest_cache .ruff_cache .hypothesis

# Other versions, another environment: what is no longer needed does not stay.
.venv/made.stamp: constraints.txt
	$(PYTHON) -m venv --clear .venv
	$(PIP) $(BUILD)
	touch $@

.venv/core.stamp: .venv/made.stamp pyproject.toml
	$(INSTALL) .
	touch $@

.venv/demo.stamp: .venv/made.stamp pyproject.toml
	$(INSTALL) ".[control,learned,report]"
	touch $@ .venv/core.stamp

.venv/all.stamp: .venv/made.stamp pyproject.toml
	$(INSTALL) ".[control,dev,learned,pandas,report]"
	touch $@ .venv/core.stamp .venv/demo.stamp

$(UV):
	$(PYTHON) -m venv .venv-uv
	.venv-uv/bin/pip --disable-pip-version-check install --quiet uv==$(UV_VERSION)
