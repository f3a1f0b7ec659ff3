# make        builds the server: build/stator
# make run    installs what is missing, builds, and serves on port 8000 (PORT=…; ARGS="--in-memory" for no files)
# make test   installs what is missing, builds, and runs every test (SUITES="unit wire" for some of them)
# make bench  measures the server beside nginx and its peers: see bench/README.md (BENCH="--only Query")
# make scale  a million items: an index built under writes and kills, items that expire (ITEMS=…; some ten minutes)
#
# make package  builds the server and a Debian package of it
#
# Packages come from Debian, installed by tools/install-deps when one is missing. NO_INSTALL=1 leaves them alone.

BUILD ?= build
PORT ?= 8000
ARGS ?=
SUITES ?=

INSTALL := $(if $(NO_INSTALL),true,tools/install-deps)
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release
SOURCES = $(shell git ls-files --cached --others --exclude-standard -- '*.cc' '*.h')

.DEFAULT_GOAL := build
BENCH ?=
ITEMS ?= 1000000

.PHONY: build run test bench scale package format format-check tidy clean

# The server alone, without what only tests need; a tree that is already configured keeps its settings.
build:
	@$(INSTALL) build
	@test -f $(BUILD)/build.ninja || $(CONFIGURE) -DSTATOR_TESTS=OFF
	@cmake --build $(BUILD) --target stator

run: build
	@exec $(BUILD)/stator --port $(PORT) $(ARGS)

test:
	@$(INSTALL) build test
	@$(CONFIGURE) -DSTATOR_TESTS=ON
	@cmake --build $(BUILD)
	@BUILD=$(BUILD) tools/run-tests $(SUITES)

bench: build
	@$(INSTALL) bench
	@npm --prefix bench/peers install --no-audit --no-fund --no-package-lock || echo "bench: no peers from npm"
	@bench/run.py $(BENCH)

scale: build
	@STATOR_BINARY=$(BUILD)/stator /usr/bin/python3 tests/scale/index_under_writes.py --items $(ITEMS)
	@STATOR_BINARY=$(BUILD)/stator /usr/bin/python3 tests/scale/expiring_items.py --items $(ITEMS) --judge

package: build
	@BUILD=$(BUILD) tools/package

format:
	@$(INSTALL) lint
	clang-format -i $(SOURCES)

format-check:
	@$(INSTALL) lint
	clang-format --dry-run --Werror $(SOURCES)

# .clang-tidy says what is looked for. The compile commands come from the configured tree.
tidy:
	@$(INSTALL) build test lint
	@$(CONFIGURE) -DSTATOR_TESTS=ON
	@run-clang-tidy -quiet -p $(BUILD) '$(CURDIR)/(src|tests)/.*\.cc$$'

clean:
	rm -rf $(BUILD)
