# Two commands do everything: `make run` and `make test`. Each sets up `.venv` by itself.
# Whatever starts a node keeps ROS traffic on this machine, unless you say otherwise.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python
export AMENT_PREFIX_PATH := $(CURDIR)/.venv$(if $(AMENT_PREFIX_PATH),:$(AMENT_PREFIX_PATH))
ifdef ROS_DISTRO
export LD_LIBRARY_PATH := $(CURDIR)/.venv/lib:$(LD_LIBRARY_PATH)
endif

.PHONY: help run test test-all lint setup bench faults curves docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## */\t/' | expand -t 10

run: setup  ## an arm parked aside finds a cylinder over the ROS graph: with curiosity, without, with a placebo
	@$(VENV_PYTHON) -m bayes_curiosity_ros.cli explore --restart --output output/explore

test: lint  ## lint, types, and the tests of every day, in parallel
	@$(VENV_PYTHON) -m pytest -m "not slow" $(PYTEST_ARGS)

test-all: lint  ## the same with the tests that take longest
	@$(VENV_PYTHON) -m pytest $(PYTEST_ARGS)

lint: setup  ## lint and types alone
	@$(VENV_PYTHON) -m ruff check .
	@$(VENV_PYTHON) -m ruff format --check .
	@$(VENV_PYTHON) -m mypy

setup:  ## `.venv` with dependencies and the interface package
	@$(PYTHON) tools/setup_env.py

bench: setup  ## every benchmark; one JSON line per figure
	@$(VENV_PYTHON) -m benchmarks

faults: setup  ## the fault campaign, before a release: kills, hangs, hostile messages, damaged files (hours; it goes on where it was stopped)
	@$(VENV_PYTHON) -m benchmarks.faults $(FAULTS_ARGS)

OUTPUT ?= output/curves
curves: setup  ## the paper's five learning curves in OUTPUT (over an hour; stop it, and it goes on later)
	@$(VENV_PYTHON) -m bayes_curiosity_ros.cli experiment curves --output $(OUTPUT)
	@$(VENV_PYTHON) -m bayes_curiosity_ros.cli experiment arm --output $(OUTPUT)

docs: setup  ## the pages as a site in output/site; every link is checked
	@$(VENV_PYTHON) tools/build_docs.py

clean:  ## remove `.venv` and whatever was built
	rm -rf .venv .venv-peers-* build install log
