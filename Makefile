# make        builds the server: build/stator
# make run    installs what is missing, builds, and serves on port 8000 (PORT=…; ARGS="--in-memory" for no files)
# make test   installs what is missing, builds, and runs every test (SUITES="unit wire" for some of them)
# make fuzz   builds the fuzz targets with libFuzzer and runs each for FUZZ_SECONDS (60); FUZZ="http key" for some
# make soak   power losses, kills, consistency and robustness: ROUNDS of each (500)
# make test-asan, make test-tsan   the tests under the address and undefined-behaviour, or the thread sanitizer
# make bench  measures the server beside nginx and its peers: see bench/README.md (BENCH="--only Query")
# make bench-growth  the same at ten thousand, a million and twenty million items
# make scale  a million items: an index built under writes and kills, items that expire (ITEMS=…; some ten minutes)
#
# make package  builds the server and a Debian package of it
#
# Packages come from Debian, installed by tools/install-deps when one is missing. NO_INSTALL=1 leaves them alone.

BUILD ?= build
PORT ?= 8000
ARGS ?=
SUITES ?=
ROUNDS ?= 500
FUZZ_SECONDS ?= 60
FUZZ ?=

INSTALL := $(if $(NO_INSTALL),true,tools/install-deps)
CONFIGURE = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release
SOURCES = $(shell git ls-files --cached --others --exclude-standard -- '*.cc' '*.h')

.DEFAULT_GOAL := build
BENCH ?=
ITEMS ?= 1000000

.PHONY: build run test fuzz soak test-asan test-tsan bench bench-growth scale package format format-check tidy clean

# The server alone, without what only tests need; a tree that is already configured keeps its settings.
build:
	@$(INSTALL) build
	@test -f $(BUILD)/build.ninja || $(CONFIGURE) -DSTATOR_TESTS=OFF
	@cmake --build $(BUILD) --target stator

run: build
	@exec $(BUILD)/stator --port $(PORT) $(ARGS)

test:
	@$(INSTALL) build test fuzz
	@$(CONFIGURE) -DSTATOR_TESTS=ON
	@cmake --build $(BUILD)
	@BUILD=$(BUILD) tools/run-tests $(SUITES)

# Every room is built again, with coverage. A failing input stays in build-fuzz.
fuzz:
	@$(INSTALL) build test fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz $(FUZZ)

soak:
	@$(INSTALL) build test
	@$(CONFIGURE) -DSTATOR_TESTS=ON
	@cmake --build $(BUILD) --target stator test_engine test_database
	@STATOR_ROUNDS=$(ROUNDS) $(BUILD)/test_engine --gtest_filter='*PowerLoss*' --gtest_brief=1
	@STATOR_ROUNDS=$(ROUNDS) $(BUILD)/test_database --gtest_filter='*PowerLoss*' --gtest_brief=1
	@BUILD=$(BUILD) STATOR_ROUNDS=$(ROUNDS) tools/run-tests crash consistency robust

# Debian's RocksDB is not instrumented: tests/tsan.supp says what is known of it. A sanitized server is slow, so the
# suites are those that look for more than speed. Whatever is found goes to files, which tools/run-tests looks for.
SANITIZED ?= unit wire http robust crash consistency
REPORTS = $(CURDIR)/build-$*/reports
SANITIZER_OPTIONS = STATOR_SLOW=10 STATOR_REPORTS=$(REPORTS) \
  ASAN_OPTIONS=detect_stack_use_after_return=0:handle_abort=1:log_path=$(REPORTS)/report \
  UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1:log_path=$(REPORTS)/report \
  TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp history_size=4 log_path=$(REPORTS)/report"
# What coroutines call takes stack in sanitized code (common/task.h), and each frame more of it: stacks are large.
test-asan test-tsan: test-%:
	@$(INSTALL) build test
	@cmake --preset $* -DSTATOR_TESTS=ON
	@cmake --build build-$*
	@ulimit -s 65536; BUILD=build-$* $(SANITIZER_OPTIONS) tools/run-tests $(SANITIZED)

bench:
	@$(INSTALL) build bench
	@$(CONFIGURE) -DSTATOR_BENCH=ON
	@cmake --build $(BUILD) --target stator bench_micro bench_raw
	@npm --prefix bench/peers install --no-audit --no-fund --no-package-lock || echo "bench: no peers from npm"
	@if command -v mvn java >/dev/null; then mvn -q -B -f bench/peers/pom.xml dependency:copy-dependencies \
	  -DoutputDirectory=dynamodb-local || echo "bench: no DynamoDB Local from Maven"; fi
	@bench/run.py $(BENCH)
	@bench/instructions.py

# The same requests at ten thousand, a million and twenty million items; some twenty minutes and 10 GB of disk.
bench-growth:
	@$(INSTALL) build bench
	@$(CONFIGURE) -DSTATOR_BENCH=ON
	@cmake --build $(BUILD) --target stator
	@bench/growth.py $(BENCH)

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

# .clang-tidy says what is looked for. The compile commands come from a tree of its own, without the precompiled
# headers of another compiler.
tidy: BUILD = build-tidy
tidy:
	@$(INSTALL) build test lint
	@$(CONFIGURE) -DSTATOR_TESTS=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
	@run-clang-tidy -quiet -p $(BUILD) '$(CURDIR)/(src|tests)/.*\.cc$$'

clean:
	rm -rf $(BUILD)
