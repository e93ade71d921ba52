# Makefile -- the front door. `make help` lists the targets; each says what it does as it goes.
#
# The work is in tools/: setup.sh installs what is missing, build.sh builds one CMake preset,
# run_tests.sh runs tests. Everything is made below build/ and .venv/; `make clean` removes build/.
SHELL := /bin/bash
PYTHON := .venv/bin/python
RELEASE := build/release
export PYTHONPATH := $(CURDIR)/$(RELEASE)/python

.DEFAULT_GOAL := help
.PHONY: help build package demo demo-cpp demo-opencl demo-score test test-long test-cuda \
        test-asan test-asan-sample test-tsan coverage check format bench bench-peers mutate \
        mutate-engine picture wheel sdist release clean

help:  ## list the targets
	@echo "ebb: make <target>"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1@\2/p' Makefile | column -t -s @

build:  ## install what is missing and build the library and the Python package for this machine
	@tools/setup.sh build
	@tools/build.sh --quick release ebb_python_package

package:  ## the same for every machine: kernels of all instruction sets
	@tools/setup.sh build
	@tools/build.sh release ebb_python_package

demo: build  ## train a small CNN on handwritten digits, from Python
	@$(PYTHON) examples/digits/train.py

demo-opencl:  ## the same training on an OpenCL device, PoCL where there is no other
	@tools/setup.sh test
	@tools/build.sh --quick release ebb_opencl ebb_python_package
	@$(PYTHON) examples/digits/train.py --device opencl --out build/demo-opencl

demo-score: build  ## reload the weights of `make demo` and score them
	@$(PYTHON) examples/digits/score.py

demo-cpp:  ## the same training from C++ alone
	@tools/setup.sh build
	@tools/build.sh --quick release ebb_demo_cpp
	@$(RELEASE)/bin/ebb_demo_cpp

test:  ## run the C++ and Python tests
	@tools/setup.sh test
	@tools/build.sh release
	@tools/run_tests.sh fast

test-long:  ## run the tests that take long
	@tools/setup.sh test
	@tools/build.sh release
	@tools/run_tests.sh long

test-cuda:  ## run the tests of devices on an NVIDIA GPU, if there is one
	@tools/setup.sh test
	@tools/build.sh release
	@tools/run_tests.sh cuda

test-asan:  ## run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup.sh dev
	@tools/build.sh asan
	@tools/run_tests.sh asan

test-asan-sample:  ## the same with every third case of each Python test, for CI
	@tools/setup.sh dev
	@tools/build.sh asan
	@tools/run_tests.sh asan-sample

test-tsan:  ## run the C++ tests under ThreadSanitizer
	@tools/setup.sh dev
	@tools/build.sh tsan
	@tools/run_tests.sh tsan

coverage:  ## run the tests on counting code and write docs/coverage.md
	@tools/setup.sh dev
	@tools/build.sh coverage
	@$(PYTHON) -m tools.coverage

check:  ## check format, style, size limits, headers, layers and the op matrix
	@tools/setup.sh dev
	@tools/build.sh release
	@$(PYTHON) -m tools.check

format:  ## format all tracked C++ and Python files in place
	@tools/setup.sh dev
	@git ls-files -z '*.h' '*.cpp' | xargs -0 -r clang-format-14 -i
	@git ls-files -z '*.py' | xargs -0 -r .venv/bin/ruff format --quiet

picture: build  ## draw the picture of README.md by the lines in it
	@$(PYTHON) tools/draw_readme.py

bench:  ## measure the hot paths and write docs/benchmarks.md
	@tools/setup.sh test
	@tools/build.sh release
	@$(PYTHON) -m tools.bench

bench-peers: package  ## the same Python script for ebb and its peers
	@$(PYTHON) -m tools.bench.peers

mutate: package  ## break each gradient formula, and the engine, in turn: a test must notice each
	@tools/build.sh release ebb_sim_device
	@$(PYTHON) -m tools.mutate

mutate-engine:  ## the engine, history, views, the write log and casts alone
	@tools/setup.sh test
	@$(PYTHON) -m tools.mutate engine

wheel: package  ## make wheels of ebb and its satellites in build/wheel
	@tools/wheel/build.sh

sdist: package  ## make a source package in build/wheel
	@tools/wheel/sdist.sh

release:  ## make a release: VERSION=0.3.0, and with ARGS=--dry-run show it only
	@$(PYTHON) -m tools.release $(VERSION) $(ARGS)

clean:  ## remove everything built (.venv stays; remove it by hand if need be)
	@echo "[clean] removing build/"
	@rm -rf build
